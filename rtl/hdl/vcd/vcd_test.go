package vcd_test

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/hdl/vcd"
	"github.com/hilgpu/hilgpu/rtl/hdl/vcd/vcdtest"
)

// The text is that of IEEE 1364-2001 §18.2, except for the string.
func TestWriter(t *testing.T) {
	var out bytes.Buffer
	w := vcd.NewWriter(&out, vcd.NewTimescale(1e8), []vcd.Var{
		{Name: "top.flag", Width: 1}, {Name: "top.a.b.count", Width: 12}, {Name: "top.a.state"}, {Name: "other.wide", Width: 64},
	})
	w.Time(5)
	w.Set(0, 1)
	w.Set(1, 0xa5)
	w.SetText(2, "Idle")
	w.Set(3, 1<<63|1)
	w.Time(700)
	w.Set(1, 0)
	w.SetX(0, 0, 1)
	w.SetX(1, 0x803, 2)
	w.SetX(3, 6, 0)
	w.Time(701)
	require.NoError(t, w.Flush())
	assert.Equal(t, `$timescale 1 ns $end
$scope module top $end
$var reg 1 ! flag $end
$scope module a $end
$scope module b $end
$var reg 12 " count $end
$upscope $end
$var string 1 # state $end
$upscope $end
$upscope $end
$scope module other $end
$var reg 64 $ wide $end
$upscope $end
$enddefinitions $end
#5
1!
b10100101 "
sIdle #
b1`+strings.Repeat("0", 62)+`1 $
#700
b0 "
x!
b1000000000x1 "
b110 $
#701
`, out.String())
}

// Values of every length have the digits of strconv.
func TestDigits(t *testing.T) {
	for n := range 65 {
		v := uint64(0xd6_5b_29_c7_81_3e_f0_9d) | 1<<63
		var out bytes.Buffer
		w := vcd.NewWriter(&out, vcd.NewTimescale(1), []vcd.Var{{Name: "a", Width: 64}})
		w.Time(0)
		w.Set(0, v>>n)
		require.NoError(t, w.Flush())
		assert.True(t, strings.HasSuffix(out.String(), "\nb"+strconv.FormatUint(v>>n, 2)+" !\n"), n)
	}
}

// full is a writer with room for left bytes.
type full struct{ left int }

var errFull = errors.New("full")

func (f *full) Write(p []byte) (int, error) {
	if f.left -= len(p); f.left < 0 {
		return 0, errFull
	}
	return len(p), nil
}

func TestErrorsStay(t *testing.T) {
	w := vcd.NewWriter(&full{left: 100_000}, vcd.NewTimescale(1), []vcd.Var{{Name: "a", Width: 64}})
	for i := range uint64(10_000) {
		w.Time(i)
		w.Set(0, ^i)
	}
	assert.ErrorIs(t, w.Flush(), errFull)
	assert.ErrorIs(t, w.Flush(), errFull)
}

// Each of many variables has its own code, and no code has white space.
func TestCodes(t *testing.T) {
	var vars []vcd.Var
	for i := range 20_000 {
		vars = append(vars, vcd.Var{Name: fmt.Sprintf("v%d", i), Width: 1})
	}
	var out bytes.Buffer
	require.NoError(t, vcd.NewWriter(&out, vcd.NewTimescale(1), vars).Flush())
	seen := map[string]bool{}
	for line := range strings.Lines(out.String()) {
		if f := strings.Fields(line); f[0] == "$var" {
			require.Len(t, f, 6)
			require.False(t, seen[f[3]], "%s is used twice", f[3])
			seen[f[3]] = true
		}
	}
	assert.Len(t, seen, len(vars))
}

func TestParse(t *testing.T) {
	const head = "$timescale 1 ns $end\n$scope module a $end\n$var reg 2 ! v $end\n$var string 1 \" s $end\n$upscope $end\n$enddefinitions $end\n"
	d, err := vcdtest.Parse(strings.NewReader(head + "#3\nb1 !\nsGo \"\n#9\nbx0 !\n"))
	require.NoError(t, err)
	assert.Equal(t, map[string]vcdtest.Var{"a.v": {Kind: "reg", Width: 2}, "a.s": {Kind: "string", Width: 1}}, d.Vars)
	assert.Equal(t, map[string]string{"a.v": "1", "a.s": "Go"}, d.At(8))
	assert.Equal(t, map[string]string{"a.v": "x0", "a.s": "Go"}, d.At(9))
	assert.Empty(t, d.At(2))
	for _, bad := range []string{
		"", "$scope module a $end\n$enddefinitions $end\n", head + "b1 !\n", head + "#1\nb111 !\n", head + "#1\nb1 #\n",
		head + "#2\n#2\n", head + "#1\nsGo !\n", head + "#1\nb1 \"\n", head + "#1\nb1 !\nb0 !\n", head + "#1\nb !\n", head + "#1\n1!\n", head + "#1\n\n",
	} {
		_, err := vcdtest.Parse(strings.NewReader(bad))
		assert.ErrorIs(t, err, vcdtest.ErrFormat, "%q", bad)
	}
}
