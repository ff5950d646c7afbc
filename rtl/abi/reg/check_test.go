package reg_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hilgpu/hilgpu/rtl/abi/reg"
)

// good is a block without a mistake, at all limits.
func good() reg.Block {
	return reg.Block{Name: "A1", Base: 0x100, Size: 0x10, Regs: []reg.Reg{
		{Off: 0x0, Name: "CTL", Reset: 0x13, Fields: []reg.Field{
			{Mask: 0x3, Name: "MODE", Enum: []string{"A", "B", "C", "D"}},
			{Mask: 0x10, Name: "RUN_1"},
			{Mask: 0xffff0000, Name: "HIGH"},
		}},
		{Off: 0xc, Name: "ALL", Reset: 0xffffffff, Fields: []reg.Field{{Mask: 0xffffffff, Name: "ALL"}}},
		{Off: 0x8, Name: "PLAIN", Reset: 0x80000000},
	}}
}

func TestCheck(t *testing.T) {
	for _, tt := range []struct {
		name string
		edit func(b *reg.Block)
		want string
	}{
		{"lower-case block", func(b *reg.Block) { b.Name = "a" }, `reg: bad table: name "a" of a block, want A to Z, 0 to 9 and _`},
		{"register with a dot", func(b *reg.Block) { b.Regs[2].Name = "A.B" }, `reg: bad table: name "A.B" of a register of A1, want A to Z, 0 to 9 and _`},
		{"field without a name", func(b *reg.Block) { b.Regs[0].Fields[0].Name = "" }, `reg: bad table: name "" of a field of A1.CTL, want A to Z, 0 to 9 and _`},
		{"base off by two", func(b *reg.Block) { b.Base = 0x102 }, "reg: bad table: A1 at 0x102 with size 0x10, want multiples of 4"},
		{"size off by two", func(b *reg.Block) { b.Size = 0x12 }, "reg: bad table: A1 at 0x100 with size 0x12, want multiples of 4"},
		{"end above 2^32", func(b *reg.Block) { b.Base = 0xfffffff4 }, "reg: bad table: A1 at 0xfffffff4 with size 0x10 ends above 2^32"},
		{"two registers with one name", func(b *reg.Block) { b.Regs[2].Name = "CTL" }, "reg: bad table: A1.CTL is declared twice"},
		{"two registers at one offset", func(b *reg.Block) { b.Regs[2].Off = 0xc }, "reg: bad table: A1.ALL and A1.PLAIN overlap at 0xc"},
		{"offset off by one", func(b *reg.Block) { b.Regs[2].Off = 5 }, "reg: bad table: A1.PLAIN at 0x5, want a multiple of 4"},
		{"offset at the size", func(b *reg.Block) { b.Regs[2].Off = 0x10 }, "reg: bad table: A1.PLAIN at 0x10, want below the size 0x10"},
		{"two fields with one name", func(b *reg.Block) { b.Regs[0].Fields[2].Name = "MODE" }, "reg: bad table: A1.CTL.MODE is declared twice"},
		{"two fields in a bit", func(b *reg.Block) { b.Regs[0].Fields[2].Mask = 0x30 }, "reg: bad table: A1.CTL.RUN_1 and A1.CTL.HIGH overlap in 0x10"},
		{"mask with a hole", func(b *reg.Block) { b.Regs[0].Fields[2].Mask = 0x50000 }, "reg: bad table: A1.CTL.HIGH has mask 0x50000, want a run of ones"},
		{"empty mask", func(b *reg.Block) { b.Regs[0].Fields[2].Mask = 0 }, "reg: bad table: A1.CTL.HIGH has mask 0x0, want a run of ones"},
		{"enum of five in two bits", func(b *reg.Block) { b.Regs[0].Fields[0].Enum = []string{"A", "B", "C", "D", "E"} }, "reg: bad table: A1.CTL.MODE names 5 values, but 2 bits have 4"},
		{"reset outside the fields", func(b *reg.Block) { b.Regs[0].Reset = 0x24 }, "reg: bad table: A1.CTL resets to 0x24, of which 0x24 is in no field"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := good()
			tt.edit(&b)
			err := reg.Check(b)
			assert.ErrorIs(t, err, reg.ErrTable)
			assert.EqualError(t, err, tt.want)
		})
	}
}

func TestCheckAcceptsTheLimits(t *testing.T) {
	a, below, above := good(), good(), good()
	below.Name, below.Base = "BELOW", 0xf0
	above.Name, above.Base = "ABOVE", 0x110
	assert.NoError(t, reg.Check(a, below, above))
	top := good()
	top.Base = 0xfffffff0
	assert.NoError(t, reg.Check(top))
	assert.NoError(t, reg.Check())
}

func TestCheckBlocks(t *testing.T) {
	for _, tt := range []struct {
		name string
		edit func(b *reg.Block)
		want string
	}{
		{"two blocks with one name", func(b *reg.Block) { b.Base = 0x200 }, "reg: bad table: block A1 is declared twice"},
		{"last dword of one is the first of the other", func(b *reg.Block) { b.Name, b.Base = "B", 0x10c }, "reg: bad table: blocks A1 and B overlap"},
		{"first dword of one is the last of the other", func(b *reg.Block) { b.Name, b.Base = "B", 0xf4 }, "reg: bad table: blocks A1 and B overlap"},
		{"all mistakes are named, in order", func(b *reg.Block) { b.Name, b.Base, b.Regs[2].Off = "B", 0x200, 3 },
			"reg: bad table: B.PLAIN at 0x3, want a multiple of 4\nreg: bad table: B.CTL and B.PLAIN overlap at 0x3"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := good()
			tt.edit(&b)
			assert.EqualError(t, reg.Check(good(), b), tt.want)
		})
	}
}
