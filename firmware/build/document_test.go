package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/fwabi"
)

// docs/firmware.md has the tables of fwabi.
func TestDocument(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(root, "docs", "firmware.md"))
	require.NoError(t, err)
	page := string(data)
	for _, f := range fwabi.Header {
		assert.Contains(t, page, fmt.Sprintf("\n| 0x%02x | %d | `%s` | %s |\n", f.Off, f.Bytes, f.Name, f.Doc))
	}
	for i, r := range fwabi.Mail.Regs {
		assert.Contains(t, page, fmt.Sprintf("\n| MAIL%d | %s | %s |\n", i, r.Name, r.Doc))
		for _, f := range r.Fields {
			assert.Contains(t, page, fmt.Sprintf("\n| %s | %s | %s |\n", f.Name, f.Bits(), f.Doc))
		}
	}
	for _, c := range append(append([]fwabi.Code(nil), fwabi.Stages...), fwabi.Results...) {
		assert.Contains(t, page, fmt.Sprintf("\n| %#x | %s | %s |\n", c.Value, c.Name, c.Doc))
	}
}
