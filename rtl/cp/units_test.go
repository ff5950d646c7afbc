package cp

import (
	"math/bits"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/reg"
)

// TestUnitSize limits the size of each unit so that a reader can understand it.
func TestUnitSize(t *testing.T) {
	const maxFields, maxStates = 30, 12
	var visit func(u reflect.Type)
	visit = func(u reflect.Type) {
		assert.LessOrEqual(t, u.NumField(), maxFields, u.Name())
		for i := range u.NumField() {
			if f := u.Field(i).Type; f.Kind() == reflect.Struct && f.PkgPath() == u.PkgPath() {
				visit(f)
			}
		}
	}
	visit(reflect.TypeFor[Module]())
	for unit, names := range stateNames() {
		assert.LessOrEqual(t, len(names), maxStates, unit)
	}
}

// TestStatusStateNames compares the names in the register STATUS with those of the states.
func TestStatusStateNames(t *testing.T) {
	status := cpreg.Block(0).Regs[slices.IndexFunc(cpreg.Block(0).Regs, func(r reg.Reg) bool { return r.Off == cpreg.Status })]
	seen := 0
	for _, f := range status.Fields {
		if names, ok := stateNames()[f.Name]; ok {
			assert.Equal(t, names, f.Enum, f.Name)
			assert.GreaterOrEqual(t, f.Mask>>bits.TrailingZeros32(f.Mask)+1, uint32(len(names)), f.Name)
			seen++
		}
	}
	assert.Equal(t, len(stateNames()), seen)
}

// stateNames returns the names of each unit's states in upper case, by the field of STATUS.
func stateNames() map[string][]string {
	names := map[string][]string{
		"STATE": decodeStateNames(), "RING": ringStateNames(), "WALK": walkStateNames(), "ISSUE": issueStateNames(), "SYNC": syncStateNames(),
	}
	for unit := range names {
		for i, n := range names[unit] {
			names[unit][i] = strings.ToUpper(n)
		}
	}
	return names
}
