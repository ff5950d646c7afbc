package why

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/rtl/abi/reg"
	"github.com/hilgpu/hilgpu/rtl/abi/regmap"
)

// registers are the names of the registers of BAR0, by offset.
var registers = sync.OnceValue(func() map[uint64]string {
	names := map[uint64]string{}
	for _, e := range regmap.New().Entries() {
		names[uint64(e.Off())] = e.Name()
	}
	return names
})

// register returns the name of a register of BAR0.
func register(offset uint64) string {
	if name := registers()[offset]; name != "" {
		return name
	}
	return fmt.Sprintf("BAR0+%#x", offset)
}

// where returns the name of an offset of a BAR.
func where(bar, offset uint64) string {
	if bar == 0 {
		return register(offset)
	}
	return fmt.Sprintf("BAR%d+%#x", bar, offset)
}

// units names the state of a node in a value of STATUS, and the states of its units that are not idle.
func units(status uint32) string {
	regs := cpreg.Block(0).Regs
	i := slices.IndexFunc(regs, func(r reg.Reg) bool { return r.Off == cpreg.Status })
	var parts []string
	for _, f := range regs[i].Fields {
		switch v := f.Get(status); {
		case v == 0 && f.Mask != cpreg.StatusState:
		case int(v) < len(f.Enum):
			parts = append(parts, f.Name+"="+f.Enum[v])
		default:
			parts = append(parts, fmt.Sprintf("%s=%d", f.Name, v))
		}
	}
	return strings.Join(parts, " ")
}

// A still has what the last reads of the registers of the nodes returned before a reset of a node.
type still struct {
	Point
	nodes uint64            // that are reset: bit i for node i
	reads map[uint64]access // by offset in BAR0
}

// resetsOf returns the nodes that a write to BAR0 resets: bit i for node i.
func resetsOf(offset, value uint64) uint64 {
	const all = 1<<cpreg.Nodes - 1
	switch node := (offset - cpreg.Base) / cpreg.Stride; {
	case offset == idreg.Base+idreg.Reset && value&idreg.ResetWhole != 0:
		return all
	case isNode(offset) && (offset-cpreg.Base)%cpreg.Stride == cpreg.Ctl && value&cpreg.CtlReset != 0:
		return 1 << node
	}
	return 0
}

// isNode reports whether an offset in BAR0 is that of a register of a node.
func isNode(offset uint64) bool {
	return offset >= cpreg.Base && offset < cpreg.Base+cpreg.Nodes*cpreg.Stride
}

// still notes the registers of the nodes before a reset.
func (b *builder) still(at Point, nodes uint64) {
	reads := map[uint64]access{}
	for offset, a := range b.reads {
		if isNode(offset) {
			reads[offset] = a
		}
	}
	b.stills = append(b.stills, still{at, nodes, reads})
}

// readsOf returns the last reads of the registers while a submission was in the hardware: those before the first
// reset of its node after it was submitted, and true. If there is none, they are the last reads of the log.
func (r *Run) readsOf(s *submission) (reads map[uint64]access, stopped bool) {
	for _, x := range r.stills {
		if s.submitted.In() && x.Event > s.submitted.Event && x.nodes>>s.node&1 != 0 {
			return x.reads, true
		}
	}
	return r.reads, false
}

// register returns what the last read of a register of a node returned while a submission was in the hardware.
func (r *Run) register(s *submission, node uint32, off uint64) (uint64, bool) {
	a, ok := r.lastRead(s, node, off)
	return a.value, ok
}

// lastRead returns that read. It reports false if there is none, or if it failed.
func (r *Run) lastRead(s *submission, node uint32, off uint64) (access, bool) {
	reads, _ := r.readsOf(s)
	a, ok := reads[cpreg.Base+uint64(node)*cpreg.Stride+off]
	return a, ok && a.err == ""
}

// since is register for the node of a submission, and a read after it was submitted.
func (r *Run) since(s *submission, off uint64) (uint64, bool) {
	a, ok := r.lastRead(s, s.node, off)
	return a.value, ok && s.submitted.In() && a.Event > s.submitted.Event
}

// isWptr reports whether an offset is WPTR of a node.
func (r *Run) isWptr(offset uint64) bool { return strings.HasSuffix(register(offset), ".WPTR") }

// node describes what the last reads of the registers of its node say while a submission was in the hardware.
func (r *Run) node(s *submission) string {
	var parts []string
	for _, x := range []struct {
		off  uint64
		name string
	}{{cpreg.Status, "STATUS"}, {cpreg.Rptr, "RPTR"}, {cpreg.Wptr, "WPTR"}, {cpreg.Fence, "FENCE"}} {
		if v, ok := r.register(s, s.node, x.off); ok {
			parts = append(parts, fmt.Sprintf("%s %#x", x.name, v))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return fmt.Sprintf("; CP%d has %s", s.node, strings.Join(parts, ", "))
}

// An access is the last read of a register.
type access struct {
	Point
	value uint64
	err   string
}
