package subset

import (
	"go/constant"
	"go/types"
	"math/bits"
	"slices"
)

// Enum returns the constants of an enumeration, a named uint8 type with two constants or
// more, in the order of the source. It returns nil for any other type.
func Enum(t types.Type) []*types.Const {
	n, ok := types.Unalias(t).(*types.Named)
	if !ok || n.Obj().Pkg() == nil {
		return nil
	}
	if b, ok := n.Underlying().(*types.Basic); !ok || b.Kind() != types.Uint8 {
		return nil
	}
	var out []*types.Const
	scope := n.Obj().Pkg().Scope()
	for _, name := range scope.Names() {
		if c, ok := scope.Lookup(name).(*types.Const); ok && types.Identical(c.Type(), n) {
			out = append(out, c)
		}
	}
	if len(out) < 2 {
		return nil
	}
	slices.SortFunc(out, func(a, b *types.Const) int { return int(a.Pos()) - int(b.Pos()) })
	return out
}

// EnumWidth returns the bits of the largest constant of an enumeration, at least 1. It
// returns 0 for any other type.
func EnumWidth(t types.Type) int {
	n := 0
	for _, c := range Enum(t) {
		v, _ := constant.Uint64Val(c.Val())
		n = max(n, bits.Len64(v), 1)
	}
	return n
}
