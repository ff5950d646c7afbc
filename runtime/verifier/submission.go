package verifier

import (
	"bytes"

	"github.com/hilgpu/hilgpu/runtime/ddi"
)

// headBytes is the part of a command buffer that is compared to find commands that
// were not submitted. Recording starts at the beginning of the buffer.
const headBytes = 64

// head returns the beginning of the command buffer.
func (r *recordings) head() []byte { return r.now.command[:min(len(r.now.command), headBytes)] }

// noteRendered notes at the return of a function in which buffers were submitted
// or created what the driver left in the next command buffer.
func (s *kernelState) noteRendered() {
	for _, r := range s.contexts {
		if r.fresh {
			r.fresh, r.start = false, append(r.start[:0], r.head()...)
		}
	}
}

// isWork reports whether a function of the immediate context gives the GPU work.
func isWork(name string) bool {
	switch name {
	case "pfnResourceUpdateSubresourceUP", "pfnResourceCopy", "pfnResourceCopyRegion", "pfnClearRenderTargetView", "pfnQueryEnd", "pfnCommandListExecute":
		return true
	}
	return false
}

// checkSubmitted checks that the driver has submitted the work that it recorded.
func (k *Checker) checkSubmitted(fr *frame, in *frame) {
	c := in.ctx
	if c == nil || c.kernel == nil || c.kernel.failed || len(in.errors) > 0 || c.work == nil {
		return
	}
	for h, r := range c.kernel.contexts {
		if r.fresh || bytes.Equal(r.start, r.head()) {
			continue
		}
		what := "returns"
		if fr != in {
			what = "is called in " + in.f.Name
		}
		k.failBy(fr, Missing("pfnRenderCb", in.f.Name), "submit-work", "%s, and the command buffer of context %#x has commands that no pfnRenderCb submitted; the last work is that of %s", what, h, c.work.Name)
		c.work = nil
		return
	}
}

// checkPresents checks that a Present that succeeded called PresentCb once.
func (k *Checker) checkPresents(fr *frame, hr ddi.HRESULT) {
	if !hr.Failed() && fr.presents != 1 {
		culprit := Missing("pfnPresentCb", fr.f.Name)
		if fr.presents > 0 {
			culprit = &Culprit{Function: "pfnPresentCb", Call: fr.presentCall, Why: "was made before"}
		}
		k.failBy(fr, culprit, "present-callback", "returns %v after %s of pfnPresentCb, want 1", hr, plural(fr.presents, "call"))
	}
}
