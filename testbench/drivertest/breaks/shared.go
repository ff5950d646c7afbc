package breaks

import (
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
	"github.com/hilgpu/hilgpu/testbench"
)

// sharing is a driver in which the memory of the map that a command list has recorded becomes that of
// the resource: the next map of the resource writes it, and another execution of the list finds that.
func sharing(base testbench.Drivers) testbench.Drivers {
	var listed, mapped []byte
	record := deferred(func(_ *umddi.CreateDevice, c *umddi.CreateDeferredContext) {
		f := c.ContextFuncs.DynamicIABufferMapDiscard
		c.ContextFuncs.DynamicIABufferMapDiscard = func(t *ddi.Thread, h umddi.HDevice, res umddi.HResource, sub uint32, typ umddi.Map, flags umddi.MapFlags) umddi.Mapped {
			m := f(t, h, res, sub, typ, flags)
			listed = m.Data
			return m
		}
	})
	write := functions(func(f *umddi.DeviceFuncs) {
		discard, unmap := f.DynamicIABufferMapDiscard, f.DynamicIABufferUnmap
		f.DynamicIABufferMapDiscard = func(t *ddi.Thread, h umddi.HDevice, res umddi.HResource, sub uint32, typ umddi.Map, flags umddi.MapFlags) umddi.Mapped {
			m := discard(t, h, res, sub, typ, flags)
			mapped = m.Data
			return m
		}
		f.DynamicIABufferUnmap = func(t *ddi.Thread, h umddi.HDevice, res umddi.HResource, sub uint32) {
			copy(listed, mapped)
			unmap(t, h, res, sub)
		}
	})
	return write(record(base))
}

// sharedBreaks are command lists that are executed more than once.
func sharedBreaks() []Break {
	return []Break{{
		Name: "memory of a list shared", Pitfall: 18, Own: true, Work: Lists, Rule: "content", Function: "pfnStagingResourceMap",
		Doc: "A list that maps with DISCARD is executed twice, and both executions use the memory that the resource has after the first one.", Drivers: sharing,
	}}
}
