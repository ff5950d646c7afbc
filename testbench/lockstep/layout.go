package lockstep

import (
	"encoding/binary"
	"fmt"

	"github.com/hilgpu/hilgpu/rtl/verilog"
)

// A signal is a port or a register in a record of a clock. A record is a row of
// little-endian 32-bit words, two of them for a signal above 32 bits, low first.
type signal struct {
	name     string // in the Verilog, below the top
	instance string // "" for a port
	local    string // name within the instance
	goPath   string
	pos      string
	width    int
	at       int // byte offset in the record
}

// wide reports whether the signal takes two words.
func (s *signal) wide() bool { return s.width > 32 }

// get returns the signal's value in a record.
func (s *signal) get(rec []byte) uint64 {
	v := uint64(binary.LittleEndian.Uint32(rec[s.at:]))
	if s.wide() {
		v |= uint64(binary.LittleEndian.Uint32(rec[s.at+4:])) << 32
	}
	return v
}

// put stores a value. Bits above the width are kept where the words have room,
// so that a Go value that is too large differs.
func (s *signal) put(rec []byte, v uint64) {
	binary.LittleEndian.PutUint32(rec[s.at:], uint32(v))
	if s.wide() {
		binary.LittleEndian.PutUint32(rec[s.at+4:], uint32(v>>32))
	}
}

// layout is what the records hold.
type layout struct {
	top      string
	in       []signal // rst, then the other inputs
	out      []signal // output ports, then registers
	outputs  int      // how many of out are ports
	memories []verilog.Memory
	inBytes  int // of a record
	outBytes int
}

func newLayout(m *verilog.Manifest) (*layout, error) {
	l := &layout{top: m.Top, memories: m.Memories}
	for i, p := range m.Ports {
		if want := [2]string{"clk", "rst"}; i < 2 && (p.Name != want[i] || !p.Input || p.Width != 1) {
			return nil, fmt.Errorf("%w: port %d is %s, want %s, an input of 1 bit", ErrManifest, i, p.Name, want[i])
		}
		s := signal{name: p.Name, local: p.Name, goPath: p.Go, width: p.Width}
		switch {
		case i == 0:
		case p.Input:
			l.in = append(l.in, s)
		default:
			l.out = append(l.out, s)
		}
	}
	if len(m.Ports) < 2 {
		return nil, fmt.Errorf("%w: no clk and rst", ErrManifest)
	}
	l.outputs = len(l.out)
	for _, r := range m.Registers {
		l.out = append(l.out, signal{
			name: r.Verilog, instance: r.Instance, local: r.Name, goPath: r.Go, pos: r.Pos, width: r.Width,
		})
	}
	var err error
	if l.inBytes, err = place(l.in); err != nil {
		return nil, err
	}
	l.outBytes, err = place(l.out)
	return l, err
}

// place gives the signals their offsets and returns the size of the record.
func place(ss []signal) (int, error) {
	at := 0
	for i := range ss {
		s := &ss[i]
		if s.width < 1 || s.width > 64 {
			return 0, fmt.Errorf("%w: %s has %d bits, want 1 to 64", ErrManifest, s.name, s.width)
		}
		s.at = at
		at += 4
		if s.wide() {
			at += 4
		}
	}
	return at, nil
}

func (l *layout) packInputs(rec []byte, rst bool, in []uint64) {
	v := uint64(0)
	if rst {
		v = 1
	}
	l.in[0].put(rec, v)
	for i, v := range in {
		l.in[i+1].put(rec, v)
	}
}

func (l *layout) packOutputs(rec []byte, out []uint64) {
	for i, v := range out {
		l.out[i].put(rec, v)
	}
}
