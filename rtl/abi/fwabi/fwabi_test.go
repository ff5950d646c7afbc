package fwabi

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/mcureg"
	"github.com/hilgpu/hilgpu/rtl/abi/reg"
)

func TestTables(t *testing.T) {
	require.NoError(t, reg.Check(Local, Mail))
	require.Len(t, Mail.Regs, mcureg.Mails)
	assert.EqualValues(t, 0x1000_0040, Mail.Base)
	at := uint32(0)
	for _, f := range Header {
		assert.Equal(t, at, f.Off, f.Name)
		at += f.Bytes
	}
	assert.EqualValues(t, HeaderBytes, at)
	assert.Equal(t, "HLFW", string([]byte{Magic & 0xff, Magic >> 8 & 0xff, Magic >> 16 & 0xff, Magic >> 24 & 0xff}))
}

func TestCodes(t *testing.T) {
	for _, codes := range [][]Code{Stages, Results, Statuses} {
		names, values := map[string]bool{}, map[uint32]bool{}
		for _, c := range codes {
			assert.False(t, names[c.Name] || values[c.Value], c.Name)
			names[c.Name], values[c.Value] = true, true
			name, ok := Name(codes, c.Value)
			assert.True(t, ok)
			assert.Equal(t, c.Name, name)
		}
	}
	_, ok := Name(Stages, 99)
	assert.False(t, ok)
}

// The digest of "abc" is published by NIST (CAVP).
func TestHash(t *testing.T) {
	assert.Equal(t, uint32(0xba7816bf), hash("abc"))
	assert.Equal(t, hash(Layout()), LayoutHash())
}

// The layout has what the firmware uses and nothing else of BAR0.
func TestLayout(t *testing.T) {
	text := Layout()
	for _, line := range []string{
		"map memory=0x0 local=0x10000000 bus=0x20000000 through=0x80000000 window=0x10000000 free=7",
		"ID.MAGIC 0x0 ro reset=0x47504c48",
		"ID.SCRATCH3 0x2c rw",
		"MCU.INFO 0x600 ro MEMORY=0x7f WINDOWS=0xf00 BREAKPOINTS=0xf000 WATCHPOINTS=0xf0000",
		"LOCAL.KICK 0x10000014 wo",
		"MAIL.TEST 0x10000058 rw SCRATCH=0x1 BYTES=0x1ffffffc WINDOW=0xe0000000",
		"header build 0xc 16",
		"stage TIMER 6",
		"result READY 0x59444552",
		"windows nodes=0 messages=1 test=2",
		"area REQUEST_TAIL 0x20 0x4 host",
		"status BUSY 9",
		"op HELLO 1 8..8 VERSION,SESSION -> VERSION,BUILD,LIMITS",
		"op PING 2 0..56  -> ",
		"nodes stride=0x100 trace=16*16",
		"entry BUFFER_LO,BUFFER_HI,DWORDS,FLAGS,PROGRESS_LO,PROGRESS_HI,VALUE_LO,VALUE_HI",
		"packet PACKET_SAVE_STATE 318767106",
		"bells messages=0x1 yield=0x2 queue=0x10000",
		"area QUEUE_PLACES 0x200 0x100 firmware",
		"place ADDR_LO,ADDR_HI,LEFT,PROGRESS bytes=16",
		"flag RESUME 1",
		"op YIELDED 66 12..12 NODE,PLACES,ZERO -> ",
		"packet INDIRECT_RESUME 1048576",
		"limit QUANTUM_LEAST 1000",
		"queue HELD 2",
		"cause RESET 19",
		"cause STUCK 21",
		"limit NODE_RESET_CLOCKS 1048576",
		"limit HALT_CLOCKS 1048576",
		"op QUEUE_CREATE 18 36..36 QUEUE,NODE,PRIORITY,QUANTUM,RING_LO,RING_HI,LOG2,SAVE_LO,SAVE_HI -> ",
	} {
		assert.Contains(t, text, line+"\n")
	}
	assert.NotContains(t, text, "SCRATCH0")
	assert.NotContains(t, text, "CP1")
	assert.Equal(t, 10, strings.Count(text, "\nID.")+strings.Count(text, "\nMCU."))
	assert.Len(t, Uses(), 45)
	assert.Subset(t, Uses(), []string{"ID.MAGIC", "ID.MAP_HASH", "ID.SCRATCH3", "INTC.RAISE", "MCU.INFO", "CP0.RPTR", "ARB.EVENTS", "TRACE0.HEADER0"})
}

// No parts of the message area overlap. The words of the host and of the firmware are in different
// blocks of 64 bytes, and rings begin at multiples of 4 KiB.
func TestArea(t *testing.T) {
	writers, end := map[uint32]string{}, uint32(0)
	for _, p := range Area {
		assert.GreaterOrEqual(t, p.Off, end, p.Name)
		end = p.Off + p.Bytes
		for block := p.Off / 64; block < (end+63)/64; block++ {
			assert.Contains(t, []string{"", p.Writer}, writers[block], p.Name)
			writers[block] = p.Writer
		}
		assert.True(t, p.Bytes < 0x1000 || p.Off%0x1000 == 0, p.Name)
	}
	assert.LessOrEqual(t, end, uint32(AreaBytes))
}

// Payloads fit into an entry, and a status fits into its field. Notices are apart from requests.
func TestOps(t *testing.T) {
	names, values := map[string]bool{}, map[uint32]bool{}
	for _, o := range Ops {
		assert.False(t, names[o.Name] || values[o.Value], o.Name)
		names[o.Name], values[o.Value] = true, true
		assert.LessOrEqual(t, o.Value, uint32(HeadOp), o.Name)
		assert.LessOrEqual(t, o.Least, o.Most(), o.Name)
		assert.LessOrEqual(t, o.Most(), uint32(PayloadBytes), o.Name)
		assert.LessOrEqual(t, 4*len(o.Answer), PayloadBytes, o.Name)
		assert.Equal(t, o.Value >= 64, o.Notice(), o.Name)
		assert.True(t, !o.Notice() || len(o.Request) == 3, "%s: the firmware sends 3 dwords with a notice", o.Name)
	}
	assert.Len(t, counters(), Counts)
}

func TestMissingRegister(t *testing.T) {
	assert.PanicsWithValue(t, "fwabi: no register MAIL.NOTHING", func() { find(Mail, "NOTHING") })
}
