package kmcheck

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

// starting runs code in StartDevice.
func (r *rig) starting(code func(t *ddi.Thread)) {
	r.on["StartDevice"] = code
	r.begin()
}

func argumentCases() []ruleCase {
	maps := func(off, n uint64) func(r *rig) {
		return func(r *rig) {
			r.starting(func(t *ddi.Thread) {
				m, _ := r.cb.MapMemory(t, r.h, 0, off, n)
				r.cb.UnmapMemory(t, r.h, m)
			})
		}
	}
	reads := func(off int) func(r *rig) {
		return func(r *rig) { r.starting(func(t *ddi.Thread) { r.cb.ReadDeviceSpace(t, r.h, off) }) }
	}
	writes := func(off int, v uint32) func(r *rig) {
		return func(r *rig) { r.starting(func(t *ddi.Thread) { r.cb.WriteDeviceSpace(t, r.h, off, v) }) }
	}
	frees := func(n int, edit func(m *kmddi.ContiguousMemory)) func(r *rig) {
		return func(r *rig) {
			r.starting(func(t *ddi.Thread) {
				m, _ := r.cb.AllocateContiguousMemory(t, r.h, n)
				edit(&m)
				r.cb.FreeContiguousMemory(t, r.h, m)
			})
		}
	}
	same := func(*kmddi.ContiguousMemory) {}
	status := func(typ kmddi.NotifyType, status uint32) func(r *rig) {
		return func(r *rig) {
			r.begin()
			r.submit(0, 1, 4)
			r.interrupt(func(t *ddi.Thread) {
				r.read(t, 1)
				r.cb.NotifyInterrupt(t, r.h, kmddi.NotifyInterrupt{InterruptType: typ, FenceID: 1, Status: status})
				r.cb.QueueDpc(t, r.h)
			})
		}
	}
	return []ruleCase{
		{rule: "callback-argument", breaks: maps(0, 63), keeps: maps(0, 64)},
		{rule: "callback-argument", breaks: maps(2, 64), keeps: maps(4, 60)},
		{rule: "callback-argument", breaks: reads(5), keeps: reads(0xffc)},
		{rule: "callback-argument", breaks: reads(0x1000), keeps: reads(0)},
		{rule: "callback-argument", breaks: reads(-4), keeps: reads(4)},
		{rule: "callback-argument", breaks: frees(0, same), keeps: frees(1, same)},
		{rule: "callback-argument", breaks: frees(8, func(m *kmddi.ContiguousMemory) { m.Bytes = m.Bytes[:7] }),
			keeps: frees(8, func(m *kmddi.ContiguousMemory) { m.Bytes = nil })},
		{rule: "config-write", breaks: writes(0x04, 0x4), keeps: writes(0x04, 0x6)},
		{rule: "config-write", breaks: writes(0x10, 0x80000000), keeps: writes(0x0c, 0x10)},
		{rule: "config-write", breaks: writes(0x24, 0), keeps: writes(0x28, 0)},
		{rule: "config-write", breaks: func(r *rig) {
			r.begin()
			r.query(func(t *ddi.Thread) { r.cb.WriteDeviceSpace(t, r.h, 4, 0) })
		}, keeps: func(r *rig) { // the device is turned off
			r.begin()
			r.on["StopDevice"] = func(t *ddi.Thread) { r.cb.WriteDeviceSpace(t, r.h, 4, 0) }
			r.end()
		}},
		{rule: "interrupt-status", breaks: status(kmddi.InterruptDMACompleted, 1), keeps: status(kmddi.InterruptDMACompleted, 0)},
		{rule: "interrupt-status", breaks: status(kmddi.InterruptDMACompleted, uint32(ddi.StatusUnsuccessful)),
			keeps: status(kmddi.InterruptDMAFaulted, uint32(ddi.StatusUnsuccessful))},
	}
}

// The text of a refused access names its mapping.
func TestArgumentNamesItsMapping(t *testing.T) {
	for _, tt := range []struct {
		name, want string
		of         func(t *ddi.Thread, r *rig) kmddi.HMapping
	}{
		{"held", "the mapping of 0x40 bytes at 0x0 of BAR 0, off 0x44", func(t *ddi.Thread, r *rig) kmddi.HMapping {
			m, _ := r.cb.MapMemory(t, r.h, 0, 0, 64)
			return m
		}},
		{"none", "the zero HMapping, which DxgkCbMapMemory never returns, off 0x44", func(*ddi.Thread, *rig) kmddi.HMapping { return kmddi.HMapping{} }},
		{"unmapped", "a mapping that the driver does not hold: DxgkCbMapMemory did not return it, or DxgkCbUnmapMemory removed it, off 0x44",
			func(t *ddi.Thread, r *rig) kmddi.HMapping {
				m, _ := r.cb.MapMemory(t, r.h, 0, 0, 64)
				r.cb.UnmapMemory(t, r.h, m)
				return m
			}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t)
			r.starting(func(t *ddi.Thread) {
				r.status["ReadRegister"] = ddi.StatusInvalidHandle
				r.cb.ReadRegister(t, r.h, tt.of(t, r), 0x44)
			})
			require.Len(t, r.m.Violations(), 1)
			assert.Equal(t, "returns STATUS_INVALID_HANDLE, called in DxgkDdiStartDevice with "+tt.want, r.m.Violations()[0].Text)
		})
	}
}
