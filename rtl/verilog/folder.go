package verilog

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// fileList is the list of a folder's Verilog files.
const fileList = "files.f"

// Folder returns the files of a design, then the manifest as manifest.json and
// the names of the Verilog files, one per line, as files.f.
func (d *Design) Folder() ([]File, error) {
	manifest, err := json.MarshalIndent(d.Manifest, "", "\t")
	if err != nil {
		return nil, err
	}
	var list strings.Builder
	for _, f := range d.Files {
		fmt.Fprintln(&list, f.Name)
	}
	return append(slices.Clone(d.Files),
		File{Name: "manifest.json", Text: append(manifest, '\n')},
		File{Name: fileList, Text: []byte(list.String())}), nil
}

// Listed returns the names of the Verilog files that files.f in directory dir
// lists, or none without a list. Names that contain a directory are left out.
func Listed(dir string) []string {
	text, err := os.ReadFile(filepath.Join(dir, fileList))
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(strings.Fields(string(text)), func(name string) bool {
		return filepath.Base(name) != name || filepath.Ext(name) != ".v"
	})
}

// A Summary is the size of a design.
type Summary struct {
	MapHash   string `json:"map_hash"` // eight hexadecimal digits
	Top       string `json:"top"`
	Files     int    `json:"files"`
	Lines     int    `json:"lines"`
	Registers int    `json:"registers"`
	Bits      int    `json:"bits"` // of the registers
	Memories  int    `json:"memories"`
}

// Summary returns the size of the design.
func (d *Design) Summary() Summary {
	s := Summary{
		MapHash: fmt.Sprintf("%08x", d.Manifest.MapHash), Top: d.Manifest.Top,
		Files: len(d.Files), Registers: len(d.Manifest.Registers), Memories: len(d.Manifest.Memories),
	}
	for _, f := range d.Files {
		s.Lines += strings.Count(string(f.Text), "\n")
	}
	for _, r := range d.Manifest.Registers {
		s.Bits += r.Width
	}
	return s
}
