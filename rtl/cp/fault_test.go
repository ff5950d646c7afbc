package cp

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/rtl/regbus"
)

// faultBench returns a node with 64 KiB of VRAM, 1 MiB of host address space, of which only
// the ring's 64 KiB answer, and 16-bit lengths.
func faultBench(t *testing.T) *bench {
	b := newBenchOf(t, everything)
	b.start(ringAt, 12)
	return b
}

var (
	source8 = []uint32{0x03000007, 0, 0, 0, 16, 0, 0, 0x40004000}
	dest8   = []uint32{0x03000007, 1, 0, 0, 16, 0, 0, 0x40004000}
)

func TestFaults(t *testing.T) {
	const zero = "NONE at 0x0 op 0x00000000 bad 0x0"
	for _, tt := range []struct {
		name   string
		before []uint32 // legal packets before it
		dwords []uint32
		want   string // cause and operand; the other registers follow from dwords
		bad    uint64
	}{
		{"opcode 0", nil, []uint32{0}, "OPCODE", 0},
		{"opcode 0x0c", nil, []uint32{0x0c000002, 0, 0}, "OPCODE", 0x0c000002},
		{"opcode 0x0f", nil, []uint32{0x0f000000}, "OPCODE", 0x0f000000},
		{"opcode 0x15", nil, []uint32{0x15000000}, "OPCODE", 0x15000000},
		{"opcode 0xff before its reserved bits", nil, []uint32{0xffffffff}, "OPCODE", 0xffffffff},
		{"header, bit 16", nil, []uint32{0x01010000}, "RESERVED", 0x01010000},
		{"header, bit 23", nil, []uint32{0x01800000}, "RESERVED", 0x01800000},
		{"INDIRECT body 2", nil, []uint32{0x02000002, 0, 0}, "LENGTH", 0x02000002},
		{"SET_STATE body 8", nil, []uint32{0x03000008}, "LENGTH", 0x03000008},
		{"COPY body 4", nil, []uint32{0x04000004}, "LENGTH", 0x04000004},
		{"COPY2D body 4", nil, []uint32{0x05000004}, "LENGTH", 0x05000004},
		{"FILL body 6", nil, []uint32{0x06000006}, "LENGTH", 0x06000006},
		{"FILL2D body 3", nil, []uint32{0x07000003}, "LENGTH", 0x07000003},
		{"WRITE_REG body 0", nil, []uint32{0x08000000}, "LENGTH", 0x08000000},
		{"TIMESTAMP body 3", nil, []uint32{0x09000003}, "LENGTH", 0x09000003},
		{"PREDICATE body 2", nil, []uint32{0x0a000002}, "LENGTH", 0x0a000002},
		{"FENCE body 5", nil, []uint32{0x10000005}, "LENGTH", 0x10000005},
		{"WAIT_FENCE body 4", nil, []uint32{0x12000004}, "LENGTH", 0x12000004},
		{"SET_WINDOW body 4", nil, []uint32{0x11000004}, "LENGTH", 0x11000004},

		{"INDIRECT bit 21", nil, []uint32{0x02000003, 0, 0, 1 << 21}, "RESERVED", 1 << 21},
		{"INDIRECT of 0 dwords that resumes", nil, []uint32{0x02000003, 0, 0, 1 << 20}, "", 0},
		{"INDIRECT at 2", nil, []uint32{0x02000003, 2, 0, 1}, "ALIGN", 2},
		{"INDIRECT of 0 dwords at 2", nil, []uint32{0x02000003, 2, 0, 0}, "ALIGN", 2},
		{"INDIRECT of 0 dwords at any address", nil, []uint32{0x02000003, 0xfffffffc, 0x7fffffff, 0}, "", 0},
		{"INDIRECT beyond VRAM", nil, []uint32{0x02000003, 0xfffc, 0, 2}, "ADDRESS", 0xfffc},

		{"SET_STATE surface 2", nil, []uint32{0x03000007, 2, 0, 0, 0, 0, 0, 0}, "RESERVED", 2},
		{"SET_STATE pitch bit 20", nil, []uint32{0x03000007, 1, 0, 0, 1 << 20, 0, 0, 0}, "RESERVED", 1 << 20},
		{"SET_STATE largest pitch", nil, []uint32{0x03000007, 1, 0, 0, 0xfffff, 0, 0, 0}, "", 0},
		{"SET_STATE format 8", nil, []uint32{0x03000007, 1, 0, 0, 0, 8, 0, 0}, "RESERVED", 8},
		{"SET_STATE format 5", nil, []uint32{0x03000007, 1, 0, 0, 0, 5, 0, 0}, "STATE", 5},
		{"SET_STATE format 4", nil, []uint32{0x03000007, 1, 0, 0, 0, 4, 0, 0}, "", 0},
		{"SET_STATE X0", nil, []uint32{0x03000007, 1, 0, 0, 0, 0, 0x4001, 0}, "STATE", 0x4001},
		{"SET_STATE Y0", nil, []uint32{0x03000007, 1, 0, 0, 0, 0, 0x40010000, 0}, "STATE", 0x40010000},
		{"SET_STATE X1", nil, []uint32{0x03000007, 1, 0, 0, 0, 0, 0, 0x4001}, "STATE", 0x4001},
		{"SET_STATE Y1", nil, []uint32{0x03000007, 1, 0, 0, 0, 0, 0, 0x40010000}, "STATE", 0x40010000},
		{"SET_STATE largest clip", nil, []uint32{0x03000007, 1, 0, 0, 0, 0, 0x40004000, 0x40004000}, "", 0},

		{"COPY of 2^16 bytes", nil, []uint32{0x04000005, 0, 0, 0, 0, 0x10000}, "LENGTH", 0x10000},
		{"COPY of 2^16-1 bytes", nil, []uint32{0x04000005, 0, 0, 0, 0, 0xffff}, "", 0},
		{"COPY from beyond VRAM", nil, []uint32{0x04000005, 0xff01, 0, 0, 0, 0x100}, "ADDRESS", 0xff01},
		{"COPY from the end of VRAM", nil, []uint32{0x04000005, 0xff00, 0, 0, 0, 0x100}, "", 0},
		{"COPY past the end of VRAM", nil, []uint32{0x04000005, 0, 0, 0x10000, 0, 1}, "ADDRESS", 0x10000},
		{"COPY to far beyond VRAM", nil, []uint32{0x04000005, 0, 0, 0xffffffff, 0x7fffffff, 2}, "ADDRESS", 0x7fffffffffffffff},
		{"COPY past the end of the host addresses", nil, []uint32{0x04000005, 0, 0, 0xfffff, hi, 2}, "ADDRESS", host | 0xfffff},
		{"COPY beyond the host addresses", nil, []uint32{0x04000005, 0x100000, hi, 0, 0, 1}, "ADDRESS", host | 0x100000},
		{"FILL of 2^16 bytes", nil, []uint32{0x06000005, 0, 0, 0x10000, 0, 0}, "LENGTH", 0x10000},
		{"FILL beyond VRAM", nil, []uint32{0x06000005, 0xfff9, 0, 8, 0, 0}, "ADDRESS", 0xfff9},
		{"FILL to the end of VRAM", nil, []uint32{0x06000005, 0xfff8, 0, 8, 0, 0}, "", 0},

		{"COPY2D without surfaces", nil, []uint32{0x05000003, 0, 0, 0x10001}, "STATE", 0},
		{"COPY2D without a source", dest8, []uint32{0x05000003, 0, 0, 0x10001}, "STATE", 0},
		{"COPY2D without a destination", source8, []uint32{0x05000003, 0, 0, 0x10001}, "STATE", 1},
		{"COPY2D", append(source8[:8:8], dest8...), []uint32{0x05000003, 0, 0, 0x10001}, "", 0},
		{"COPY2D of two formats", append(source8[:8:8], 0x03000007, 1, 0, 0, 16, 1, 0, 0x40004000),
			[]uint32{0x05000003, 0, 0, 0x10001}, "STATE", 1},
		{"COPY2D source X", nil, []uint32{0x05000003, 0x4001, 0, 0}, "STATE", 0x4001},
		{"COPY2D destination Y", nil, []uint32{0x05000003, 0, 0x40010000, 0}, "STATE", 0x40010000},
		{"COPY2D width", nil, []uint32{0x05000003, 0, 0, 0x4001}, "STATE", 0x4001},
		{"COPY2D to the last row of VRAM", append(source8[:8:8], dest8...), []uint32{0x05000003, 0, 0x0fff0000, 0x00010010}, "", 0},
		{"COPY2D past the last row", append(source8[:8:8], dest8...), []uint32{0x05000003, 0, 0x0fff0000, 0x00020001}, "ADDRESS", 0x10000},
		{"COPY2D from past the last row", append(source8[:8:8], dest8...), []uint32{0x05000003, 0x0fff0001, 0, 0x00010010}, "ADDRESS", 0xfff1},
		{"COPY2D from a base out of range", append([]uint32{0x03000007, 0, 0xffffffff, 0x7fffffff, 0xfffff, 0, 0, 0x40004000}, dest8...),
			[]uint32{0x05000003, 0x00010000, 0, 0x00010001}, "ADDRESS", 0x7fffffffffffffff},

		{"FILL2D without a surface", nil, []uint32{0x07000004, 0, 0, 0, 0}, "STATE", 1},
		{"FILL2D format 4", []uint32{0x03000007, 1, 0, 0, 16, 4, 0, 0x40004000}, []uint32{0x07000004, 0, 0x10001, 0, 0}, "STATE", 4},
		{"FILL2D format 3", []uint32{0x03000007, 1, 0, 0, 16, 3, 0, 0x40004000}, []uint32{0x07000004, 0, 0x10001, 0, 0}, "", 0},
		{"FILL2D Y", dest8, []uint32{0x07000004, 0x40010000, 0, 0, 0}, "STATE", 0x40010000},
		{"FILL2D height", dest8, []uint32{0x07000004, 0, 0x40010000, 0, 0}, "STATE", 0x40010000},
		{"FILL2D at the largest coordinates is empty", dest8, []uint32{0x07000004, 0x40004000, 0x40004000, 0, 0}, "", 0},
		{"FILL2D beyond VRAM", dest8, []uint32{0x07000004, 0x0fff0000, 0x00010011, 0, 0}, "ADDRESS", 0xfff0},

		{"WRITE_REG bit 16", nil, []uint32{0x08000002, 0x10020, 0}, "RESERVED", 0x10020},
		{"WRITE_REG at 0x21", nil, []uint32{0x08000002, 0x21, 0}, "ALIGN", 0x21},
		{"WRITE_REG TIME_HI", nil, []uint32{0x08000002, 0x1c, 0}, "REGISTER", 0x1c},
		{"WRITE_REG SCRATCH0", nil, []uint32{0x08000002, 0x20, 0}, "", 0},
		{"WRITE_REG SCRATCH3", nil, []uint32{0x08000002, 0x2c, 0}, "", 0},
		{"WRITE_REG ERR_COUNT", nil, []uint32{0x08000002, 0x30, 0}, "REGISTER", 0x30},
		{"WRITE_REG INTC", nil, []uint32{0x08000002, 0x120, 0}, "REGISTER", 0x120},

		{"TIMESTAMP at 4", nil, []uint32{0x09000002, 4, 0}, "ALIGN", 4},
		{"TIMESTAMP beyond VRAM", nil, []uint32{0x09000002, 0x10000, 0}, "ADDRESS", 0x10000},
		{"TIMESTAMP at the end of VRAM", nil, []uint32{0x09000002, 0xfff8, 0}, "", 0},
		{"PREDICATE bit 17", nil, []uint32{0x0a000003, 0, 0, 1 << 17}, "RESERVED", 1 << 17},
		{"PREDICATE bit 31", nil, []uint32{0x0a000003, 0, 0, 1 << 31}, "RESERVED", 1 << 31},
		{"PREDICATE at 4", nil, []uint32{0x0a000003, 4, 0, 0}, "ALIGN", 4},
		{"PREDICATE beyond VRAM", nil, []uint32{0x0a000003, 0x10000, 0, 0}, "ADDRESS", 0x10000},
		{"PREDICATE at the end of VRAM", nil, []uint32{0x0a000003, 0xfff8, 0, 0}, "", 0},
		{"PREDICATE beyond the host addresses", nil, []uint32{0x0a000003, 0x100000, hi, 0}, "ADDRESS", host | 0x100000},
		{"PREDICATE in unanswered host memory", nil, []uint32{0x0a000003, 0x80000, hi, 0}, "READ_ERROR", host | 0x80000},
		{"SIGNAL body 4", nil, []uint32{0x0b000004, 0, 0, 0, 0}, "LENGTH", 0x0b000004},
		{"SIGNAL bit 1", nil, []uint32{0x0b000005, 0, 0, 0, 0, 2}, "RESERVED", 2},
		{"SIGNAL at 4", nil, []uint32{0x0b000005, 4, 0, 0, 0, 0}, "ALIGN", 4},
		{"SIGNAL beyond VRAM", nil, []uint32{0x0b000005, 0x10000, 0, 0, 0, 0}, "ADDRESS", 0x10000},
		{"SIGNAL at the end of VRAM", nil, []uint32{0x0b000005, 0xfff8, 0, 0, 0, 0}, "", 0},
		{"FENCE bit 1", nil, []uint32{0x10000004, 0, 0, 0, 2}, "RESERVED", 2},
		{"FENCE at 4", nil, []uint32{0x10000004, 4, 0, 0, 0}, "ALIGN", 4},
		{"FENCE beyond the host addresses", nil, []uint32{0x10000004, 0x100000, hi, 0, 0}, "ADDRESS", host | 0x100000},
		{"FENCE 2^31 ahead", nil, []uint32{0x10000004, 0, 0, 0x80000000, 0}, "FENCE", 0x80000000},
		{"FENCE 2^31-1 ahead", nil, []uint32{0x10000004, 0, 0, 0x7fffffff, 0}, "", 0},
		{"FENCE backwards", []uint32{0x10000004, 0, 0, 7, 0}, []uint32{0x10000004, 0, 0, 6, 0}, "FENCE", 6},
		{"FENCE with the last ID", []uint32{0x10000004, 0, 0, 7, 0}, []uint32{0x10000004, 0, 0, 7, 0}, "", 0},
		{"WAIT_FENCE bit 1", nil, []uint32{0x12000003, 2, 0, 0}, "RESERVED", 2},
		{"WAIT_FENCE bit 31", nil, []uint32{0x12000003, 1 << 31, 0, 0}, "RESERVED", 1 << 31},
		{"WAIT_FENCE for the current value", nil, []uint32{0x12000003, 1, 0, 0}, "", 0},
		{"SET_WINDOW bit 3", nil, []uint32{0x11000005, 8, 0, 0, 1, 0}, "RESERVED", 8},
		{"SET_WINDOW bit 31", nil, []uint32{0x11000005, 1 << 31, 0, 0, 1, 0}, "RESERVED", 1 << 31},
		{"SET_WINDOW of all of VRAM", nil, []uint32{0x11000005, 7, 0, 0, 0x10000, 0}, "", 0},
		{"SET_WINDOW of more than VRAM", nil, []uint32{0x11000005, 0, 1, 0, 0x10000, 0}, "ADDRESS", 1},
		{"SET_WINDOW beyond VRAM", nil, []uint32{0x11000005, 0, 0x10000, 0, 1, 0}, "ADDRESS", 0x10000},
		{"SET_WINDOW of all host addresses", nil, []uint32{0x11000005, 0, 0, hi, 0x100000, 0}, "", 0},
		{"SET_WINDOW of 2^32+1 bytes", nil, []uint32{0x11000005, 0, 0, hi, 1, 1}, "ADDRESS", host},
		{"SET_WINDOW of 2^64-1 bytes", nil, []uint32{0x11000005, 0, 16, 0, 0xffffffff, 0xffffffff}, "ADDRESS", 16},
		{"SET_WINDOW of size 0, any base", nil, []uint32{0x11000005, 0, 0xffffffff, 0xffffffff, 0, 0}, "", 0},

		{"COPY from unanswered host memory", nil, []uint32{0x04000005, 0x80000, hi, 0, 0, 8}, "READ_ERROR", host | 0x80000},
		{"FILL refused by host memory", nil, []uint32{0x06000005, 0x80000, hi, 8, 0, 0}, "WRITE_ERROR", host | 0x80000},
		{"COPY refused by host memory", nil, []uint32{0x04000005, 0, 0, 0x80000, hi, 8}, "WRITE_ERROR", host | 0x80000},
		{"COPY2D refused by host memory", append(source8[:8:8], 0x03000007, 1, 0x80000, hi, 16, 0, 0, 0x40004000),
			[]uint32{0x05000003, 0, 0, 0x00040004}, "WRITE_ERROR", host | 0x80000},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := faultBench(t)
			b.check = true
			b.run(tt.before...)
			descs := len(b.descs)
			b.run(tt.dwords...)
			if tt.want == "" {
				require.Equal(t, zero, b.fault())
				assert.Equal(t, b.wptr, b.read(cpreg.Rptr))
				return
			}
			at := ringAt + 4*uint64(len(tt.before))
			assert.Equal(t, faultText(tt.want, at, tt.dwords[0], tt.bad), b.fault())
			assert.Equal(t, 1, b.faults)
			assert.Equal(t, uint32(len(tt.before)), b.read(cpreg.Rptr), "RPTR stays")
			assert.Zero(t, b.read(cpreg.Ctl), "RUN is cleared")
			assert.Equal(t, uint32(cpreg.StatusIdle|cpreg.StatusFault)|uint32(decodeFault)<<4, b.read(cpreg.Status))
			if tt.want != "READ_ERROR" && tt.want != "WRITE_ERROR" {
				assert.Len(t, b.descs, descs, "nothing was moved")
			}
		})
	}
}

