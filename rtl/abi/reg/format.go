package reg

import (
	"fmt"
	"math/bits"
	"strings"

	"github.com/hilgpu/hilgpu/rtl/abi/caps"
)

// String returns the access as it is in the register tables of the documents.
func (a Access) String() string { return [...]string{"ro", "rw", "w1c", "wo"}[a] }

// String returns the effect in lower case, "" for Plain.
func (e Effect) String() string { return [...]string{"", "trigger", "doorbell", "latch"}[e] }

// String returns the poke class in lower case.
func (p Poke) String() string { return [...]string{"safe", "idle", "destructive"}[p] }

// Get returns the value of the field in the register value v.
func (f Field) Get(v uint32) uint32 { return v & f.Mask >> bits.TrailingZeros32(f.Mask) }

// Set returns the register value v with the field set to x. Bits of x that do not
// fit the field are dropped; see Max.
func (f Field) Set(v, x uint32) uint32 {
	return v&^f.Mask | x<<bits.TrailingZeros32(f.Mask)&f.Mask
}

// Max returns the largest value that the field can hold.
func (f Field) Max() uint32 { return f.Get(^uint32(0)) }

// Bits returns the position of the field, as "5" or "7..4".
func (f Field) Bits() string {
	hi, lo := 31-bits.LeadingZeros32(f.Mask), bits.TrailingZeros32(f.Mask)
	if hi == lo {
		return fmt.Sprint(lo)
	}
	return fmt.Sprintf("%d..%d", hi, lo)
}

// Format returns a value x of the field, by its name in Enum or in decimal.
func (f Field) Format(x uint32) string {
	if uint64(x) < uint64(len(f.Enum)) {
		return f.Enum[x]
	}
	return fmt.Sprint(x)
}

// Mask returns the bits that belong to fields: all 32 if none is declared.
func (r Reg) Mask() uint32 { return r.MaskIn(^caps.Set(0)) }

// MaskIn is Mask for a device with these capabilities.
func (r Reg) MaskIn(have caps.Set) uint32 {
	if len(r.Fields) == 0 {
		return ^uint32(0)
	}
	mask := uint32(0)
	for _, f := range r.Fields {
		if have.Has(f.Needs) {
			mask |= f.Mask
		}
	}
	return mask
}

// Field returns the field with the given name, and false if there is none.
func (r Reg) Field(name string) (Field, bool) {
	for _, f := range r.Fields {
		if f.Name == name {
			return f, true
		}
	}
	return Field{}, false
}

// Format returns a value of a register of b with its fields, as in
//
//	CP0.FAULT_INFO=0x1 (CAUSE=OPCODE)
//
// Set bits outside the fields are last, as in "+0x8000".
func Format(b Block, r Reg, value uint32) string {
	head := fmt.Sprintf("%s.%s=%#x", b.Name, r.Name, value)
	if len(r.Fields) == 0 {
		return head
	}
	var parts []string
	for _, f := range r.Fields {
		parts = append(parts, f.Name+"="+f.Format(f.Get(value)))
	}
	if unknown := value &^ r.Mask(); unknown != 0 {
		parts = append(parts, fmt.Sprintf("+%#x", unknown))
	}
	return head + " (" + strings.Join(parts, " ") + ")"
}
