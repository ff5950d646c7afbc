package main

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/linkreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/rtl/abi/regmap"
)

// lines returns the lines of a page.
func lines(t *testing.T, make func() ([]byte, error)) []string {
	b, err := make()
	require.NoError(t, err)
	assert.True(t, strings.HasSuffix(string(b), "\n"))
	assert.NotContains(t, string(b), "\n\n\n")
	assert.NotRegexp(t, regexp.MustCompile(`[ \t]\n`), string(b))
	return strings.Split(string(b), "\n")
}

func TestRegistersDoc(t *testing.T) {
	got := lines(t, registersDoc)
	for _, want := range []string{
		"## INTC",
		"| CP1 | 0x1100 | 0x100 | command processor and fence unit of a node; present if CAPS.NODES is 2 |",
		"| 0x00 | MAGIC | ro | 0x47504c48 | | | | | | the bytes H, L, P, G in address order; any other value means another device or a byte-order error |",
		"| 0x18 | TIME_LO | ro | 0x0 | latch | | volatile | | clocks | clocks since reset, low half; a read of it latches the high half into TIME_HI |",
		"| 0x48 | CAPS2 | ro | config | | | | | | more features of this configuration; bits without a field are reserved and 0 |",
		"| CAPS | 7 | WATCHDOG | | | | 1: an event for a node that makes no progress (the block WDOG) |",
		"| 0x40 | HOST_BITS | ro | config | | | | | bits | width of the host addresses that the device can access |",
		"| 0x08 | RAISE | wo | 0x0 | | trigger | | idle | | raises the events written as 1, for tests of the interrupt path |",
		"| 0x18 | WPTR | rw | 0x0 | | doorbell | | destructive | dwords | first dword not yet written, modulo the ring |",
		"| STATUS | 6..4 | STATE | | | 0 NEXT, 1 BODY, 2 SKIP, 3 CHECK, 4 EXEC, 5 RETIRE, 6 CLEAR, 7 FAULT | state of the decoder, for debugging |",
		"| RING_SIZE | 4..0 | LOG2 | | log2 of bytes | | 8 to 20 |",
		"| ERR_INFO | 2..0 | CAUSE | | | 0 NONE, 1 UNMAPPED, 2 PARTIAL, 3 DECODE, 4 OWNER | why the access was refused |",
		"Command processor and fence unit of a node. The registers of CP0, from 0x1100 on.",
		"| STATE | 6..4 | CAUSE | | | 0 NONE, 1 CLOSED, 2 REPLAY, 3 DEAD, 4 PROTOCOL, 5 NEW_SESSION | why the last session ended |",
	} {
		assert.Contains(t, got, want)
	}
}

// TestEveryRegisterIsDocumented counts the rows that begin with the register.
// CP0 documents CP1, and TRACE0 TRACE1.
func TestEveryRegisterIsDocumented(t *testing.T) {
	rows := map[string]int{}
	block := ""
	for _, l := range lines(t, registersDoc) {
		if b, ok := strings.CutPrefix(l, "## "); ok {
			block = b
		}
		if cells := strings.Split(l, " | "); strings.HasPrefix(l, "| 0x") {
			rows[block+"."+cells[1]]++
		}
	}
	n := 0
	for _, e := range regmap.New().Entries() {
		if e.Block.Name != "CP1" && e.Block.Name != "TRACE1" {
			assert.Equal(t, 1, rows[e.Name()], e.Name())
			n++
		}
	}
	for _, r := range linkreg.Block.Regs {
		assert.Equal(t, 1, rows["LINK."+r.Name], r.Name)
		n++
	}
	assert.Len(t, rows, n)
}

func TestPacketsDoc(t *testing.T) {
	got := lines(t, packetsDoc)
	for _, want := range []string{
		"| 31..24 | opcode |",
		"| 23..16 | reserved |",
		"| 15..0 | dwords in the body |",
		"| 0x01 | NOP | 0 to 65535 | |",
		"| 0x10 | FENCE | 4 | ring only |",
		"| 0 | 15..0 | Skip | number | | dwords | length of the body |",
		"| 1, 2 | 63..0 | Addr | read | a multiple of 4 | bytes | first dword of the indirect buffer |",
		"| 3 | 31..21 | | reserved | 0 | | |",
		"| 5 | 2..0 | Format | number | 0 FORMAT8, 1 FORMAT16, 2 FORMAT32, 3 FORMAT64, 4 FORMAT128 | | log2 of the bytes of an element |",
		"| 7 | 31..16 | Y1 | number | 0 to 16384 | elements | bottom edge of the clip, exclusive |",
		"| 4 | 31..1 | | reserved | 0 | | |",
		"| 3 | 20 | Resume | flag | | | 1 if the first packet resumes from PROGRESS; reserved unless CAPS.PREEMPTION is 1 |",
		"Copies Bytes bytes from Src to Dst. Any alignment is allowed. Overlapping ranges give an undefined result. 0 bytes is legal and does nothing.",
		"| 12 | WRITE_ERROR | a write could not be sent: bus mastering is off |",
	} {
		assert.Contains(t, got, want)
	}
	text := strings.Join(got, "\n")
	for _, l := range pkt.Table {
		assert.Equal(t, 1, strings.Count(text, "\n## "+l.Name+"\n"), l.Name)
	}
	assert.Len(t, cpreg.CauseDocs, len(cpreg.Causes))
}

// The section about retirement says when each packet retires, and what PACKETS counts.
func TestRetirementDoc(t *testing.T) {
	_, section, _ := strings.Cut(strings.Join(lines(t, packetsDoc), "\n"), "\n## Retirement\n")
	section, _, _ = strings.Cut(section, "\n## ")
	for _, l := range pkt.Table {
		assert.Regexp(t, `\b`+l.Name+`\b`, section)
	}
	for _, want := range []string{"RPTR", "IB_LEFT", "PACKETS does not count", "skips", "faults", "preemption", "0 bytes"} {
		assert.Contains(t, section, want)
	}
}

// A packet that only some devices know says so.
func TestPacketsOfCapabilities(t *testing.T) {
	text := strings.Join(lines(t, packetsDoc), "\n")
	for name, field := range map[string]string{
		"SET_WINDOW": "PROTECTION", "WAIT_FENCE": "TIMELINE", "SAVE_STATE": "CONTEXTS", "RESTORE_STATE": "CONTEXTS",
	} {
		_, section, _ := strings.Cut(text, "\n## "+name+"\n")
		section, _, _ = strings.Cut(section, "\n## ")
		assert.Contains(t, section, "It exists if CAPS."+field+" is 1; otherwise the opcode is unknown.", name)
	}
	assert.Equal(t, 4, strings.Count(text, "It exists if CAPS."))
}

func TestTableEscapes(t *testing.T) {
	p := newPage("T")
	p.table([]string{"a", "b", "c"}, [][]string{{"x|y", "", "z"}, {"", "", ""}})
	assert.Equal(t, "<!-- Code generated by cmd/gen; DO NOT EDIT. -->\n\n# T\n\n| a | b | c |\n|---|---|---|\n| x\\|y | | z |\n| | | |\n", p.String())
}