func faultText(cause string, at uint64, op uint32, bad uint64) string {
	return fmt.Sprintf("%s at %#x op %#08x bad %#x", cause, at, op, bad)
}

func TestFaultsInIndirectBuffers(t *testing.T) {
	for _, tt := range []struct {
		name   string
		dwords []uint32
		cause  string
		at     uint64 // dword of the packet
		bad    uint64
	}{
		{"nested INDIRECT", []uint32{0x01000000, 0x02000003, 0, 0, 0}, "PRIVILEGE", 1, 0x02000003},
		{"FENCE", []uint32{0x10000004, 0, 0, 0, 0}, "PRIVILEGE", 0, 0x10000004},
		{"SET_WINDOW", []uint32{0x11000005, 0, 0, 0, 0, 0}, "PRIVILEGE", 0, 0x11000005},
		{"WAIT_FENCE", []uint32{0x12000003, 0, 0, 0}, "PRIVILEGE", 0, 0x12000003},
		{"ends inside a COPY", []uint32{0x01000000, 0x04000005, 0, 0, 0, 0}, "LENGTH", 1, 0x04000005},
		{"ends inside a NOP", []uint32{0x01000002, 0}, "LENGTH", 0, 0x01000002},
		{"ends with a NOP", []uint32{0x01000001, 0}, "", 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := faultBench(t)
			b.put(0x100, tt.dwords...)
			b.run(0x02000003, 0x100, 0, uint32(len(tt.dwords)))
			if tt.cause == "" {
				assert.Zero(t, b.faults)
				return
			}
			assert.Equal(t, faultText(tt.cause, 0x100+4*tt.at, uint32(tt.bad), tt.bad), b.fault())
			assert.Equal(t, uint32(len(tt.dwords))-uint32(tt.at), b.read(cpreg.IBLeft))
			assert.NotZero(t, b.read(cpreg.Status)&cpreg.StatusInIB)
			assert.Zero(t, b.read(cpreg.Rptr), "INDIRECT has not retired")

			b.put(0x100, make([]uint32, len(tt.dwords))...)
			b.put(0x100, 0x01000000|uint32(len(tt.dwords)-1))
			b.write(cpreg.FaultInfo, 0)
			b.write(cpreg.Ctl, cpreg.CtlRun)
			b.idle()
			assert.Equal(t, 1, b.faults, "INDIRECT restarts")
			assert.Equal(t, uint32(4), b.read(cpreg.Rptr))
		})
	}
}

