package asm

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestAssemble: the encodings are worked out from the comments of the package.
func TestAssemble(t *testing.T) {
	p, err := Assemble(`
; comment
two = 2
seven = two + 5   ; a sum
start:
	ld #0x41
	ld seven
	add (p)
	adc (p+)
	sub @two
	sbc seven-two
	and #1
	or #two
	xor #255
	cmp #3
	tst #4
	st 511
	st (p+)
	st @3
	clr 9
	dec 9
	icc 9
	inc (p)
	lp #0x1ff
	lp 255
	ret
	shr
	jmp start
	jnz end
	jroom end
	call start
end:
`)
	require.NoError(t, err)
	assert.Equal(t, []uint64{
		0x0041, 0x0207, 0x0c00, 0x1401, 0x1e02, 0x2205, 0x2801, 0x3002, 0x38ff,
		0x4803, 0x5004, 0x43ff, 0x4401, 0x4603, 0x5a09, 0x6209, 0x6a09, 0x7c00,
		0x71ff, 0x72ff, 0x7600, 0x0604,
		0x8000, 0x901a, 0xb81a, 0xf800,
	}, p.Words)
	assert.Equal(t, map[string]int{"start": 0, "end": 26}, p.Labels)
	assert.Len(t, p.Source, 26)
	assert.Equal(t, []string{"ld #0x41", "ld seven", "call start"}, []string{p.Source[0], p.Source[1], p.Source[25]})
}

func TestErrors(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"instruction", "\tlda #1", `line 1: unknown instruction "lda"`},
		{"condition", "x:\n\tjzz x", `line 2: unknown condition "zz"`},
		{"no operand", "\tld", "line 1: a value is missing"},
		{"operand of ret", "\tret 1", "line 1: ret has no operand"},
		{"store to a value", "\tst #1", "line 1: st wants a place, not a value"},
		{"clear a port", "\tclr @1", "line 1: clr wants a byte of the memory"},
		{"pointer from the upper half", "\tlp 256", "line 1: 256 is 256, want 0 to 255"},
		{"large value", "\tld #256", "line 1: 256 is 256, want 0 to 255"},
		{"negative value", "\tld #0-1", "line 1: 0-1 is -1, want 0 to 255"},
		{"large address", "\tld 512", "line 1: 512 is 512, want 0 to 511"},
		{"large port", "\tld @32", "line 1: 32 is 32, want 0 to 31"},
		{"unknown name", "\tld #y", `line 1: unknown value "y"`},
		{"name twice", "x = 1\nx = 2", "line 2: x is defined twice"},
		{"label twice", "x:\nx:", "line 2: x is defined twice"},
		{"bad name", "9x:", `line 1: bad name "9x"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Assemble(tt.text)
			require.ErrorIs(t, err, ErrSyntax)
			assert.Contains(t, err.Error(), tt.want)
		})
	}
}

// TestSize: the largest program has 2048 instructions.
func TestSize(t *testing.T) {
	text := ""
	for range MaxWords {
		text += "\tret\n"
	}
	_, err := Assemble(text)
	require.NoError(t, err)
	_, err = Assemble(text + "\tret\n")
	require.ErrorIs(t, err, ErrSyntax)
}

func TestDepth(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       int
	}{
		{"no call", "\tjmp 0", 0},
		{"a call", "\tcall a\n\tjmp 0\na:\n\tret", 1},
		{"nested", "\tcall b\n\tjmp 0\na:\n\tret\nb:\n\tjz c\n\tcall a\n\tret\nc:\n\tcall b2\n\tret\nb2:\n\tcall a\n\tret", 3},
		{"in a branch", "\tjz x\n\tjmp 0\nx:\n\tcall a\n\tjmp 0\na:\n\tjmp b\nb:\n\tcall c\n\tret\nc:\n\tret", 2},
		{"a jump out", "m:\n\tcall a\n\tjmp m\na:\n\tjz m\n\tcall b\n\tret\nb:\n\tjmp m", 2},
		{"recursion", "\tcall a\n\tjmp 0\na:\n\tcall a\n\tret", MaxWords + 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, err := Assemble(tt.text)
			require.NoError(t, err)
			assert.Equal(t, tt.want, p.Depth())
		})
	}
}
