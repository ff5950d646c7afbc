package main

import (
	"fmt"
	"go/format"
	"math/bits"
	"strings"

	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
)

// decoder makes the functions by which the command processor decodes packets. They are
// logic and not a ROM: the words of a ROM would come a clock late for the header, and the
// logic takes fewer cells than a block RAM is worth.
//
// A packet's body is kept in a slot of 64-bit words. A dword of it has a place there, and a
// field of 64 bits begins at an even one, so the place before it may be left out.
func decoder() ([]byte, error) {
	var g decodeTable
	for _, l := range pkt.Table {
		g.add(l)
	}
	return format.Source([]byte(g.text()))
}

// A decodeTable collects, for each function, the cases of the packets.
type decodeTable struct {
	bodies     []string // cases of bodyOf
	privileged []string // opcodes
	reads      []string
	copies     []string
	surfaces   []string
	lengths    []string
	immediates []string

	aligns    groups // opcodes by mask
	sources   groups // opcodes by word
	dests     groups
	values    groups
	used      groups // places by bits
	limits    groups // places by limit
	flags     groups // places by bit
	attrs     groups // places by mask
	numbers   groups // places of lengths, by mask
	sizes     []string
	gaps      []string
	resumable []string // cases of usedBits that depend on a capability
}

// A group is the conditions that give one value.
type group struct {
	value string
	conds []string
}

type groups []group

func (g *groups) add(value, cond string) {
	for i := range *g {
		if c := &(*g)[i]; c.value == value {
			if c.conds[len(c.conds)-1] != cond { // as it does for two fields of a dword
				c.conds = append(c.conds, cond)
			}
			return
		}
	}
	*g = append(*g, group{value, []string{cond}})
}

// opConst returns the constant of an opcode.
func opConst(l pkt.Layout) string {
	name := "pkt.Op"
	for _, w := range strings.Split(l.Name, "_") {
		if w != "NOP" {
			w = w[:1] + strings.ToLower(w[1:])
		}
		name += w
	}
	return strings.Replace(name, "2d", "2D", 1)
}

// wide reports whether a field of 64 bits begins at a dword.
func wide(l pkt.Layout, dword int) bool {
	for _, f := range l.Fields {
		if f.Dword == dword && f.Mask>>32 != 0 {
			return true
		}
	}
	return false
}

// places returns the place of each dword of the body; element 0 is not used.
func places(l pkt.Layout) []int {
	at := make([]int, l.Body+1)
	n := 0
	for d := 1; d <= int(l.Body); d++ {
		if wide(l, d) && n%2 != 0 {
			n++
		}
		at[d] = n
		n++
	}
	return at
}

func (g *decodeTable) add(l pkt.Layout) {
	op := opConst(l)
	g.addBody(l, op)
	if l.Privileged {
		g.privileged = append(g.privileged, op)
	}
	if l.Variable {
		return
	}
	if l.Source || l.Dest {
		g.surfaces = append(g.surfaces, op)
	}
	at := places(l)
	g.addOperands(l, op, at)
	for d := 1; d <= int(l.Body); d++ {
		g.addDword(l, op, d, at[d])
		if d < int(l.Body) && at[d+1] != at[d]+1 {
			g.gaps = append(g.gaps, place(op, at[d]))
		}
	}
}

// place returns the condition that a dword is at place n of the body of an opcode.
func place(op string, n int) string { return fmt.Sprintf("op == %s && n == %d", op, n) }

func (g *decodeTable) addBody(l pkt.Layout, op string) {
	switch {
	case l.Variable:
		g.bodies = append(g.bodies, fmt.Sprintf("case %s:\n", op))
	case l.Needs == 0:
		g.bodies = append(g.bodies, fmt.Sprintf("case %s:\nbody = %d\n", op, l.Body))
	default:
		g.bodies = append(g.bodies, fmt.Sprintf("case %s:\nbody, known = %d, has.Has(%s)\n", op, l.Body, capConst(l.Needs)))
	}
}

