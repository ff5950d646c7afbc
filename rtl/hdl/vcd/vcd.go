// Package vcd writes value change dumps (IEEE 1364-2001 §18), a wave format that
// every viewer reads. The names of states are string variables, an extension that
// GTKWave reads.
package vcd

import (
	"encoding/binary"
	"fmt"
	"io"
	"math/bits"
	"slices"
	"strconv"
	"strings"
)

// A Var is one variable. Its name includes its scopes, separated by dots.
// Consecutive variables of a scope are declared together.
type Var struct {
	Name  string
	Width int // in bits, 1 to 64; 0: a string
}

// flushAt is the approximate number of bytes per write.
const flushAt = 1 << 16

// setSize is at least the number of bytes that Set needs: 64 digits, the letter b, and an
// ending.
const setSize = 64 + 1 + 8

// An ending is the end of a change of a number: the space after digits, the code of the
// variable, and the end of the line.
type ending struct {
	text uint64 // the first byte is the lowest one
	size int
}

// newEnding returns the ending for a variable with a code and a width.
func newEnding(code string, width int) ending {
	text := code + "\n"
	if width != 1 {
		text = " " + text
	}
	var p [8]byte
	copy(p[:], text)
	return ending{binary.LittleEndian.Uint64(p[:]), len(text)}
}

// A Writer writes one dump. After the first error it writes nothing more, and
// Flush returns the error. A change does not allocate.
type Writer struct {
	w   io.Writer
	buf []byte
	err error

	codes []string
	width []int
	ends  []ending
}

// NewWriter begins a dump with the given unit of time and variables.
func NewWriter(w io.Writer, scale Timescale, vars []Var) *Writer {
	d := &Writer{w: w, buf: make([]byte, 0, flushAt+4096)}
	d.buf = fmt.Appendf(d.buf, "$timescale %s $end\n", scale)
	var open []string
	for i, v := range vars {
		d.codes = append(d.codes, code(i))
		d.width = append(d.width, v.Width)
		d.ends = append(d.ends, newEnding(d.codes[i], v.Width))
		path := strings.Split(v.Name, ".")
		last := len(path) - 1
		open = d.scope(open, path[:last])
		kind, width := "reg", v.Width
		if width == 0 {
			kind, width = "string", 1
		}
		d.buf = fmt.Appendf(d.buf, "$var %s %d %s %s $end\n", kind, width, d.codes[i], path[last])
	}
	d.scope(open, nil)
	d.buf = append(d.buf, "$enddefinitions $end\n"...)
	return d
}

// scope closes and opens scopes to get from scope from to scope to, which it
// returns.
func (d *Writer) scope(from, to []string) []string {
	same := 0
	for same < len(from) && same < len(to) && from[same] == to[same] {
		same++
	}
	for range from[same:] {
		d.buf = append(d.buf, "$upscope $end\n"...)
	}
	for _, name := range to[same:] {
		d.buf = fmt.Appendf(d.buf, "$scope module %s $end\n", name)
	}
	return slices.Clone(to)
}

// Time begins the changes at t, which must be above the previous time.
func (d *Writer) Time(t uint64) {
	if len(d.buf) >= flushAt {
		d.Flush()
	}
	d.buf = append(d.buf, '#')
	d.buf = strconv.AppendUint(d.buf, t, 10)
	d.buf = append(d.buf, '\n')
}

// Set changes variable i, in the order of NewWriter, to a number.
func (d *Writer) Set(i int, v uint64) {
	if cap(d.buf)-len(d.buf) < setSize {
		d.buf = slices.Grow(d.buf, flushAt)
	}
	b, n := d.buf[len(d.buf):][:setSize], 1
	if d.width[i] == 1 {
		b[0] = '0' + byte(v&1)
	} else {
		b[0] = 'b'
		n += putBits(b[1:], v)
	}
	end := d.ends[i]
	binary.LittleEndian.PutUint64(b[n:], end.text)
	d.buf = d.buf[:len(d.buf)+n+end.size]
}

// SetX is like Set, but bits that are set in x are unknown.
func (d *Writer) SetX(i int, v, x uint64) {
	if x == 0 {
		d.Set(i, v)
		return
	}
	if d.width[i] > 1 {
		d.buf = append(d.buf, 'b')
	}
	for n := d.width[i] - 1; n >= 0; n-- {
		digit := '0' + byte(v>>n&1)
		if x>>n&1 != 0 {
			digit = 'x'
		}
		d.buf = append(d.buf, digit)
	}
	if d.width[i] > 1 {
		d.buf = append(d.buf, ' ')
	}
	d.end(i)
}

// SetText changes a variable to a string without white space.
func (d *Writer) SetText(i int, text string) {
	d.buf = append(d.buf, 's')
	d.buf = append(d.buf, text...)
	d.buf = append(d.buf, ' ')
	d.end(i)
}

func (d *Writer) end(i int) {
	d.buf = append(d.buf, d.codes[i]...)
	d.buf = append(d.buf, '\n')
}

// Flush writes the buffered text and returns the first error.
func (d *Writer) Flush() error {
	if d.err == nil {
		_, d.err = d.w.Write(d.buf)
	}
	d.buf = d.buf[:0]
	return d.err
}

// putBits writes v to b in binary, without leading zeros, and returns the number of
// digits: a reader extends a value with zeros. It may write more bytes, up to a multiple
// of eight.
func putBits(b []byte, v uint64) int {
	n := max(bits.Len64(v), 1)
	v <<= 64 - n
	for i := 0; i < n; i += 8 {
		binary.LittleEndian.PutUint64(b[i:], digits(byte(v>>56)))
		v <<= 8
	}
	return n
}

// digits returns the eight binary digits of v as text, the highest first: in the lowest
// byte.
func digits(v byte) uint64 {
	const each = 0x0101_0101_0101_0101
	bit := uint64(v) * each & 0x0102_0408_1020_4080 // byte i has bit 7-i of v
	return (bit+0x7f*each)>>7&each + '0'*each
}

// code returns the identifier code of a variable, made of printable characters.
func code(i int) string {
	var p []byte
	for {
		p = append(p, byte('!'+i%94))
		if i /= 94; i == 0 {
			return string(p)
		}
	}
}
