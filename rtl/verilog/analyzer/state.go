package analyzer

import (
	"fmt"
	"go/token"
	"go/types"

	"github.com/hilgpu/hilgpu/rtl/verilog/subset"
)

// stateOf checks the ports and the registers of m, and records its instances.
func (c *checker) stateOf(m *module) []finding {
	return append(c.ports(m), c.structOf(m, m.state, token.NoPos)...)
}

// ports checks the signature of Tick.
func (c *checker) ports(m *module) []finding {
	sig, decl := m.tick.Signature(), c.decls[m.tick]
	var out []finding
	if sig.Results().Len() > 0 {
		out = append(out, finding{decl.Pos(), subset.CodePort, message("Tick has results", "return outputs from methods without parameters")})
	}
	for _, p := range decl.Type.Params.List {
		if subset.IsInt(c.info.TypeOf(p.Type)) || len(p.Names) == 0 {
			out = append(out, finding{p.Pos(), subset.CodePort,
				message("a parameter of Tick without a name or of type int", "name it and use bool, uint8 to uint64 or a struct of them")})
		}
	}
	return out
}

// structOf checks the fields of a struct in the state of m. Findings in another
// package's struct are reported at the position at.
func (c *checker) structOf(m *module, s *types.Struct, at token.Pos) []finding {
	var out []finding
	for i := range s.NumFields() {
		f := s.Field(i)
		pos := at
		if f.Pkg() == c.pass.Pkg {
			pos = f.Pos()
		}
		if _, full, ok := subset.TagWidth(s, i); !ok {
			out = append(out, finding{pos, subset.CodeTag, message(fmt.Sprintf("the width of a field of %d bits is not in its tag %q", full, s.Tag(i)),
				"give a number from 1 to the width of the field's type")})
		}
		t := types.Unalias(f.Type())
		switch {
		case subset.IsPrimitive(t) || subset.IsInstance(t, c.pass.Pkg):
			m.instances = append(m.instances, f)
		case isStruct(t):
			out = append(out, c.structOf(m, t.Underlying().(*types.Struct), pos)...)
		default:
			out = append(out, c.register(s, i, pos)...)
		}
	}
	return out
}

func isStruct(t types.Type) bool {
	_, ok := t.Underlying().(*types.Struct)
	return ok
}

// register checks the type of field i, a scalar or an array.
func (c *checker) register(s *types.Struct, i int, pos token.Pos) []finding {
	t := s.Field(i).Type()
	if bad := subset.Missing(t); bad != nil {
		return []finding{{pos, subset.CodeType, message(fmt.Sprintf("hardware has no %s", types.TypeString(bad, short)),
			"use bool, uint8 to uint64, structs and small arrays of them")}}
	}
	a, ok := t.Underlying().(*types.Array)
	if !ok {
		return nil
	}
	bits := subset.Size(t)
	if n, _, _ := subset.TagWidth(s, i); n > 0 {
		bits = n * int(a.Len())
	}
	if bits <= subset.MaxArray {
		return nil
	}
	return []finding{{pos, subset.CodeArray, message(fmt.Sprintf("an array of %d bits, want at most %d", bits, subset.MaxArray), "use hdl.RAM")}}
}
