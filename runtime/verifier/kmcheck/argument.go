package kmcheck

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
	"github.com/hilgpu/hilgpu/runtime/verifier"
)

// The parts of configuration space that the system sets (PCI 3.0 §6.1, §6.2.2 and
// §6.2.5), in bytes.
const (
	configBytes   = 4096 // with the extended part (PCIe 3.0 §7.2)
	configCommand = 0x04
	configBARs    = 0x10
	configBARsEnd = 0x28
	commandMemory = 1 << 1 // the device answers accesses to its BARs
)

// checkPassed checks the arguments of a callback, in any state of the system.
func (k *Checker) checkPassed(fr *frame) {
	wrong := func(format string, args ...any) {
		k.fail(fr, "callback-argument", format+", called in "+fr.place(), args...)
	}
	switch fr.f.Name {
	case "DxgkCbMapMemory":
		if off, n := fr.args[2].(uint64), fr.args[3].(uint64); off%4 != 0 || n%4 != 0 {
			wrong("off is %#x and length is %#x, want multiples of 4, the size of a register", off, n)
		}
	case "DxgkCbReadDeviceSpace", "DxgkCbWriteDeviceSpace":
		if off := fr.args[1].(int); off < 0 || off > configBytes-4 || off%4 != 0 {
			wrong("off is %#x, want a multiple of 4 up to %#x", off, configBytes-4)
		} else if fr.f.Name == "DxgkCbWriteDeviceSpace" {
			k.checkConfig(fr, off, fr.args[2].(uint32))
		}
	case "MmAllocateContiguousMemory":
		if n := fr.args[1].(int); n <= 0 {
			wrong("size is %d, want at least 1", n)
		}
	case "MmFreeContiguousMemory":
		m := fr.args[1].(kmddi.ContiguousMemory)
		i := slices.IndexFunc(k.held, func(r resource) bool { return r.memory != 0 && r.memory == m.PhysicalAddress })
		if i >= 0 && m.Bytes != nil && uint64(len(m.Bytes)) != k.held[i].size {
			wrong("Bytes has %d bytes, want the %d that MmAllocateContiguousMemory returned for %#x", len(m.Bytes), k.held[i].size, m.PhysicalAddress)
		}
	}
}

// checkConfig checks a write to configuration space. A driver that stops may turn
// its device off.
func (k *Checker) checkConfig(fr *frame, off int, v uint32) {
	switch in := fr.function(); {
	case off >= configBARs && off < configBARsEnd:
		k.fail(fr, "config-write", "writes %#x to %#x, a base address, which the system assigns", v, off)
	case off == configCommand && v&commandMemory == 0 && (in == nil || in.f.Name != stopDevice):
		var culprit *verifier.Culprit
		if !k.evidence.command {
			culprit = verifier.Missing("DxgkCbReadDeviceSpace", fr.place())
		}
		k.failBy(fr, culprit, "config-write", "writes %#x to Command in %s, which turns memory decode (%#x) off, want it as DxgkCbReadDeviceSpace returns it",
			v, fr.place(), uint32(commandMemory))
	}
}

// checkArguments checks that a callback accepted its arguments. A driver may ask
// for a mapping that does not exist.
func (k *Checker) checkArguments(fr *frame, s ddi.Status) {
	tried := fr.f.Name == "DxgkCbMapMemory" && s == ddi.StatusInvalidParameter
	if !tried && (s == ddi.StatusInvalidHandle || s == ddi.StatusInvalidParameter) {
		var culprit *verifier.Culprit
		if k.unmapped(fr) {
			culprit = &verifier.Culprit{Function: "DxgkCbMapMemory", Why: "has made no mapping"}
		}
		k.failBy(fr, culprit, "callback-argument", "returns %v, called in %s with %s", s, fr.place(), k.arguments(fr))
	}
}

// unmapped reports whether a callback gets the zero HMapping of a driver that has
// mapped nothing.
func (k *Checker) unmapped(fr *frame) bool {
	return k.callsOf("DxgkCbMapMemory") == 0 && slices.ContainsFunc(fr.args, func(a any) bool {
		m, ok := a.(kmddi.HMapping)
		return ok && m.System == nil
	})
}

// arguments shows the mapping and the numbers among the arguments of a callback.
func (k *Checker) arguments(fr *frame) string {
	var all []string
	for i, a := range fr.args {
		if m, ok := a.(kmddi.HMapping); ok {
			all = append(all, k.mappingOf(m))
		}
		if n, ok := numberOf(a); ok {
			all = append(all, fmt.Sprintf("%s %#x", fr.f.Params[i], n))
		}
	}
	if all == nil {
		return "a handle that is not valid"
	}
	return strings.Join(all, ", ")
}

// mappingOf describes a mapping.
func (k *Checker) mappingOf(m kmddi.HMapping) string {
	i := slices.IndexFunc(k.held, func(r resource) bool { return r.memory == 0 && same(r.mapping, m.System) })
	switch {
	case i >= 0:
		return k.held[i].text
	case m.System == nil:
		return "the zero HMapping, which DxgkCbMapMemory never returns"
	}
	return "a mapping that the driver does not hold: DxgkCbMapMemory did not return it, or DxgkCbUnmapMemory removed it"
}

// checkInterruptStatus checks that a completed fence has no status of a fault.
func (k *Checker) checkInterruptStatus(fr *frame, arg kmddi.NotifyInterrupt) {
	if arg.InterruptType == kmddi.InterruptDMACompleted && arg.Status != 0 {
		k.fail(fr, "interrupt-status", "node %d: Status is %#x for fence %d, which completed, want 0", arg.NodeOrdinal, arg.Status, arg.FenceID)
	}
}

// checkRefused checks that a function does not refuse a handle whose Driver the
// driver never set. It reports whether it does. A command may name objects that do
// not exist, so for DxgkDdiRender, DxgkDdiRenderKm and DxgkDdiPresent only a driver counts that has
// set Driver in another handle of the kind. For others the creation of the handle is the
// one to blame if the refusal reaches the user-mode driver.
func (k *Checker) checkRefused(fr *frame, s ddi.Status) bool {
	if s != ddi.StatusInvalidHandle {
		return false
	}
	command := writesBuffer(fr.f.Name)
	for _, o := range fr.objects {
		if o.driver != nil || o.root.Driver != nil {
			continue
		}
		if command && !k.sets[o.kind] {
			k.m.BlameRefusal(fr.t, createdBy(o))
			continue
		}
		k.failBy(fr, createdBy(o), "handle-refused", "returned %v: Driver of %v is nil, since %s did not set it", s, o, creators[o.kind])
		return true
	}
	return false
}
