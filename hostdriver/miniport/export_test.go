package miniport

import "github.com/hilgpu/hilgpu/runtime/ddi/kmddi"

// SchedulingCaps returns what the scheduler may ask of the nodes of an adapter.
func SchedulingCaps(h kmddi.HAdapter) kmddi.DriverCaps {
	a, _ := adapterOf(h)
	return a.schedulingCaps(kmddi.DriverCaps{})
}
