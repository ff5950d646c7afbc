package verifier

import (
	"fmt"
	"strings"

	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// hold makes fr run on the thread of c, unless another thread does.
func (k *Checker) hold(fr *frame, c *context) {
	if c.owner != nil && c.owner != fr.t {
		k.fail(fr, "context-overlap", "thread %d:%d is in %s on %v", c.owner.Process, c.owner.ID, c.since.f.Name, c)
		return
	}
	if c.depth == 0 {
		c.owner, c.since = fr.t, fr
	}
	c.depth++
	fr.holds = append(fr.holds, c)
}

// release ends hold.
func (k *Checker) release(fr *frame) {
	for _, c := range fr.holds {
		if c.depth--; c.depth == 0 {
			c.owner, c.since = nil, nil
		}
	}
	fr.holds = fr.holds[:0]
	if fr.ctx != nil && fr.ctx.device.serial == fr {
		fr.ctx.device.serial = nil
	}
}

// holding reports whether fr runs on the thread of c.
func (fr *frame) holding(c *context) bool {
	for _, h := range fr.holds {
		if h == c {
			return true
		}
	}
	return false
}

// domains acquires the contexts that the function of fr needs: its own for a
// function of a deferred context and for one of the immediate context that is
// not free-threaded, and the target for a function that creates or recycles a
// context or its list.
func (k *Checker) domains(fr *frame) {
	c := fr.ctx
	if dev := c.device; !dev.free && fr.spec.place != always {
		if s := dev.serial; s != nil && s.t != fr.t {
			k.fail(fr, "free-threaded", "thread %d:%d is in %s, and the driver is not free-threaded", s.t.Process, s.t.ID, s.f.Name)
		} else if s == nil {
			dev.serial = fr
		}
	}
	if c.deferred || fr.spec.place == onContext || fr.spec.place == free && primary(fr) {
		k.hold(fr, c)
	}
	if fr.target != nil {
		k.hold(fr, fr.target)
	}
}

// beginImplicit allows fr to change every object of c until endImplicit.
func (fr *frame) beginImplicit(c *context) {
	if fr.scope == nil {
		fr.scope = c
		c.implicit++
		c.inside++
	}
}

// endImplicit ends beginImplicit.
func (fr *frame) endImplicit() {
	if fr.scope != nil {
		fr.scope.implicit++
		fr.scope.inside--
		fr.scope = nil
	}
}

// primary reports whether fr creates or destroys a primary, which needs the
// thread of the immediate context.
func primary(fr *frame) bool {
	switch fr.f.Name {
	case "pfnCreateResource":
		arg, _ := fr.args[1].(*umddi.CreateResource)
		return arg != nil && arg.Primary
	case "pfnDestroyResource":
		return len(fr.objects) > 0 && fr.objects[0].primary
	}
	return false
}

// enterCallback checks the entry of a callback.
func (k *Checker) enterCallback(fr *frame) {
	name := fr.f.Name
	if callsKernel(name) {
		k.enterKernel(fr)
	}
	switch {
	case name == "pfnQueryAdapterInfoCb":
	case fr.outer == nil:
		// The Monitor reports it.
	case name == "pfnSetErrorCb":
		k.report(fr)
	case name == "pfnRenderCb":
		k.checkSubmit(fr)
	case name == "pfnPresentCb":
		if fr.outer.f.Name != "pfnPresent" {
			k.fail(fr, "submit-place", "in %s, want pfnPresent", fr.outer.f.Name)
		}
	case name == "pfnPerformAmortizedProcessingCb":
		k.checkPlace(fr)
	case strings.HasPrefix(name, "pfnState"):
		k.beginRefresh(fr)
	}
}

// checkSubmit checks that RenderCb is called where submission is allowed.
func (k *Checker) checkSubmit(fr *frame) {
	c := fr.outer.ctx
	if c == nil {
		return
	}
	dev := c.device
	if !fr.outer.holding(dev) && dev.serial != fr.outer || c.deferred {
		k.fail(fr, "submit-place", "in %s, want a function of the immediate context's thread", fr.outer.f.Name)
	}
	fr.outer.beginImplicit(dev)
}

// callsKernel reports whether a callback calls the graphics kernel.
func callsKernel(name string) bool {
	return name != "pfnSetErrorCb" && name != "pfnPerformAmortizedProcessingCb" && !strings.HasPrefix(name, "pfnState")
}

// leaveCallback checks the return of a callback.
func (k *Checker) leaveCallback(fr *frame, rets []any) {
	noteAnswer(fr, rets)
	if callsKernel(fr.f.Name) {
		k.leaveKernel(fr, rets)
	}
	switch {
	case fr.refresh != nil:
		k.endRefresh(fr)
	case fr.f.Name == "pfnPerformAmortizedProcessingCb" && fr.ctx != nil:
		fr.ctx.submitted = false
	case fr.f.Name == "pfnRenderCb" && fr.outer != nil && fr.outer.ctx != nil && succeeded(rets):
		fr.outer.ctx.device.submitted = true
	}
}

// plural returns n with its noun.
func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}