func TestFetchError(t *testing.T) {
	b := faultBench(t)
	b.run(0x02000003, 0x80000, hi, 3)
	assert.Equal(t, faultText("READ_ERROR", host|0x80000, 0, host|0x80000), b.fault())

	b = faultBench(t)
	b.put(host|0xffe0, 0x01000000, 0x01000000, 0x01000000, 0x01000000, 0x01000000, 0x01000000, 0x04000005, 0)
	b.run(0x02000003, 0xffe0, hi, 12)
	assert.Equal(t, faultText("READ_ERROR", host|0xfff8, 0x04000005, host|0x10000), b.fault(), "only when the decoder needs it")
	assert.Equal(t, uint32(6), b.read(cpreg.Packets))
}

// TestPredicateAtTheEnd skips to the end of an indirect buffer, and past it.
func TestPredicateAtTheEnd(t *testing.T) {
	for _, over := range []uint32{0, 1} {
		b := faultBench(t)
		b.put(0x1000, 0x0a000003, 0x2000, 0, 2+over, 0xffffffff, 0xffffffff)
		b.run(0x02000003, 0x1000, 0, 6)
		if over == 0 {
			assert.Equal(t, "NONE at 0x0 op 0x00000000 bad 0x0", b.fault())
			assert.Equal(t, uint32(2), b.read(cpreg.Packets))
			continue
		}
		assert.Equal(t, faultText("LENGTH", 0x1000, 0x0a000003, 3), b.fault())
	}
}

