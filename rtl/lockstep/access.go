package lockstep

import (
	"encoding/binary"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/hilgpu/hilgpu/rtl/verilog"
	"github.com/hilgpu/hilgpu/rtl/verilog/sim"
)

// A probe reads one register of the Go side by reflection, since the fields of a
// circuit are not exported.
type probe struct {
	v      reflect.Value
	isBool bool
	wide   bool
	at     int
}

// pack stores the register's value in a record.
func (p *probe) pack(rec []byte) {
	var v uint64
	if !p.isBool {
		v = p.v.Uint()
	} else if p.v.Bool() {
		v = 1
	}
	binary.LittleEndian.PutUint32(rec[p.at:], uint32(v))
	if p.wide {
		binary.LittleEndian.PutUint32(rec[p.at+4:], uint32(v>>32))
	}
}

// newProbes finds the registers of the layout, by path from root.
func newProbes(root any, l *sim.Layout) ([]probe, error) {
	var ps []probe
	for _, s := range l.Out[l.Outputs:] {
		v, err := resolve(root, s.GoPath)
		if err != nil {
			return nil, err
		}
		p := probe{v: v, isBool: v.Kind() == reflect.Bool, wide: s.Wide(), at: s.At}
		if !p.isBool && !v.CanUint() {
			return nil, fmt.Errorf("%w: %s is a %s, want a bool or an unsigned integer", ErrManifest, s.GoPath, v.Type())
		}
		ps = append(ps, p)
	}
	return ps, nil
}

// A goMemory is a memory of the Go side.
type goMemory struct {
	memory verilog.Memory
	v      reflect.Value
}

func newMemories(root any, ms []verilog.Memory) ([]goMemory, error) {
	var ws []goMemory
	for _, m := range ms {
		v, err := resolve(root, m.Go)
		if err != nil {
			return nil, err
		}
		if k := v.Kind(); k != reflect.Slice && k != reflect.Array || v.Len() != m.Words {
			return nil, fmt.Errorf("%w: %s is a %s, want %d words", ErrManifest, m.Go, v.Type(), m.Words)
		}
		width, err := bitWidth(v.Type().Elem(), "")
		if err != nil {
			return nil, err
		}
		if width != m.Width && !narrow(m, v) {
			return nil, fmt.Errorf("%w: a word of %s has %d bits, want %d", ErrManifest, m.Go, width, m.Width)
		}
		ws = append(ws, goMemory{memory: m, v: v})
	}
	return ws, nil
}

// narrow reports whether v has the words of an hdl.RAM or hdl.ROM of less than 64 bits,
// which have an element of 64 bits each.
func narrow(m verilog.Memory, v reflect.Value) bool {
	return v.Type().Elem().Kind() == reflect.Uint64 && m.Width < 64 && strings.HasSuffix(m.Go, ".words")
}

// word stores word i in p, in the format of a dump.
func (w *goMemory) word(i int, p []byte) {
	if v := w.v.Index(i); v.Kind() == reflect.Uint64 {
		var b [8]byte
		binary.LittleEndian.PutUint64(b[:], v.Uint())
		copy(p, b[:])
	} else {
		clear(p)
		packBits(p, 0, v, "")
	}
}

// bitWidth returns the width of a type in hardware. tag is the field's w tag.
func bitWidth(t reflect.Type, tag string) (int, error) {
	switch t.Kind() {
	case reflect.Bool:
		return 1, nil
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		if tag == "" {
			return t.Bits(), nil
		}
		n, err := strconv.Atoi(tag)
		if err != nil {
			return 0, fmt.Errorf("%w: width %q", ErrManifest, tag)
		}
		return n, nil
	case reflect.Array:
		n, err := bitWidth(t.Elem(), tag)
		return n * t.Len(), err
	case reflect.Struct:
		sum := 0
		for i := range t.NumField() {
			n, err := bitWidth(t.Field(i).Type, t.Field(i).Tag.Get("w"))
			if err != nil {
				return 0, err
			}
			sum += n
		}
		return sum, nil
	}
	return 0, fmt.Errorf("%w: a %s in a memory", ErrManifest, t)
}

// packBits stores v in p at bit at, with the first field or element lowest, and
// returns the next bit. The type of v must be one that bitWidth accepts.
func packBits(p []byte, at int, v reflect.Value, tag string) int {
	switch v.Kind() {
	case reflect.Array:
		for i := range v.Len() {
			at = packBits(p, at, v.Index(i), tag)
		}
		return at
	case reflect.Struct:
		for i := range v.NumField() {
			at = packBits(p, at, v.Field(i), v.Type().Field(i).Tag.Get("w"))
		}
		return at
	case reflect.Bool:
		if v.Bool() {
			p[at/8] |= 1 << (at % 8)
		}
		return at + 1
	}
	n, _ := bitWidth(v.Type(), tag)
	for i := range n {
		p[(at+i)/8] |= byte(v.Uint()>>i&1) << ((at + i) % 8)
	}
	return at + n
}

// resolve follows a path such as "cp0.b[2].x" from the struct at root.
func resolve(root any, path string) (reflect.Value, error) {
	v := reflect.ValueOf(root).Elem()
	for part := range strings.SplitSeq(path, ".") {
		name, index, _ := strings.Cut(part, "[")
		if v.Kind() != reflect.Struct {
			return v, fmt.Errorf("%w: %s: no field %s in a %s", ErrManifest, path, name, v.Type())
		}
		t := v.Type()
		if v = v.FieldByName(name); !v.IsValid() {
			return v, fmt.Errorf("%w: %s: no field %s in %s", ErrManifest, path, name, t)
		}
		for index != "" {
			number, rest, ok := strings.Cut(index, "]")
			i, err := strconv.Atoi(number)
			list := v.Kind() == reflect.Array || v.Kind() == reflect.Slice
			if !ok || err != nil || !list || i < 0 || i >= v.Len() {
				return v, fmt.Errorf("%w: %s: bad index %q", ErrManifest, path, part)
			}
			v, index = v.Index(i), strings.TrimPrefix(rest, "[")
		}
	}
	return v, nil
}
