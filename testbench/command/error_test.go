package command

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/dxgkrnl"
)

// The output after the dump of a stopped GPU begins on a line of its own, although a
// driver's text has no last newline.
func TestDumpEndsItsLine(t *testing.T) {
	for _, dump := range []string{"ring 0\nirq=1", "ring 0\nirq=1\n"} {
		var errs bytes.Buffer
		a := NewApp(program(), new(bytes.Buffer), &errs, func(string) string { return "" })
		a.printError(&dxgkrnl.DeviceError{Cause: ddi.StatusIOTimeout, Dump: dump})
		assert.Regexp(t, "[^\n]\nring 0\nirq=1\n$", errs.String())
		assert.NotContains(t, errs.String(), "\n\n")
	}
}
