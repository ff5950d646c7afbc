package cp

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/regbus"
)

func TestReset(t *testing.T) {
	b := faultBench(t)
	b.run(0x10000004, 0x3000, 0, 7, 0)
	b.dmaTime = 200
	b.latency = 100
	b.push(0x06000005, 0, 0, 8, 1, 2)
	b.doorbell()
	for len(b.descs) == 0 {
		b.tick(regbus.Req{})
	}
	b.write(cpreg.Ctl, cpreg.CtlReset|cpreg.CtlRun)
	for range 100 {
		b.tick(regbus.Req{})
	}
	assert.Equal(t, uint32(cpreg.CtlReset), b.read(cpreg.Ctl), "waits for the descriptor")
	b.write(cpreg.RingSize, 9)
	for len(b.moves) != 0 {
		b.tick(regbus.Req{})
	}
	b.tick(regbus.Req{})
	b.tick(regbus.Req{})
	for _, r := range cpreg.Block(0).Regs {
		want := r.Reset
		if r.Off == cpreg.Fence || r.Off == cpreg.LineLo {
			want = 7
		}
		assert.Equal(t, want, b.read(uint16(r.Off)), r.Name)
	}
	b.wptr = 0
	b.start(0x1000, 8)
	b.run(0x01000000, 0x01000000)
	assert.Equal(t, uint32(2), b.read(cpreg.Packets))
}

func TestResetDrainsFetches(t *testing.T) {
	for at := range 40 {
		b := faultBench(t)
		b.latency = 20
		b.push(0x01000000, 0x01000000)
		b.doorbell()
		for range at {
			b.tick(regbus.Req{})
		}
		b.write(cpreg.Ctl, cpreg.CtlReset)
		for b.read(cpreg.Ctl) != 0 {
			b.tick(regbus.Req{})
		}
		require.Empty(t, b.cpls, "reset after %d clocks", at)
		b.wptr = 0
		b.start(0x1000, 8)
		b.run(0x08000002, 0x24, 5)
		require.Len(t, b.scratch, 1)
		require.Zero(t, b.faults)
	}
}

// TestResetBeforeIndirect resets a node at each clock around the start of an indirect buffer that is in the other half
// of a beat than the ring, while dwords of the ring are in flight. None of them is written where the node reads.
func TestResetBeforeIndirect(t *testing.T) {
	met := 0
	for at := range 200 {
		b := faultBench(t)
		b.latency = 80
		for range 27 {
			b.push(emptyNOP)
		}
		b.push(0x02000003, 0x5004, 0, 13)
		for range 33 {
			b.push(emptyNOP)
		}
		b.doorbell()
		for range at {
			b.tick(regbus.Req{})
		}
		b.write(cpreg.Ctl, cpreg.CtlReset)
		if b.cp.ring.toIB && b.cp.ring.stream.have == 1 && b.cp.ring.stream.come == depth {
			met++
		}
		for b.read(cpreg.Ctl) != 0 {
			b.tick(regbus.Req{})
		}
		require.Empty(t, b.cpls, "reset after %d clocks", at)
	}
	assert.Positive(t, met, "the case that is meant")
}

func TestStopAndGo(t *testing.T) {
	for at := range 80 {
		b := faultBench(t)
		b.put(0x200, 0x01000000, 0x08000002, 0x20, 2, 0x01000003, 0, 0, 0, 0x08000002, 0x20, 3)
		b.push(0x08000002, 0x20, 1, 0x02000003, 0x200, 0, 11, 0x08000002, 0x20, 4)
		b.doorbell()
		for range at {
			b.tick(regbus.Req{})
		}
		b.write(cpreg.Ctl, 0)
		b.idle()
		b.tick(regbus.Req{})
		b.write(cpreg.Ctl, cpreg.CtlRun)
		b.idle()
		require.Len(t, b.scratch, 4, "stopped after %d clocks", at)
		for i, s := range b.scratch {
			require.Equal(t, uint32(i+1), s.Data)
		}
		require.Equal(t, uint32(10), b.read(cpreg.Rptr))
	}
}

// A node whose reset waits for a read does not sleep while it keeps the ring's
// registers for a fault, which it goes on with until the reset.
func TestResetOfBlame(t *testing.T) {
	held := 0
	for at := range 30 {
		b := newBenchOf(t, everything)
		b.check = true
		b.latency = 60
		b.put(ringAt, 0x01000000)
		b.start(ringAt, 8)
		b.write(cpreg.Wptr, 4)
		for range 5 {
			b.tick(regbus.Req{})
		}
		b.write(cpreg.Wptr, 1<<20)
		for range at {
			b.tick(regbus.Req{})
		}
		b.write(cpreg.Ctl, cpreg.CtlReset)
		if b.cp.ring.state == ringCopy && b.cp.regs.resetting {
			held++
		}
		for range 100 {
			b.tick(regbus.Req{})
		}
		require.Zero(t, b.read(cpreg.Ctl))
	}
	assert.Positive(t, held, "the case that is meant")
}

// A node whose reset waits for a read does not sleep while it stores a window, which it
// repeats until the reset.
func TestResetOfWindow(t *testing.T) {
	held := 0
	for at := range 80 {
		b := newBenchOf(t, everything)
		b.check = true
		b.latency = 40
		b.start(ringAt, 8)
		for range 10 {
			b.push(windows[:6]...)
		}
		b.doorbell()
		for range at {
			b.tick(regbus.Req{})
		}
		b.write(cpreg.Ctl, cpreg.CtlReset)
		if b.cp.sets() && b.cp.regs.resetting {
			held++
		}
		for range 100 {
			b.tick(regbus.Req{})
		}
		require.Zero(t, b.read(cpreg.Ctl))
	}
	assert.Positive(t, held, "the case that is meant")
}
