package testbench

import (
	"errors"
	"flag"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
	"github.com/hilgpu/hilgpu/runtime/dxgkrnl"
	"github.com/hilgpu/hilgpu/testbench/events/eventstest"
	"github.com/hilgpu/hilgpu/testbench/inject"
)

// hangs is how often TestHangsAreRecovered injects a hang of each kind. "make soak" does 1,000.
var hangs = flag.Int("recovery.hangs", 4, "injected hangs of each kind")

// A spoiler spoils a submission of the device that was created last, once it is armed.
//
//	spoil   spoils what DxgkDdiPatch has patched; nil: nothing does
//	buffer  address of the DMA buffer of what was spoiled; 0: all of the device
//	fences  that submissions of it have had
type spoiler struct {
	spoil  func(arg kmddi.Patch)
	device kmddi.HDevice
	owners map[kmddi.HContext]kmddi.HDevice
	armed  bool
	buffer uint64
	fences []uint32
}

// drivers returns the drivers of this GPU with the spoiler in the miniport.
func (s *spoiler) drivers() Drivers {
	return withKernel(func(d *kmddi.DriverInitializationData) {
		s.owners = map[kmddi.HContext]kmddi.HDevice{}
		create, patch := d.CreateContext, d.Patch
		d.CreateContext = func(t *ddi.Thread, dev kmddi.HDevice, ctx kmddi.HContext, arg kmddi.CreateContext) (kmddi.ContextInfo, ddi.Status) {
			s.device = dev
			s.owners[ctx] = dev
			return create(t, dev, ctx, arg)
		}
		d.Patch = func(t *ddi.Thread, h kmddi.HAdapter, arg kmddi.Patch) ddi.Status {
			st := patch(t, h, arg)
			if s.owners[arg.Context] != s.device {
				return st
			}
			if s.armed && !arg.Flags.Resubmission {
				s.armed, s.buffer = false, arg.DmaBufferPhysicalAddress
				s.spoil(arg)
			}
			if s.buffer == 0 && s.spoil == nil || s.buffer == arg.DmaBufferPhysicalAddress {
				s.fences = append(s.fences, arg.SubmissionFenceID)
			}
			return st
		}
	})
}

// unknownPacket makes a submission begin with a packet that does not exist.
func unknownPacket(arg kmddi.Patch) {
	copy(arg.DmaBuffer[arg.DmaBufferSubmissionStartOffset:], []byte{1, 0, 0, 0x7e})
}

// A device whose work hangs or faults is lost with the reason. The work of two others, in the
// hardware and in the queues at the same time, has its result each time. Nothing leaks, and
// the adapter never stops.
//
// docs/properties.md: F13, S8, T5, T7.
func TestHangsAreRecovered(t *testing.T) {
	injector := new(inject.Injector)
	read := func(arg kmddi.Patch) {
		injector.LoseRead(arg.DmaBufferPhysicalAddress+uint64(arg.DmaBufferSubmissionStartOffset), 4)
	}
	doorbell := func(kmddi.Patch) { injector.LoseWrites(1, cpreg.Base+cpreg.Wptr, 0) }
	for _, tt := range []struct {
		name, board string
		queues      Queues
		spoil       func(arg kmddi.Patch) // nil: the work takes longer than TdrDelay
		alone       bool                  // a later submission, or a preemption for it, would heal it
		kind        dxgkrnl.Kind
		most        int // hangs that the GPU can have; 0: any number
	}{
		{"fault", "emu?vram=64KiB", Queues{}, unknownPacket, false, dxgkrnl.Fault, 0},
		{"long work", "emu?vram=8MiB", Queues{}, nil, false, dxgkrnl.Timeout, 0},
		{"long work, PREEMPT ignored", "emu?vram=8MiB&fault=ignore-preempt", Queues{}, nil, false, dxgkrnl.Timeout, 0},
		{"lost doorbell, PREEMPT ignored", "emu?vram=64KiB&fault=ignore-preempt", Queues{}, doorbell, true, dxgkrnl.Timeout, 0},
		{"one node, no preemption", "emu?vram=64KiB&nodes=1&preemption=0", Queues{}, unknownPacket, false, dxgkrnl.Fault, 0},
		{"fault in a queue of the firmware", "emu?config=full&vram=64KiB", Queues{Use: true}, unknownPacket, false, dxgkrnl.Fault, 0},
		{"long work in a queue of the firmware", "emu?config=full&vram=8MiB", Queues{Use: true}, nil, false, dxgkrnl.Timeout, 0},
		{"fault on a line", "line?vram=64KiB", Queues{}, unknownPacket, false, dxgkrnl.Fault, 0},
		{"host read on a line", "line?vram=64KiB", Queues{}, read, true, dxgkrnl.Fault, 4}, // each retires a tag, and there are 4 spare ones (docs/registers.md, ID.READ_TIMEOUT)
	} {
		t.Run(tt.name, func(t *testing.T) {
			hangs := *hangs
			if tt.most != 0 {
				hangs = min(hangs, tt.most)
			}
			s := &spoiler{spoil: tt.spoil}
			o, size, copies := Options{Queues: tt.queues, Sanitize: true, Inject: injector, Record: eventstest.Record(t)}, 1500, 1
			if tt.spoil == nil {
				o.TdrDelay, size, copies = 200_000, 512<<10, 60
			}
			sys, err := Open(tt.board, s.drivers(), o)
			require.NoError(t, err)
			others := []*copier{newCopier(t, sys, 1000, 3), newCopier(t, sys, 2000, 5)}
			inUse := 0
			for n := range hangs {
				guilty := newCopier(t, sys, size, 7)
				require.NoError(t, sys.WaitForIdle())
				for i, p := range others {
					p.copies(3)
					if i == 0 {
						if tt.alone {
							require.NoError(t, sys.WaitForIdle())
						}
						s.armed, s.buffer, s.fences = tt.spoil != nil, 0, nil
						guilty.copies(copies)
						if tt.alone {
							require.NoError(t, sys.WaitForIdle())
						}
						guilty.copies(1)
					}
				}
				for _, p := range others {
					require.Equal(t, p.data, p.result(t), "hang %d", n)
					require.NoError(t, p.dev.GetDeviceRemovedReason())
				}
				require.NoError(t, sys.WaitForIdle())
				guilty.copies(1) // here the driver learns of it
				var e *dxgkrnl.DeviceError
				require.ErrorAs(t, guilty.dev.GetDeviceRemovedReason(), &e, "hang %d", n)
				require.Equal(t, tt.kind, e.Kind, "%v: %s", e, e.Dump)
				require.Contains(t, s.fences, e.Fence, "%v: %s", e, e.Dump)
				require.True(t, errors.Is(guilty.dev.GetDeviceRemovedReason(), ddi.DXGIDeviceHung))
				guilty.source.Release()
				guilty.target.Release()
				guilty.dev.Close()
				if used := int(sys.machine.InUse()); n > 2 {
					require.Equal(t, inUse, used, "hang %d leaks host memory", n)
				} else {
					inUse = used
				}
			}
			assert.EqualValues(t, hangs, sys.kernel.Stats().NodeResets)
			assert.Zero(t, sys.kernel.Stats().Recoveries)
			for _, f := range sys.Findings() {
				assert.Contains(t, []string{"gpu-fault", "gpu-time-out", "preempt-time-out", "access-unwritten"}, f.Rule, "%v", f) // the spoiled upload writes nothing
			}
			for _, p := range others {
				p.dev.Close()
			}
			require.NoError(t, sys.Close())
		})
	}
}