func TestFaultIsSticky(t *testing.T) {
	b := faultBench(t)
	b.run(0x01000000, 0)
	b.write(cpreg.Ctl, cpreg.CtlRun)
	assert.Zero(t, b.read(cpreg.Ctl), "RUN is ignored while faulted")
	b.write(cpreg.FaultInfo, 5)
	assert.Equal(t, uint32(cpreg.CauseOpcode), b.read(cpreg.FaultInfo), "only 0 clears it")
	b.write(cpreg.FaultInfo, 0)
	assert.Equal(t, "NONE at 0x0 op 0x00000000 bad 0x0", b.fault())
	b.put(ringAt+4, 0x01000000)
	b.write(cpreg.Ctl, cpreg.CtlRun)
	b.idle()
	assert.Equal(t, uint32(2), b.read(cpreg.Rptr), "continues at the packet that faulted and fetches it again")
	assert.Equal(t, 1, b.faults)
}

func TestRefusedFence(t *testing.T) {
	b := faultBench(t)
	b.refuse = true
	b.run(0x10000004, 0x3000, hi, 7, 1)
	assert.Equal(t, faultText("WRITE_ERROR", ringAt, 0x10000004, host|0x3000), b.fault())
	assert.Zero(t, b.read(cpreg.Fence))
	assert.Zero(t, b.events)
}