// capConst returns the constant of a capability.
func capConst(s caps.Set) string {
	for _, c := range caps.Table {
		if c.Bit == s {
			return "caps." + c.Name[:1] + strings.ToLower(c.Name[1:])
		}
	}
	panic(fmt.Sprintf("gen: %v is not one capability", s))
}

// addOperands adds the address fields, the immediate and the length of a packet.
func (g *decodeTable) addOperands(l pkt.Layout, op string, at []int) {
	reads, writes, length, window := l.Source, l.Dest, l.Source || l.Dest, false
	for _, f := range l.Fields {
		word := fmt.Sprint(at[f.Dword] / 2)
		switch f.Kind {
		case pkt.AddrWindow, pkt.AddrRead:
			reads, window = true, f.Kind == pkt.AddrWindow
			g.sources.add(word, op)
		case pkt.AddrWrite:
			writes = true
			g.dests.add(word, op)
		default:
		}
		length = length || isLength(f)
		if f.Align > 1 {
			g.aligns.add(fmt.Sprintf("%#x", f.Align-1), op)
		}
		if plain := f.Kind == pkt.Number || f.Kind == pkt.Pattern; plain && bits.OnesCount64(f.Mask) >= 32 && !isLength(f) && !window {
			g.immediates = append(g.immediates, op)
			g.values.add(word, op)
		}
	}
	if reads {
		g.reads = append(g.reads, op)
	}
	if reads && writes {
		g.copies = append(g.copies, op)
	}
	if length {
		g.lengths = append(g.lengths, op)
	}
}

// isLength reports whether a field is the length of the packet's ranges.
func isLength(f pkt.Field) bool {
	return f.Limit == pkt.LimitLength || f.Unit == "dwords" && f.Limit == pkt.NoLimit && f.Dword != 0
}

// addDword adds a dword of the body, at place n.
func (g *decodeTable) addDword(l pkt.Layout, op string, d, n int) {
	cond := place(op, n)
	used, optional, need := ^l.Reserved(d), uint32(0), caps.Set(0)
	for _, f := range l.Fields {
		if f.Dword != d {
			continue
		}
		if f.Needs != 0 {
			optional, need = uint32(f.Mask), f.Needs
		}
		g.addField(f, cond, used)
	}
	if used == 1<<32-1 {
		return
	}
	if optional != 0 {
		g.resumable = append(g.resumable, fmt.Sprintf("case %s:\nused = %#x\nif has.Has(%s) {\nused |= %#x\n}\n",
			cond, used&^optional, capConst(need), optional))
		return
	}
	g.used.add(fmt.Sprintf("%#x", used), cond)
}

// addField adds a field of a dword of which the bits used are not reserved.
func (g *decodeTable) addField(f pkt.Field, cond string, used uint32) {
	if name := limitConst(f); name != "" {
		g.limits.add(name, cond)
	}
	switch {
	case used <= 7 && used > 1:
		g.attrs.add(fmt.Sprintf("%#x", used), cond)
	case bits.OnesCount64(f.Mask) == 1:
		g.flags.add(fmt.Sprintf("%#x", f.Mask), cond)
	case isLength(f):
		g.numbers.add(fmt.Sprintf("%#x", f.Mask), cond)
	case f.Name == "W":
		g.sizes = append(g.sizes, cond)
	default:
	}
}

// limitConst returns the command processor's name of a field's limit, "" if it has none.
func limitConst(f pkt.Field) string {
	switch {
	case f.Limit == pkt.LimitLength:
		return "limitLength"
	case f.Limit == pkt.LimitNodes:
		return "limitNodes"
	case f.Limit == pkt.LimitScratch:
		return "limitScratch"
	case f.Limit == pkt.LimitBuffer:
		return "limitBuffer"
	case f.Max == pkt.MaxCoord:
		return "limitCoords"
	case f.Max == uint64(pkt.Format128):
		return "limitFormat"
	case f.Max != 0:
		panic(fmt.Sprintf("gen: the decoder has no limit of %d, of %s", f.Max, f.Name))
	}
	return ""
}
