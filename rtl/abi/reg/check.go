package reg

import (
	"errors"
	"fmt"
	"math/bits"
)

// ErrTable is wrapped by every error of Check.
var ErrTable = errors.New("reg: bad table")

// Check returns all mistakes in the blocks, joined, in the order of the table, or
// nil. The mistakes are
//
//   - a name that is not made of A to Z, 0 to 9 and _, or is used twice among
//     blocks, registers of a block or fields of a register
//   - a base, size or offset that is not a multiple of 4, a register outside
//     its block's Size, or overlapping blocks or registers
//   - a field whose mask is empty or has a hole, or that overlaps another
//   - more names in an Enum than the field has values
//   - a reset value with bits outside the fields
//
// Tables are constants of the program. Code that builds one must panic with the
// error at start-up.
func Check(blocks ...Block) error {
	var c checker
	for i, b := range blocks {
		c.block(b)
		for _, o := range blocks[:i] {
			if o.Name == b.Name {
				c.fail("block %s is declared twice", b.Name)
			}
			if uint64(o.Base) < uint64(b.Base)+uint64(b.Size) && uint64(b.Base) < uint64(o.Base)+uint64(o.Size) {
				c.fail("blocks %s and %s overlap", o.Name, b.Name)
			}
		}
	}
	return errors.Join(c.errs...)
}

type checker struct{ errs []error }

func (c *checker) fail(format string, args ...any) {
	c.errs = append(c.errs, fmt.Errorf("%w: "+format, append([]any{ErrTable}, args...)...))
}

func (c *checker) block(b Block) {
	c.name(b.Name, "block")
	if b.Base%4 != 0 || b.Size%4 != 0 {
		c.fail("%s at %#x with size %#x, want multiples of 4", b.Name, b.Base, b.Size)
	}
	if uint64(b.Base)+uint64(b.Size) > 1<<32 {
		c.fail("%s at %#x with size %#x ends above 2^32", b.Name, b.Base, b.Size)
	}
	for i, r := range b.Regs {
		c.reg(b, r)
		for _, o := range b.Regs[:i] {
			if o.Name == r.Name {
				c.fail("%s.%s is declared twice", b.Name, r.Name)
			}
			if r.Off < o.Off+4 && o.Off < r.Off+4 {
				c.fail("%s.%s and %s.%s overlap at %#x", b.Name, o.Name, b.Name, r.Name, r.Off)
			}
		}
	}
}

func (c *checker) reg(b Block, r Reg) {
	name := b.Name + "." + r.Name
	c.name(r.Name, "register of "+b.Name)
	if r.Off%4 != 0 {
		c.fail("%s at %#x, want a multiple of 4", name, r.Off)
	}
	if uint64(r.Off)+4 > uint64(b.Size) {
		c.fail("%s at %#x, want below the size %#x", name, r.Off, b.Size)
	}
	for i, f := range r.Fields {
		c.field(name, f)
		for _, o := range r.Fields[:i] {
			if o.Name == f.Name {
				c.fail("%s.%s is declared twice", name, f.Name)
			}
			if o.Mask&f.Mask != 0 {
				c.fail("%s.%s and %s.%s overlap in %#x", name, o.Name, name, f.Name, o.Mask&f.Mask)
			}
		}
	}
	if stray := r.Reset &^ r.Mask(); stray != 0 {
		c.fail("%s resets to %#x, of which %#x is in no field", name, r.Reset, stray)
	}
}

func (c *checker) field(regName string, f Field) {
	c.name(f.Name, "field of "+regName)
	width := bits.OnesCount32(f.Mask)
	if f.Mask == 0 || uint64(f.Mask)>>bits.TrailingZeros32(f.Mask) != 1<<width-1 {
		c.fail("%s.%s has mask %#x, want a run of ones", regName, f.Name, f.Mask)
	}
	if uint64(len(f.Enum)) > 1<<width {
		c.fail("%s.%s names %d values, but %d bits have %d", regName, f.Name, len(f.Enum), width, 1<<width)
	}
}

// name checks a name, so that "BLOCK.REG" can be split and typed.
func (c *checker) name(s, what string) {
	ok := s != ""
	for _, r := range s {
		ok = ok && (r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_')
	}
	if !ok {
		c.fail("name %q of a %s, want A to Z, 0 to 9 and _", s, what)
	}
}