func TestRefusedRowsStop(t *testing.T) {
	b := faultBench(t)
	b.refuse = true
	b.run(append(dest8[:8:8], 0x07000004, 0, 0x03000001, 1, 2)...)
	assert.Equal(t, uint32(cpreg.CauseWriteError), b.read(cpreg.FaultInfo))
	assert.Less(t, len(b.descs), 20, "of 768 rows")
	assert.Empty(t, b.moves, "the fault waits for descriptors in flight")
}

// TestAgreesWithDecoder holds the node's checks of single packets against the
// decoder of package pkt, which knows nothing of addresses and state.
func TestAgreesWithDecoder(t *testing.T) {
	causes := []struct {
		err   error
		cause uint32
	}{
		{pkt.ErrOpcode, cpreg.CauseOpcode}, {pkt.ErrReserved, cpreg.CauseReserved}, {pkt.ErrLength, cpreg.CauseLength},
		{pkt.ErrAlign, cpreg.CauseAlign}, {pkt.ErrRange, cpreg.CauseState},
	}
	rng := rand.New(rand.NewPCG(1, 2))
	bodies := []uint32{0, 3, 7, 5, 3, 5, 4, 2, 2, 3, 4, 5, 3, 2, 2}
	ops := []uint32{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 16, 17, 18, 19, 20}
	seen := map[error]int{}
	for i := range 3000 {
		k := rng.IntN(len(ops))
		p := make([]uint32, 1+bodies[k])
		p[0] = ops[k]<<24 | bodies[k]
		for j := range p[1:] {
			p[1+j] = rng.Uint32() >> (rng.UintN(33)) &^ (rng.Uint32N(2) * 7)
		}
		if rng.IntN(8) == 0 {
			p[0] ^= 1 << rng.UintN(32)
		}
		var raw []byte
		for _, d := range p {
			raw = append(raw, byte(d), byte(d>>8), byte(d>>16), byte(d>>24))
		}
		if p[0]>>24 == pkt.OpNOP {
			raw = append(raw, make([]byte, 4*(p[0]&0xffff))...)
		} else {
			raw = append(raw, make([]byte, 4*0x10000)...)
		}
		_, _, err := pkt.Decode(raw)
		b := newBench(t)
		b.start(ringAt, 12)
		b.push(p...)
		b.doorbell()
		for range 100 {
			b.tick(regbus.Req{})
		}
		got := b.read(cpreg.FaultInfo)
		want := uint32(cpreg.CauseNone)
		for _, c := range causes {
			if errors.Is(err, c.err) {
				want = c.cause
				seen[c.err]++
			}
		}
		if want != cpreg.CauseNone {
			require.Equal(t, cpreg.Causes[want], cpreg.Causes[got], "packet %d: %#x: %v", i, p, err)
		} else {
			own := got == 0 || got >= cpreg.CauseAddress || b.read(cpreg.FaultLo) != uint32(ringAt&0xffffffff)
			require.True(t, own, "packet %d: %#x: %s", i, p, cpreg.Causes[got])
		}
	}
	for _, c := range causes {
		assert.Greater(t, seen[c.err], 20, "%v", c.err)
	}
}
