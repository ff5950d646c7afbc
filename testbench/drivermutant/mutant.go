// Package drivermutant plants mistakes into the drivers of this GPU, to measure
// which of them the checks of the test bench notice. A mistake is planted at the
// edge of a driver: a callback that it does not make, makes twice or makes late, a
// wrong value that it passes, returns or reads. The system cannot tell it from the
// same mistake in the driver's code.
//
// [All] lists the mutants, and [Mutant.Run] runs the suite on one.
package drivermutant

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// An edge is a function table between the system and a driver.
type edge struct {
	table    reflect.Type
	prefix   string // of the WDK names
	callback bool   // the driver calls it
}

// The edges, in the order of All.
var edges = []edge{
	{reflect.TypeFor[kmddi.DriverInitializationData](), "DxgkDdi", false},
	{reflect.TypeFor[kmddi.DxgkrnlInterface](), "DxgkCb", true},
	{reflect.TypeFor[umddi.DeviceFuncs](), "pfn", false},
	{reflect.TypeFor[umddi.DXGIBaseFuncs](), "pfn", false},
	{reflect.TypeFor[umddi.DeviceCallbacks](), "pfn", true},
	{reflect.TypeFor[umddi.CoreLayerCallbacks](), "pfn", true},
	{reflect.TypeFor[umddi.DXGIBaseCallbacks](), "pfn", true},
}

// An operator is a kind of mistake.
type operator string

// The operators.
const (
	dropped operator = "is not called"
	twice   operator = "is called twice"
	late    operator = "is called after the next callback"
	more    operator = "is 1 more"
	less    operator = "is 1 less"
	zero    operator = "is 0"
	flipped operator = "is inverted"
	shorter operator = "lacks its last element"
	stale   operator = "is that of an earlier call"
	fails   operator = "is a failure"
	passes  operator = "is success"
)

// A Mutant is one mistake.
type Mutant struct {
	ID       int    // its place in All
	Function string // WDK name of the function or callback that has the mistake

	edge  edge
	field string // of the table
	at    place
	op    operator
}

// A place is a value in the arguments or the results of a function.
type place struct {
	result bool
	index  int      // of the argument or the result
	path   []string // fields; "[0]" is the first element of a slice
}

// String describes the place, as in "arg0.CommandLength".
func (p place) String() string {
	kind := "argument"
	if p.result {
		kind = "result"
	}
	return strings.Join(append([]string{fmt.Sprintf("%s %d", kind, p.index)}, p.path...), ".")
}

// String describes the mistake in a line.
func (m *Mutant) String() string {
	if m.op == dropped || m.op == twice || m.op == late {
		return fmt.Sprintf("%s %s", m.Function, m.op)
	}
	return fmt.Sprintf("%s: %v %s", m.Function, m.at, m.op)
}

// All returns the mutants, always in the same order. It leaves out changes that are
// no mistakes.
func All() []*Mutant {
	var out []*Mutant
	for _, e := range edges {
		for i := range e.table.NumField() {
			f := e.table.Field(i)
			if f.Type.Kind() != reflect.Func {
				continue
			}
			out = append(out, mutantsOf(e, f)...)
		}
	}
	out = withoutHarmless(out)
	for i, m := range out {
		m.ID = i
	}
	return out
}

// mutantsOf returns the mutants of a function.
func mutantsOf(e edge, f reflect.StructField) []*Mutant {
	var out []*Mutant
	add := func(at place, ops ...operator) {
		for _, op := range ops {
			out = append(out, &Mutant{Function: wdkName(e.prefix, f.Name), edge: e, field: f.Name, at: at, op: op})
		}
	}
	add(place{}, dropped)
	if e.callback {
		add(place{}, twice)
		if f.Type.NumOut() == 0 || reads(f.Type) {
			add(place{}, late)
		}
	}
	// The arguments of a user-mode function decide the picture, which is no contract.
	if e.callback || e.prefix != "pfn" {
		for i := 1; i < f.Type.NumIn(); i++ {
			leaves(f.Type.In(i), place{index: i}, add)
		}
	}
	for i := range f.Type.NumOut() {
		if !e.callback {
			leaves(f.Type.Out(i), place{result: true, index: i}, add)
		}
	}
	return out
}

// reads reports whether the only result of a function is a bool or a status, so
// that a caller can go on without it.
func reads(f reflect.Type) bool {
	return f.NumOut() == 1 && (f.Out(0).Kind() == reflect.Bool || f.Out(0).Kind() == reflect.Uint32)
}

// wdkNames are the WDK names of fields that are not prefix plus name.
var wdkNames = map[string]string{
	"ReadRegister": "READ_REGISTER_ULONG", "WriteRegister": "WRITE_REGISTER_ULONG",
	"AllocateContiguousMemory": "MmAllocateContiguousMemory", "FreeContiguousMemory": "MmFreeContiguousMemory",
}

func wdkName(prefix, field string) string {
	if n, ok := wdkNames[field]; ok {
		return n
	}
	return prefix + field
}
