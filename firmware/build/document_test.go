package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
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
	for _, p := range fwabi.Area {
		assert.Contains(t, page, fmt.Sprintf("\n| %#x | %#x | %s | %s | %s |\n", p.Off, p.Bytes, p.Name, p.Writer, p.Doc))
	}
	for _, o := range fwabi.Ops {
		assert.Contains(t, page, fmt.Sprintf("\n| %d | %s | %s | %s | %s |\n", o.Value, o.Name, o.Doc, names(o.Request), names(o.Answer)))
		for _, f := range o.Request {
			assert.Contains(t, page, fmt.Sprintf("\n| %s %s | %s |\n", o.Name, f.Name, f.Doc))
		}
		for _, f := range o.Answer {
			assert.Contains(t, page, fmt.Sprintf("\n| %s answer %s | %s |\n", o.Name, f.Name, f.Doc))
		}
	}
	for i, f := range fwabi.QueueEntry {
		assert.Contains(t, page, fmt.Sprintf("\n| entry %d | %s | %s |\n", i, f.Name, f.Doc))
	}
	for i, f := range fwabi.QueuePlace {
		assert.Contains(t, page, fmt.Sprintf("\n| place %d | %s | %s |\n", i, f.Name, f.Doc))
	}
	for _, c := range fwabi.EntryFlags {
		assert.Contains(t, page, fmt.Sprintf("\n| %#x | %s | %s |\n", c.Value, c.Name, c.Doc))
	}
	for i, f := range fwabi.FaultRecord {
		assert.Contains(t, page, fmt.Sprintf("\n| record %d | %s | %s |\n", i, f.Name, f.Doc))
	}
	for _, c := range slices.Concat(fwabi.QueueStates, fwabi.QueueCauses, fwabi.Limits) {
		assert.Contains(t, page, fmt.Sprintf("\n| %d | %s | %s |\n", c.Value, c.Name, c.Doc))
	}
	for _, c := range slices.Concat(fwabi.Stages, fwabi.Results, fwabi.Statuses) {
		assert.Contains(t, page, fmt.Sprintf("\n| %#x | %s | %s |\n", c.Value, c.Name, c.Doc))
	}
}

// names returns the names of the dwords of a payload.
func names(fields []fwabi.Field) string {
	var all []string
	for _, f := range fields {
		all = append(all, f.Name)
	}
	return strings.Join(all, ", ")
}
