package mutant

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

// A yosys or ABC that is killed decides nothing, and does not end the campaign.
func TestProverKilled(t *testing.T) {
	tooltest.Need(t, "yosys", "yosys-abc")
	d := meterDesign()
	p, err := NewProver(d, nil)
	require.NoError(t, err)
	dir := t.TempDir()
	abc := filepath.Join(dir, "yosys-abc")
	require.NoError(t, os.WriteFile(abc, []byte("#!/bin/sh\nkill -9 $$\n"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "yosys"), []byte("#!/bin/sh\nkill -9 $$\n"), 0o755))
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	name, late, err := p.Prove(Mutant{ID: 1, Module: "meter", File: "meter.v"}, fast)
	require.NoError(t, err)
	assert.Empty(t, name)
	assert.True(t, late)
	got, err := proofs()[0].run(filepath.Join(dir, "miter.aig"))
	require.NoError(t, err)
	assert.Equal(t, undecided, got)
}
