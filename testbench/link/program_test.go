package link

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/link/asm"
	"github.com/hilgpu/hilgpu/rtl/link/seq"
)

var changeFlag = flag.String("link.change", "", "a mistake in the program of the sequencer: the address of an instruction and the bits to invert, as 0x12^0x34")

// assembled returns the program, with the mistake of the flag.
func assembled(o seq.Options) []uint64 {
	p, err := seq.Program(o)
	if err != nil {
		panic(err)
	}
	if *changeFlag != "" {
		var at, bits int
		if _, err := fmt.Sscanf(*changeFlag, "%v^%v", &at, &bits); err != nil {
			panic(err)
		}
		p.Words[at] ^= uint64(bits)
	}
	return p.Words
}

// A mistake is a change of one instruction.
type mistake struct {
	at     int    // address
	place  string // the last label before it, and the instructions from there
	source string
	change string
	word   uint16 // in place of the instruction
	bits   uint16 // that differ
}

func (m *mistake) String() string {
	return fmt.Sprintf("%s: %s: %s", m.place, m.source, m.change)
}

// others are the instructions with which mistakes replace those with an operand.
var others = map[string]string{
	"add": "sub", "adc": "add", "sub": "add", "sbc": "sub", "and": "or", "or": "and", "xor": "or", "cmp": "tst", "tst": "cmp",
	"clr": "inc", "inc": "dec", "dec": "inc", "icc": "inc", "jz": "jnz", "jnz": "jz", "jc": "jnc", "jnc": "jc",
}

// mistakes returns all single mistakes in a program that the generator makes, in the order of the
// addresses: an instruction is left out, replaced by another one or has another operand.
func mistakes(p *asm.Program) (all []*mistake) {
	labels := map[int]string{}
	for name, at := range p.Labels {
		if labels[at] == "" || name < labels[at] {
			labels[at] = name
		}
	}
	label := 0
	for at, w := range p.Words {
		if labels[at] != "" {
			label = at
		}
		m := mistake{at: at, place: fmt.Sprintf("%s+%d", labels[label], at-label), source: p.Source[at]}
		add := func(change string, word uint16) {
			m := m
			m.change, m.word, m.bits = change, word, word^uint16(w)
			all = append(all, &m)
		}
		if at+1 < len(p.Words) {
			add("without", asm.Jump|uint16(at+1))
		}
		op, operand, _ := strings.Cut(m.source, " ")
		if n := others[op]; n != "" {
			add(op+" becomes "+n, replaced(uint16(w), n))
		} else if op[0] == 'j' && op != "jmp" {
			add(op+" becomes jmp", uint16(w)&0x7ff|asm.Jump)
		}
		operands(uint16(w), op, operand, add)
	}
	return all
}

// operands adds the mistakes in the operand of an instruction.
func operands(w uint16, op, operand string, add func(change string, word uint16)) {
	next := func(mask uint16) uint16 { return w&^mask | (w+1)&mask }
	switch {
	case operand == "":
	case w&asm.Jump != 0:
		add("the target and 1", next(0x7ff))
	case operand == "(p)":
		add("(p) becomes (p+)", w^1)
	case operand == "(p+)":
		add("(p+) becomes (p)", w^1)
	case operand[0] == '@':
		add("the other port of a pair", w^1)
	case operand[0] == '#' && op != "lp":
		add("the value and 1", next(0xff))
		add("the value less 1", w&^0xff|(w-1)&0xff)
	default:
		add("the place and 1", next(0x1ff))
	}
}

// replaced returns an instruction with another operation.
func replaced(w uint16, op string) uint16 {
	const operation, condition = asm.Jump | asm.Move | 7<<11, 31 << 11
	text := op + " 0"
	if w&asm.Jump == 0 {
		text = op + " (p)"
	}
	p, err := asm.Assemble("\t" + text)
	if err != nil {
		panic(err)
	}
	if w&asm.Jump != 0 {
		return w&^condition | uint16(p.Words[0])&condition
	}
	return w&^operation | uint16(p.Words[0])&operation
}

// picked returns mistakes of a seed, without those that are equivalent.
func picked(p *asm.Program, seed uint64, count int) (some []*mistake) {
	all := mistakes(p)
	r := rand.New(rand.NewPCG(seed, 20))
	r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	for _, m := range all {
		if len(some) < count && m.equivalent() == "" {
			some = append(some, m)
		}
	}
	return some
}

// TestMistakes: the seed gives the mistakes. Each is a change, and the encodings are worked out from
// the comment of package asm.
func TestMistakes(t *testing.T) {
	p, err := asm.Assemble("a:\n\tld #0xff\n\tadd (p+)\nb:\n\tcmp 0x1ff\n\tjz b\n\tjframe a\n\tst @4\n\tlp #0x102\n\tinc 3\n\tcall b\n\tret")
	require.NoError(t, err)
	var got []string
	for _, m := range mistakes(p) {
		require.NotZero(t, m.bits)
		got = append(got, fmt.Sprintf("%v %04x", m, m.word))
	}
	assert.Equal(t, []string{
		"a+0: ld #0xff: without 8001", "a+0: ld #0xff: the value and 1 0000", "a+0: ld #0xff: the value less 1 00fe",
		"a+1: add (p+): without 8002", "a+1: add (p+): add becomes sub 1c01", "a+1: add (p+): (p+) becomes (p) 0c00",
		"b+0: cmp 0x1ff: without 8003", "b+0: cmp 0x1ff: cmp becomes tst 53ff", "b+0: cmp 0x1ff: the place and 1 4a00",
		"b+1: jz b: without 8004", "b+1: jz b: jz becomes jnz 9002", "b+1: jz b: the target and 1 8803",
		"b+2: jframe a: without 8005", "b+2: jframe a: jframe becomes jmp 8000", "b+2: jframe a: the target and 1 a801",
		"b+3: st @4: without 8006", "b+3: st @4: the other port of a pair 4605",
		"b+4: lp #0x102: without 8007", "b+4: lp #0x102: the place and 1 7103",
		"b+5: inc 3: without 8008", "b+5: inc 3: inc becomes dec 6203", "b+5: inc 3: the place and 1 7a04",
		"b+6: call b: without 8009", "b+6: call b: the target and 1 f803",
	}, got)
	whole, err := seq.Program(seq.Options{Replay: 8})
	require.NoError(t, err)
	assert.Equal(t, picked(whole, 1, 20), picked(whole, 1, 20))
	assert.NotEqual(t, picked(whole, 1, 20), picked(whole, 2, 20))
}
