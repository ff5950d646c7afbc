package verifier

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// self returns the culprit for a callback, and for its argument if that is not "".
func (fr *frame) self(argument, format string, args ...any) *Culprit {
	return &Culprit{Function: fr.f.Name, Call: fr.call, Argument: argument, Why: fmt.Sprintf(format, args...)}
}

// A use is a call that got an object.
type use struct {
	f     *Func
	call  uint64 // its number in the order of all calls
	wrote bool   // it changed the private memory
}

// note notes that a function got o.
func (o *object) note(u use) {
	if o.last[1].f == nil || o.last[1].f.Name != u.f.Name {
		o.last[0] = o.last[1]
	}
	o.last[1] = u
}

// An answer is a size that a Calc function returned.
type answer struct {
	size int
	call uint64
}

// calcOf names the function that returned the size of the private memory of o.
func (o *object) calcOf() string {
	if o.of != nil {
		return "pfnCalcDeferredContextHandleSize"
	}
	return "pfnCalcPrivate" + createNames[o.kind] + "Size"
}

// sizedBy returns the culprit for private memory of a wrong size.
func (o *object) sizedBy() *Culprit {
	return &Culprit{Function: o.calcOf(), Call: o.calc, Argument: "result", Why: fmt.Sprintf("is %d for %v", len(o.h.Private), o)}
}

// inputs returns the objects that the function of fr gets, and what they stand for:
// the objects of local handles, and the resources that a list maps.
func (fr *frame) inputs() (all []*object) {
	seen := map[*object]bool{}
	add := func(o *object) {
		if o != nil && !seen[o] {
			seen[o], all = true, append(all, o)
		}
	}
	add(fr.created)
	for _, o := range fr.objects {
		add(o)
		add(o.of)
	}
	if fr.f.Name == "pfnCommandListExecute" && len(fr.objects) > 0 {
		for _, s := range sorted(fr.objects[0].source().maps) {
			add(s.res)
		}
	}
	return all
}

// failedBy returns the culprit for a function that fails although no callback has:
// the call that made one of its inputs what it is. It is the creation of an object
// that wrote no private memory, the answer that gave a new object memory of a size
// with which none was created before, or the last call that made an input ready. A
// call that left the private memory as it was comes before one that wrote it.
func (k *Checker) failedBy(fr *frame) *Culprit {
	if fr.busy != nil {
		return fr.busy
	}
	all := fr.inputs()
	for _, o := range all {
		if o.blank && (o != fr.created || !isCreate(fr.f.Name)) {
			return &Culprit{Function: "pfnCreate" + createNames[o.kind], Call: o.made, Why: fmt.Sprintf("left the %s of private memory of %v as they were",
				plural(len(o.h.Private), "byte"), o)}
		}
	}
	if o := fr.created; o != nil && isCreate(fr.f.Name) && !k.worked[sized{o.kind, o.of != nil, len(o.h.Private)}] {
		return o.sizedBy()
	}
	var best use
	var of any
	consider := func(u use, what any) {
		if u.f != nil && (best.f == nil || best.wrote && !u.wrote || best.wrote == u.wrote && u.call > best.call) {
			best, of = u, what
		}
	}
	for _, c := range []*context{fr.ctx, fr.target} {
		if c != nil && c.deferred {
			consider(c.last, c)
		}
	}
	for _, o := range all {
		consider(o.last[1], o)
	}
	if best.f == nil {
		return nil
	}
	return &Culprit{Function: best.f.Name, Call: best.call, Why: fmt.Sprintf("was the last to make %v ready", of)}
}

// sized is a size of the private memory of a kind of object.
type sized struct {
	kind  umddi.HandleType
	local bool
	bytes int
}

// refusedBy returns the culprit for a callback that the kernel refused: the call that
// should have given the driver the handle that it passed, or the function of the
// miniport that refused handles and sizes that the kernel had accepted.
func (k *Checker) refusedBy(fr *frame, s *kernelState) *Culprit {
	if c := s.handleBy(fr); c != nil {
		return c
	}
	r, ok := k.m.lastRefusal(fr.t)
	switch {
	case !ok:
		return nil
	case r.culprit != nil:
		return r.culprit
	case r.function != "":
		return &Culprit{Function: r.function, Call: r.call, Why: fmt.Sprintf("refused with %v what the kernel and the checker accept", r.status)}
	case r.status == ddi.StatusCantLockMemory:
		return &Culprit{Function: "DxgkDdiCreateAllocation", Argument: "result CPUVisible", Why: "is FALSE"}
	}
	return nil
}

// busyBy returns the culprit for a function that found a resource in use.
func (fr *frame) busyBy() *Culprit {
	c := fr.self("", "returned %v", ddi.DDIStillDrawing)
	if l, ok := fr.args[1].(*umddi.Lock); ok && l.DoNotWait {
		c.Argument, c.Why = "argument DoNotWait", "is TRUE"
	}
	return c
}

// isBlank reports whether a Create function left private memory as it was before.
func isBlank(before, now []byte) bool { return len(now) > 0 && bytes.Equal(before, now) }

// unlocks reports whether fr is an unmap function of the immediate context.
func unlocks(fr *frame) bool {
	return strings.HasSuffix(fr.f.Name, "Unmap") && fr.ctx != nil && !fr.ctx.deferred
}
