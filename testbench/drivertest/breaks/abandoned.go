package breaks

import (
	"bytes"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
	"github.com/hilgpu/hilgpu/testbench"
)

// keeping is a driver that runs out of memory at the first update that a deferred context records. Its
// pfnAbandonCommandList keeps the update, so the next list that copies from a resource has it.
func keeping(base testbench.Drivers) testbench.Drivers {
	var kept []byte
	failed := false
	return deferred(func(_ *umddi.CreateDevice, c *umddi.CreateDeferredContext) {
		f := c.ContextFuncs
		update, copies := f.ResourceUpdateSubresourceUP, f.ResourceCopy
		f.ResourceUpdateSubresourceUP = func(t *ddi.Thread, h umddi.HDevice, dst umddi.HResource, sub uint32, box *umddi.Box, data []byte, rowPitch, depthPitch uint32) {
			if failed {
				update(t, h, dst, sub, box, data, rowPitch, depthPitch)
				return
			}
			failed, kept = true, bytes.Clone(data)
			c.UMCallbacks.SetErrorCb(t, c.RTCoreLayer, ddi.EOutOfMemory)
		}
		f.ResourceCopy = func(t *ddi.Thread, h umddi.HDevice, dst, src umddi.HResource) {
			if kept != nil {
				update(t, h, src, 0, nil, kept, 0, 0)
				kept = nil
			}
			copies(t, h, dst, src)
		}
	})(base)
}

// abandonedBreaks are lists that are not finished because recording them failed.
func abandonedBreaks() []Break {
	return []Break{{
		Name: "abandoned command kept", Pitfall: 17, Own: true, Work: Abandoned, Rule: "content", Function: "pfnStagingResourceMap",
		Doc: "The driver runs out of memory while it records, and the next list has a command of the list that was abandoned.", Drivers: keeping,
	}}
}
