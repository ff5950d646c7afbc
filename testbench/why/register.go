package why

import (
	"fmt"
	"strings"
	"sync"

	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
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

// register returns what the last read of a register of a node returned.
func (r *Run) register(node int, off uint64) (uint64, bool) {
	a, ok := r.reads[cpreg.Base+uint64(node)*cpreg.Stride+off]
	return a.value, ok && a.err == ""
}

// isWptr reports whether an offset is WPTR of a node.
func (r *Run) isWptr(offset uint64) bool { return strings.HasSuffix(register(offset), ".WPTR") }

// node describes what the last reads of the registers of a node say.
func (r *Run) node(n uint32) string {
	var parts []string
	for _, x := range []struct {
		off  uint64
		name string
	}{{cpreg.Status, "STATUS"}, {cpreg.Rptr, "RPTR"}, {cpreg.Wptr, "WPTR"}, {cpreg.Fence, "FENCE"}} {
		if v, ok := r.register(int(n), x.off); ok {
			parts = append(parts, fmt.Sprintf("%s %#x", x.name, v))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return fmt.Sprintf("; CP%d has %s", n, strings.Join(parts, ", "))
}

// An access is the last read of a register.
type access struct {
	Point
	value uint64
	err   string
}
