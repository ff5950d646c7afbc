package conform

import (
	"reflect"
	"slices"

	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// entries returns the WDK names of the functions in the tables of drivers, in order.
func entries() []string {
	names := []string{"OpenAdapter10_2"}
	for _, table := range []struct {
		prefix string
		of     reflect.Type
	}{
		{"DxgkDdi", reflect.TypeFor[kmddi.DriverInitializationData]()}, {"pfn", reflect.TypeFor[umddi.AdapterFuncs]()},
		{"pfn", reflect.TypeFor[umddi.DeviceFuncs]()}, {"pfn", reflect.TypeFor[umddi.DXGIBaseFuncs]()},
	} {
		for i := range table.of.NumField() {
			if f := table.of.Field(i); f.Type.Kind() == reflect.Func {
				names = append(names, table.prefix+f.Name)
			}
		}
	}
	slices.Sort(names)
	return names
}

// uncalled returns the functions in the tables of drivers without a call.
func uncalled(calls map[string]uint64) []string {
	return slices.DeleteFunc(entries(), func(name string) bool { return calls[name] > 0 })
}
