// Package asm assembles programs of the link's sequencer, rtl/link/seq.
//
// A line has a constant, a label or an instruction, and a comment after a semicolon.
//
//	name = value      ; a constant
//	label:            ; the address of the next instruction
//	op operand        ; an instruction
//
// The processor has an accumulator a of 8 bits, a pointer p of 9 bits into a memory of
// bytes, a carry, and a flag that is set by a zero result.
//
//	ld add adc sub sbc and or xor    a becomes the operand, or the result with it
//	cmp tst                          sets the flags as sub, or as and, and keeps a
//	st                               the operand becomes a
//	clr inc dec icc                  a and the operand become 0, the operand plus 1, less
//	                                 1, plus the carry
//	lp                               p becomes the operand
//	shr                              shifts a right by 1, into the carry
//	jmp jz jnz jc jnc ...            continues at the operand, if a condition holds
//	call ret                         the same, and returns; calls nest up to 4 deep
//
// adc adds the carry too, and sbc subtracts it: the carry of a difference is a borrow.
// The logical operations, ld, st and tst keep the carry.
//
// An operand is one of these. Only the instructions of the first two lines may have a
// value, and only they and st a port.
//
//	#value     the value itself, 8 bits; of lp 9 bits
//	value      the byte of the memory at this address, 9 bits; of lp 8 bits
//	(p)        the byte at the pointer
//	(p+)       the same, and the pointer then moves to the next byte
//	@value     a port, 5 bits
//
// A value is a number in Go's notation, a name, or a sum or difference of those. An
// instruction has 16 bits:
//
//	bits 15..0            instructions
//	00 fff mm aaaaaaaaa   f: 0 ld 1 add 2 adc 3 sub 4 sbc 5 and 6 or 7 xor
//	01 fff mm aaaaaaaaa   f: 0 st 1 cmp 2 tst 3 clr 4 dec 5 icc 6 lp 7 inc
//	01 110 11 000000000   ret
//	00 000 11 000000100   shr, a load of port 4
//	1 cccc aaaaaaaaaaa    a jump; c: 0 always 1 z 2 nz 3 c 4 nc 5 frame 6 other 7 room
//	                      8 req 9 read 10 beat 11 cpl 12 tick 13 damaged 14 empty;
//	                      15: a call
//
// m: 0 a value, 1 an address, 2 the pointer, which moves if bit 0 is set, 3 a port.
package asm

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// ErrSyntax is wrapped by every error. The message names the line.
var ErrSyntax = errors.New("asm: bad program")

// MaxWords is the size of the largest program, in instructions.
const MaxWords = 2048

// Fields of an instruction.
const (
	Memory = 1 << 9 // operand modes; 0 is a value
	Indir  = 2 << 9
	Port   = 3 << 9

	Move = 1 << 14 // groups; 0 is arithmetic
	Jump = 1 << 15 // with the condition above the address
	Call = Jump | 15<<addressBits
)

// addressBits is the width of an address of an instruction.
const addressBits = 11

// arithmetic instructions take an operand in any mode.
var arithmetic = map[string]uint16{
	"ld": 0, "add": 1 << 11, "adc": 2 << 11, "sub": 3 << 11, "sbc": 4 << 11, "and": 5 << 11, "or": 6 << 11, "xor": 7 << 11,
	"cmp": Move | 1<<11, "tst": Move | 2<<11,
}

// updates read and write a byte of the memory.
var updates = map[string]uint16{"st": Move, "clr": Move | 3<<11, "dec": Move | 4<<11, "icc": Move | 5<<11, "inc": Move | 7<<11}

// plain instructions have no operand.
var plain = map[string]uint16{"ret": pointer | Port, "shr": Port | 4}

// pointer is the instruction that loads the pointer.
const pointer = Move | 6<<11

// conditions of jumps, by their number in the instruction. A call has none.
var conditions = []string{"", "z", "nz", "c", "nc", "frame", "other", "room", "req", "read", "beat", "cpl", "tick", "damaged", "empty"}

// A Program is the result of Assemble.
type Program struct {
	Words  []uint64       // instructions of 16 bits
	Source []string       // the text of each, without space around it and comment
	Labels map[string]int // addresses by name
}

// Assemble assembles a program.
func Assemble(text string) (*Program, error) {
	p := &program{names: map[string]int{}, out: Program{Labels: map[string]int{}}}
	for _, pass := range []bool{false, true} {
		p.words, p.out.Source, p.last = nil, nil, pass
		for i, line := range strings.Split(text, "\n") {
			line, _, _ = strings.Cut(line, ";")
			if err := p.line(strings.TrimSpace(line)); err != nil {
				return nil, fmt.Errorf("%w: line %d: %w", ErrSyntax, i+1, err)
			}
		}
	}
	if len(p.words) > MaxWords {
		return nil, fmt.Errorf("%w: %d instructions, want at most %d", ErrSyntax, len(p.words), MaxWords)
	}
	p.out.Words = p.words
	return &p.out, nil
}

