// Package vcd writes value change dumps (IEEE 1364-2001 §18), the waves that
// every viewer reads. The names of states are string variables, an extension
// that GTKWave reads.
package vcd

import (
	"fmt"
	"io"
	"math/bits"
	"slices"
	"strconv"
	"strings"
)

// A Var is one variable. Its name has the scopes that it is in, with dots
// between; variables of a scope that stand together are declared together.
type Var struct {
	Name  string
	Width int // in bits, 1 to 64; 0: a text
}

// flushAt is how many bytes are written at a time, about.
const flushAt = 1 << 16

// A Writer writes one dump. Its first error is returned by Flush, and nothing
// more is written then. A change allocates nothing.
type Writer struct {
	w   io.Writer
	buf []byte
	err error

	codes []string
	width []int
}

// NewWriter begins a dump of the variables with a unit of time.
func NewWriter(w io.Writer, scale Timescale, vars []Var) *Writer {
	d := &Writer{w: w, buf: make([]byte, 0, flushAt+4096)}
	d.buf = fmt.Appendf(d.buf, "$timescale %s $end\n", scale)
	var open []string
	for i, v := range vars {
		d.codes = append(d.codes, code(i))
		d.width = append(d.width, v.Width)
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

// scope closes and opens scopes to get from one to another, which it returns.
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

// Time begins what changes at t, which is above the time before.
func (d *Writer) Time(t uint64) {
	if len(d.buf) >= flushAt {
		d.Flush()
	}
	d.buf = append(d.buf, '#')
	d.buf = strconv.AppendUint(d.buf, t, 10)
	d.buf = append(d.buf, '\n')
}

// Set changes a variable, counted in the order of NewWriter, to a number.
func (d *Writer) Set(i int, v uint64) {
	if d.width[i] == 1 {
		d.buf = append(d.buf, '0'+byte(v&1))
	} else {
		d.buf = append(d.buf, 'b')
		d.buf = appendBits(d.buf, v)
		d.buf = append(d.buf, ' ')
	}
	d.end(i)
}

// SetX is Set of a number whose bits are unknown where x is set.
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

// SetText changes a variable to a text without white space.
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

// Flush writes what has gathered and returns the first error.
func (d *Writer) Flush() error {
	if d.err == nil {
		_, d.err = d.w.Write(d.buf)
	}
	d.buf = d.buf[:0]
	return d.err
}

// appendBits appends v in binary, without leading zeros, which a reader extends
// a value with.
func appendBits(b []byte, v uint64) []byte {
	for n := max(bits.Len64(v), 1) - 1; n >= 0; n-- {
		b = append(b, '0'+byte(v>>n&1))
	}
	return b
}

// code returns the identifier of a variable, of the printable characters.
func code(i int) string {
	var p []byte
	for {
		p = append(p, byte('!'+i%94))
		if i /= 94; i == 0 {
			return string(p)
		}
	}
}
