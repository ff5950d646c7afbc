package cp

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/regbus"
)

// TestWaitFence moves the other node's timeline to values around the awaited value.
func TestWaitFence(t *testing.T) {
	const value = 5<<32 | 9
	for _, tt := range []struct {
		name   string
		before uint64
		steps  []uint64 // successive values of the timeline
		ends   int      // index of the step that ends the wait; -1: no wait
	}{
		{"reached before", value, nil, -1},
		{"passed before", value + 1<<40, nil, -1},
		{"reached", 0, []uint64{value - 1, value}, 1},
		{"passed", value - 1, []uint64{value + 3}, 0},
		{"both halves count", 0, []uint64{4<<32 | 10, 10, 5 << 32, 6 << 32}, 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t)
			b.check = true
			b.other = tt.before
			b.start(ringAt, 12)
			b.push(0x12000003, 1, 9, 5, 0x08000002, 0x20, 1)
			b.doorbell()
			for i := range tt.steps {
				for range 60 {
					b.tick(regbus.Req{})
				}
				require.Empty(t, b.scratch, "step %d", i)
				assert.Equal(t, uint32(decodeExec)<<4|uint32(syncWait)<<20, b.read(cpreg.Status))
				b.other = tt.steps[i]
				for range 10 {
					b.tick(regbus.Req{})
				}
				require.Equal(t, i == tt.ends, len(b.scratch) == 1, "step %d", i)
			}
			b.idle()
			assert.Len(t, b.scratch, 1)
			assert.Equal(t, uint32(2), b.read(cpreg.Packets))
		})
	}
}

// TestWaitForItself makes a node wait for its own timeline, which the host moves.
func TestWaitForItself(t *testing.T) {
	b := newBench(t)
	b.check = true
	b.start(ringAt, 12)
	b.run(0x10000004, 0x3000, hi, 7, 0, 0x12000003, 0, 7, 0)
	b.push(0x12000003, 0, 8, 0)
	b.doorbell()
	for range 60 {
		b.tick(regbus.Req{})
	}
	assert.Equal(t, uint32(2), b.read(cpreg.Packets))
	b.write(cpreg.Fence, 8)
	b.idle()
	assert.Equal(t, uint32(3), b.read(cpreg.Packets))
}

func TestResetEndsTheWait(t *testing.T) {
	b := newBench(t)
	b.start(ringAt, 12)
	b.push(0x12000003, 1, 1, 0)
	b.doorbell()
	for range 60 {
		b.tick(regbus.Req{})
	}
	b.write(cpreg.Ctl, cpreg.CtlReset)
	b.tick(regbus.Req{})
	assert.Zero(t, b.read(cpreg.Ctl))
	assert.Equal(t, uint32(cpreg.StatusIdle), b.read(cpreg.Status))
}

// TestWaitForMissingNode names a node that does not exist, and uses an unsupported packet.
func TestWaitForMissingNode(t *testing.T) {
	p := Params{HostBits: 40, VRAMBytes: vramSize, LengthBits: 32, Caps: caps.Timeline, Nodes: 1}
	b := newBenchOf(t, p)
	b.start(ringAt, 12)
	b.run(0x12000003, 0, 0, 0)
	b.run(0x12000003, 1, 0, 0)
	assert.Equal(t, faultText("STATE", ringAt+16, 0x12000003, 1), b.fault())

	p.Caps &^= caps.Timeline
	b = newBenchOf(t, p)
	b.start(ringAt, 12)
	b.run(0x12000003, 0, 0, 0)
	assert.Equal(t, faultText("OPCODE", ringAt, 0x12000003, 0x12000003), b.fault())
}
