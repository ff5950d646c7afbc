package cp

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
)

// TestOrderOfCauses gives packets several mistakes. The first in the order of
// docs/packets.md is the cause. Each row corrects the cause of the row before it.
func TestOrderOfCauses(t *testing.T) {
	const far = 0x7fffffff
	for _, tt := range []struct {
		name   string
		before []uint32
		dwords []uint32 // of an indirect buffer with CTL.PROTECT and no window
		cause  string
		bad    uint64
	}{
		{"header: opcode", nil, []uint32{0xff010001}, "OPCODE", 0xff010001},
		{"header: reserved", nil, []uint32{0x10010001}, "RESERVED", 0x10010001},
		{"header: length", nil, []uint32{0x10000001}, "LENGTH", 0x10000001},
		{"header: privilege", nil, []uint32{0x10000004, 1, far, 0, 2}, "PRIVILEGE", 0x10000004},

		{"PREDICATE: reserved", nil, []uint32{0x0a000003, 4, far, 1<<17 | 9}, "RESERVED", 1<<17 | 9},
		{"PREDICATE: alignment", nil, []uint32{0x0a000003, 4, far, 9}, "ALIGN", far<<32 | 4},
		{"PREDICATE: length", nil, []uint32{0x0a000003, 0, far, 9}, "LENGTH", 9},
		{"PREDICATE: address", nil, []uint32{0x0a000003, 0, far, 0}, "ADDRESS", far << 32},
		{"PREDICATE: window", nil, []uint32{0x0a000003, 0, 0, 0}, "WINDOW", 0},

		{"WRITE_REG: reserved", nil, []uint32{0x08000002, 0x10001, 0}, "RESERVED", 0x10001},
		{"WRITE_REG: alignment", nil, []uint32{0x08000002, 1, 0}, "ALIGN", 1},
		{"WRITE_REG: register", nil, []uint32{0x08000002, 0, 0}, "REGISTER", 0},

		{"SET_STATE: reserved", nil, []uint32{0x03000007, 0, 0, far, 0, 13, far, far}, "RESERVED", 13},
		{"SET_STATE: format", nil, []uint32{0x03000007, 0, 0, far, 0, 5, far, far}, "STATE", 5},
		{"SET_STATE: corner", nil, []uint32{0x03000007, 0, 0, far, 0, 0, far, far}, "STATE", far},

		{"COPY: length", nil, []uint32{0x04000005, 0, far, 0, far, 0x10000}, "LENGTH", 0x10000},
		{"COPY: source", nil, []uint32{0x04000005, 0, far, 1, far, 8}, "ADDRESS", far << 32},
		{"COPY: window of the source", nil, []uint32{0x04000005, 0, 0, 1, far, 8}, "WINDOW", 0},

		{"COPY_2D: coordinates", nil, []uint32{0x05000003, 0, far, 0x10001}, "STATE", far},
		{"COPY_2D: no source", nil, []uint32{0x05000003, 0, 0, 0x10001}, "STATE", 0},
		{"COPY_2D: no destination", source8, []uint32{0x05000003, 0, 0, 0x10001}, "STATE", 1},
		{"COPY_2D: formats", append(source8[:8:8], 0x03000007, 1, 0, far, 16, 1, 0, 0x40004000),
			[]uint32{0x05000003, 0, 0, 0x10001}, "STATE", 1},
		{"COPY_2D: window of the source", append(source8[:8:8], 0x03000007, 1, 0, far, 16, 0, 0, 0x40004000),
			[]uint32{0x05000003, 0, 0, 0x10001}, "WINDOW", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := faultBench(t)
			b.write(cpreg.Ctl, cpreg.CtlRun|cpreg.CtlProtect)
			all := append(tt.before[:len(tt.before):len(tt.before)], tt.dwords...)
			b.put(0x8000, all...)
			b.run(0x02000003, 0x8000, 0, uint32(len(all)))
			assert.Equal(t, faultText(tt.cause, 0x8000+4*uint64(len(tt.before)), tt.dwords[0], tt.bad), b.fault())
			assert.Empty(t, b.descs, "nothing was moved")
		})
	}
}
