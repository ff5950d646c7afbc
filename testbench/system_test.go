package testbench

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
	"github.com/hilgpu/hilgpu/runtime/dxgkrnl"
	"github.com/hilgpu/hilgpu/runtime/verifier"
	"github.com/hilgpu/hilgpu/testbench/compose"
	"github.com/hilgpu/hilgpu/testbench/events/eventstest"
)

func smallPlan(t *testing.T, seed uint64) *compose.Plan {
	t.Helper()
	sources, err := compose.Samples()
	require.NoError(t, err)
	plan, err := compose.NewPlan(compose.Options{Width: 40, Height: 30, Contexts: 2, Seed: seed, Sources: sources})
	require.NoError(t, err)
	return plan
}

func composes(t *testing.T, s *System, plan *compose.Plan) {
	t.Helper()
	frame, err := compose.Run(s, plan)
	require.NoError(t, err)
	_, n := compose.Diff(frame, plan.Reference())
	require.Zero(t, n)
}

// Closed devices leave no host memory allocated.
func TestDevicesDoNotLeak(t *testing.T) {
	s, err := Open("emu?vram=64KiB", HostDrivers(), Options{HostMemory: 8 << 20, Record: eventstest.Record(t)})
	require.NoError(t, err)
	var used uint64
	for i := range uint64(40) {
		composes(t, s, smallPlan(t, i))
		require.NoError(t, s.WaitForIdle())
		if n := s.machine.InUse(); i == 0 {
			used = n
		} else {
			require.Equal(t, used, n, "after device %d", i)
		}
	}
	require.NoError(t, s.Close())
	require.NoError(t, s.Close(), "the second Close does nothing")
}

// Two devices share the GPU; the trace tells their processes apart.
func TestTwoDevices(t *testing.T) {
	var b bytes.Buffer
	s, err := Open("emu?vram=64KiB", HostDrivers(), Options{DDI: &b, Record: eventstest.Record(t)})
	require.NoError(t, err)
	other, _, err := s.CreateDevice()
	require.NoError(t, err)
	composes(t, s, smallPlan(t, 1))
	other.Close()
	composes(t, s, smallPlan(t, 2))
	require.NoError(t, s.Close())
	processes := map[uint32]bool{}
	all, err := verifier.ReadTrace(&b)
	require.NoError(t, err)
	for _, ev := range all {
		if ev.Name == "pfnCreateDevice" {
			processes[ev.Process] = true
		}
	}
	assert.Equal(t, map[uint32]bool{1: true, 2: true, 3: true}, processes)
}

func TestDriversMayBeMissing(t *testing.T) {
	_, err := Open("emu", Drivers{}, Options{})
	require.ErrorIs(t, err, ErrDrivers)
	_, err = Open("emu", Drivers{KernelMode: HostDrivers().KernelMode}, Options{DDI: new(bytes.Buffer)})
	require.ErrorIs(t, err, ErrDrivers)
}

// spoilSubmissions makes a miniport call spoil with the part of each DMA buffer that
// it submits. A part may be patched several times, and is submitted once.
func spoilSubmissions(d *kmddi.DriverInitializationData, spoil func(part []byte)) {
	type key struct{ node, fence uint32 }
	parts := map[key][]byte{}
	patch, submit := d.Patch, d.SubmitCommand
	d.Patch = func(t *ddi.Thread, h kmddi.HAdapter, arg kmddi.Patch) ddi.Status {
		parts[key{arg.NodeOrdinal, arg.SubmissionFenceID}] = arg.DmaBuffer[arg.DmaBufferSubmissionStartOffset:arg.DmaBufferSubmissionEndOffset]
		return patch(t, h, arg)
	}
	d.SubmitCommand = func(t *ddi.Thread, h kmddi.HAdapter, arg kmddi.SubmitCommand) ddi.Status {
		if !arg.Flags.Paging {
			spoil(parts[key{arg.NodeOrdinal, arg.SubmissionFenceID}])
		}
		return submit(t, h, arg)
	}
}

// If the GPU faults in any submission, the run ends with the cause and the decoded
// state, and the system can be closed.
func TestMiniportThatWritesBadPackets(t *testing.T) {
	for _, tt := range []struct {
		name  string
		spoil func(b []byte)
		says  string
	}{
		{"unknown opcode", func(b []byte) { copy(b, []byte{1, 0, 0, 0x7e}) }, "fault"},
		{"nested indirect", func(b []byte) { p, _ := pkt.Indirect{Addr: pkt.Host, Dwords: 4}.Append(nil); copy(b, p) }, "fault"},
		{"longer than the buffer", func(b []byte) { binary.LittleEndian.PutUint32(b, binary.LittleEndian.Uint32(b)|0xffff) }, "fault"},
		{"all ones", func(b []byte) {
			for i := range b {
				b[i] = 0xff
			}
		}, "fault"},
		{"unmapped", func(b []byte) { p, _ := pkt.Fill{Dst: 1 << 40, Bytes: 64}.Append(nil); copy(b, p) }, "fault"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for at := range 4 {
				n := 0
				drivers := HostDrivers()
				entry := drivers.KernelMode
				drivers.KernelMode = func() kmddi.DriverInitializationData {
					d := entry()
					spoilSubmissions(&d, func(part []byte) {
						if n == at {
							tt.spoil(part)
						}
						n++
					})
					return d
				}
				s, err := Open("emu?vram=64KiB", drivers, Options{Record: eventstest.Record(t)})
				require.NoError(t, err)
				_, err = compose.Run(s, smallPlan(t, 1))
				if n <= at {
					require.NoError(t, err)
					require.NoError(t, s.Close())
					continue
				}
				var stopped *dxgkrnl.DeviceError
				require.ErrorAs(t, err, &stopped, "submission %d", at)
				assert.Equal(t, dxgkrnl.Fault, stopped.Kind)
				for _, want := range []string{"kernel: node", "CP0: fault", "=>", "FAULT_INFO", "CP0: fence"} {
					assert.Contains(t, stopped.Dump, want)
				}
				require.NoError(t, s.Close())
			}
		})
	}
}
