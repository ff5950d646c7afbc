package verilog

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// sampleDesign has two files of three lines and two registers of five bits.
func sampleDesign() *Design {
	return &Design{
		Files:    []File{{"ram.v", []byte("one\ntwo\n")}, {"gpu.v", []byte("three\n")}},
		Manifest: Manifest{Top: "gpu", MapHash: 0xabc, Registers: []Register{{Width: 4}, {Width: 1}}, Memories: []Memory{{Words: 8}}},
	}
}

func TestFolder(t *testing.T) {
	d := sampleDesign()
	files, err := d.Folder()
	require.NoError(t, err)
	require.Len(t, files, 4)
	assert.Equal(t, d.Files, files[:2])
	assert.Equal(t, File{"files.f", []byte("ram.v\ngpu.v\n")}, files[3])
	assert.Equal(t, "manifest.json", files[2].Name)
	var m Manifest
	require.NoError(t, json.Unmarshal(files[2].Text, &m))
	assert.Equal(t, d.Manifest.Registers, m.Registers)

	dir := t.TempDir()
	assert.Empty(t, Listed(dir))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "files.f"), []byte("gpu.v\n../mine.v\nmine.txt\nold.v\n"), 0o600))
	assert.Equal(t, []string{"gpu.v", "old.v"}, Listed(dir))
}

func TestSummary(t *testing.T) {
	assert.Equal(t, Summary{MapHash: "00000abc", Top: "gpu", Files: 2, Lines: 3, Registers: 2, Bits: 5, Memories: 1}, sampleDesign().Summary())
}
