package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"

	"github.com/hilgpu/hilgpu/boards/regs/export"
)

// exportsFile has the checksums of all files of hilgpu reg export.
const exportsFile = "boards/regs/export/testdata/exports.sha256"

// exports returns a line for each file that hilgpu reg export writes, as sha256sum prints it. So
// a change shows which exports it changes.
func exports() ([]byte, error) {
	var w bytes.Buffer
	for _, f := range export.Formats() {
		for _, x := range f.Files() {
			fmt.Fprintf(&w, "%x  %s/%s\n", sha256.Sum256(x.Data), f.Name, x.Name)
		}
	}
	return w.Bytes(), nil
}
