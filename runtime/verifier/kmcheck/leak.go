package kmcheck

import (
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

// A resource is memory or a mapping that the driver holds.
type resource struct {
	memory  uint64 // physical address of memory; 0: a mapping
	size    uint64 // of memory
	mapping any    // HMapping.System
	text    string // what it is
	site    string // where the driver got it
	call    uint64 // that gave it, in the order of all calls
}

// leaveResource notes memory and mappings that a callback gave or took.
func (k *Checker) leaveResource(fr *frame, results []any) {
	s, ok := statusOf(results)
	if ok && s.Failed() {
		return
	}
	switch fr.f.Name {
	case "MmAllocateContiguousMemory":
		m := results[0].(kmddi.ContiguousMemory)
		k.hold(fr, resource{memory: m.PhysicalAddress, size: uint64(len(m.Bytes)), text: fmt.Sprintf("%d bytes at %#x", len(m.Bytes), m.PhysicalAddress)})
	case "DxgkCbMapMemory":
		m := results[0].(kmddi.HMapping)
		k.evidence.mapped = true
		k.hold(fr, resource{mapping: m.System, text: fmt.Sprintf("the mapping of %#x bytes at %#x of BAR %d", fr.args[3], fr.args[2], fr.args[1])})
	case "MmFreeContiguousMemory":
		at := fr.args[1].(kmddi.ContiguousMemory).PhysicalAddress
		k.held = slices.DeleteFunc(k.held, func(r resource) bool { return r.memory != 0 && r.memory == at })
	case "DxgkCbUnmapMemory":
		m := fr.args[1].(kmddi.HMapping).System
		k.held = slices.DeleteFunc(k.held, func(r resource) bool { return r.memory == 0 && same(r.mapping, m) })
	}
}

// hold notes a resource that a callback gave.
func (k *Checker) hold(fr *frame, r resource) {
	r.site, r.call = fr.place()+" at "+callSite(), fr.call
	k.held = append(k.held, r)
}

// checkLeaks checks that the driver holds nothing when its device is removed.
func (k *Checker) checkLeaks(fr *frame) {
	for _, of := range []struct {
		rule, from, undo string
		is               func(resource) bool
	}{
		{"memory-leak", "MmAllocateContiguousMemory", "MmFreeContiguousMemory", func(r resource) bool { return r.memory != 0 }},
		{"mapping-leak", "DxgkCbMapMemory", "DxgkCbUnmapMemory", func(r resource) bool { return r.memory == 0 }},
	} {
		var left []resource
		for _, r := range k.held {
			if of.is(r) {
				left = append(left, r)
			}
		}
		if len(left) > 0 {
			more := ""
			if n := len(left) - 1; n > 0 {
				more = fmt.Sprintf(" and %d more", n)
			}
			culprit := k.heldBy(left[0], of.from, of.undo)
			k.refusal = nil // one mistake
			k.failBy(fr, culprit, of.rule, "the miniport still holds %s of %s, from %s%s, want %s before the end of %s",
				left[0].text, of.from, left[0].site, more, of.undo, k.stopper())
		}
	}
	k.held = nil
}

// stopper names the function that gives back what the driver holds.
func (k *Checker) stopper() string {
	if k.ran {
		return stopDevice
	}
	return startDevice + ", which failed"
}

// Prefixes of the functions between a driver and this package.
var ownFunctions = []string{
	"github.com/hilgpu/hilgpu/runtime/verifier.", "github.com/hilgpu/hilgpu/runtime/verifier/kmcheck.(*Checker)", "runtime.",
	"github.com/hilgpu/hilgpu/runtime/verifier/kmcheck.callSite",
}

// callSite returns the function and the line of the driver that makes the current
// callback.
func callSite() string {
	var pcs [32]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs[:])])
	for {
		f, more := frames.Next()
		own := slices.ContainsFunc(ownFunctions, func(p string) bool { return strings.HasPrefix(f.Function, p) })
		if !own {
			return fmt.Sprintf("%s (%s:%d)", f.Function[strings.LastIndexByte(f.Function, '/')+1:], filepath.Base(f.File), f.Line)
		}
		if !more {
			return "an unknown place"
		}
	}
}