type program struct {
	names map[string]int
	words []uint64
	last  bool // names are complete
	out   Program
}

func (p *program) line(s string) error {
	if s == "" {
		return nil
	}
	if name, ok := strings.CutSuffix(s, ":"); ok {
		p.out.Labels[name] = len(p.words)
		return p.define(name, len(p.words))
	}
	if name, value, ok := strings.Cut(s, "="); ok {
		v, err := p.value(value)
		if err != nil {
			return err
		}
		return p.define(strings.TrimSpace(name), v)
	}
	op, operand, _ := strings.Cut(s, " ")
	w, err := p.instruction(op, strings.TrimSpace(operand))
	p.words = append(p.words, uint64(w))
	p.out.Source = append(p.out.Source, s)
	return err
}

func (p *program) define(name string, v int) error {
	if !isName(name) {
		return fmt.Errorf("bad name %q", name)
	}
	if old, ok := p.names[name]; ok && (!p.last || old != v) {
		return fmt.Errorf("%s is defined twice", name)
	}
	p.names[name] = v
	return nil
}

func isName(s string) bool {
	for i, c := range s {
		if c != '_' && (c < 'a' || c > 'z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}

func (p *program) instruction(op, operand string) (uint16, error) {
	if code, ok := arithmetic[op]; ok {
		return p.operand(code, operand, true)
	}
	if code, ok := plain[op]; ok {
		if operand != "" {
			return 0, fmt.Errorf("%s has no operand", op)
		}
		return code, nil
	}
	if code, ok := updates[op]; ok {
		if op != "st" && strings.HasPrefix(operand, "@") {
			return 0, fmt.Errorf("%s wants a byte of the memory", op)
		}
		return p.operand(code, operand, false)
	}
	if op == "lp" {
		if value, ok := strings.CutPrefix(operand, "#"); ok {
			v, err := p.field(value, 9)
			return pointer | v, err
		}
		v, err := p.field(operand, 8)
		return pointer | Memory | v, err
	}
	if op == "call" {
		v, err := p.field(operand, addressBits)
		return Call | v, err
	}
	if cond, ok := strings.CutPrefix(op, "j"); ok {
		return p.jump(cond, operand)
	}
	return 0, fmt.Errorf("unknown instruction %q", op)
}

func (p *program) jump(cond, operand string) (uint16, error) {
	if cond == "mp" {
		cond = ""
	}
	for i, c := range conditions {
		if c == cond {
			v, err := p.field(operand, addressBits)
			return Jump | uint16(i)<<addressBits | v, err
		}
	}
	return 0, fmt.Errorf("unknown condition %q", cond)
}

func (p *program) operand(code uint16, s string, value bool) (uint16, error) {
	switch {
	case s == "(p)":
		return code | Indir, nil
	case s == "(p+)":
		return code | Indir | 1, nil
	case strings.HasPrefix(s, "@"):
		v, err := p.field(s[1:], 5)
		return code | Port | v, err
	case strings.HasPrefix(s, "#"):
		if !value {
			return 0, errors.New("st wants a place, not a value")
		}
		v, err := p.field(s[1:], 8)
		return code | v, err
	}
	v, err := p.field(s, 9)
	return code | Memory | v, err
}

// field evaluates an expression that must fit the given bits.
func (p *program) field(s string, bits int) (uint16, error) {
	v, err := p.value(s)
	if err == nil && (v < 0 || v>>bits != 0) {
		err = fmt.Errorf("%s is %d, want 0 to %d", s, v, 1<<bits-1)
	}
	return uint16(v), err
}

// value evaluates a sum or difference of numbers and names. In the first pass an
// unknown name is 0.
func (p *program) value(s string) (int, error) {
	sum := 0
	for _, term := range strings.FieldsFunc(strings.ReplaceAll(s, "-", "+-"), func(r rune) bool { return r == '+' }) {
		term = strings.TrimSpace(term)
		sign := 1
		if rest, ok := strings.CutPrefix(term, "-"); ok {
			sign, term = -1, strings.TrimSpace(rest)
		}
		v, ok := p.names[term]
		if !ok {
			n, err := strconv.ParseInt(term, 0, 32)
			switch {
			case err == nil:
				v = int(n)
			case p.last || !isName(term):
				return 0, fmt.Errorf("unknown value %q", term)
			}
		}
		sum += sign * v
	}
	if strings.TrimSpace(s) == "" {
		return 0, errors.New("a value is missing")
	}
	return sum, nil
}
