package sim

import (
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/hilgpu/hilgpu/rtl/verilog"
)

// A Signal is a port or a register in the record of a clock. A record is a row of
// little-endian 32-bit words. A signal above 32 bits takes two words, low word
// first.
type Signal struct {
	Name     string // path in the Verilog, below the top
	Instance string // "" for a port
	Local    string // name within the instance
	GoPath   string
	Pos      string // of the Go field; "" for a port
	Width    int    // bits, 1 to 64
	At       int    // byte offset in the record
}

// Wide reports whether the signal takes two words.
func (s *Signal) Wide() bool { return s.Width > 32 }

// Get returns the signal's value in a record.
func (s *Signal) Get(rec []byte) uint64 {
	v := uint64(binary.LittleEndian.Uint32(rec[s.At:]))
	if s.Wide() {
		v |= uint64(binary.LittleEndian.Uint32(rec[s.At+4:])) << 32
	}
	return v
}

// Put stores a value. Bits above the width are stored where the words have room,
// so that a Go value that is too large shows as a difference.
func (s *Signal) Put(rec []byte, v uint64) {
	binary.LittleEndian.PutUint32(rec[s.At:], uint32(v))
	if s.Wide() {
		binary.LittleEndian.PutUint32(rec[s.At+4:], uint32(v>>32))
	}
}

// A Layout describes the records.
type Layout struct {
	Top       string
	In        []Signal // rst, then the other inputs
	Out       []Signal // output ports, then registers, then the write ports of RAMs
	Outputs   int      // number of ports in Out
	Registers int      // number of registers in Out
	Memories  []verilog.Memory
	InBytes   int // of a record
	OutBytes  int
}

// NewLayout assigns the signals of a manifest their places. It fails with
// ErrManifest.
func NewLayout(m *verilog.Manifest) (*Layout, error) {
	l := &Layout{Top: m.Top, Memories: m.Memories}
	for i, p := range m.Ports {
		if want := [2]string{"clk", "rst"}; i < 2 && (p.Name != want[i] || !p.Input || p.Width != 1) {
			return nil, fmt.Errorf("%w: port %d is %s, want %s, an input of 1 bit", ErrManifest, i, p.Name, want[i])
		}
		s := Signal{Name: p.Name, Local: p.Name, GoPath: p.Go, Width: p.Width}
		switch {
		case i == 0:
		case p.Input:
			l.In = append(l.In, s)
		default:
			l.Out = append(l.Out, s)
		}
	}
	if len(m.Ports) < 2 {
		return nil, fmt.Errorf("%w: no clk and rst", ErrManifest)
	}
	l.Outputs = len(l.Out)
	for _, r := range m.Registers {
		l.Out = append(l.Out, Signal{
			Name: r.Verilog, Instance: r.Instance, Local: r.Name, GoPath: r.Go, Pos: r.Pos, Width: r.Width,
		})
	}
	l.Registers = len(m.Registers)
	for _, mem := range m.Memories {
		l.Out = append(l.Out, writePort(mem)...)
	}
	var err error
	if l.InBytes, err = place(l.In); err != nil {
		return nil, err
	}
	l.OutBytes, err = place(l.Out)
	return l, err
}

// writePort returns the signals that show the writes of a RAM: their number, and
// the address and data of the last one. A queue has none: its counters are
// registers, and its entries show up in registers. A ROM has none either.
func writePort(m verilog.Memory) []Signal {
	path, ram := strings.CutSuffix(m.Go, ".words")
	if !ram || m.ROM {
		return nil
	}
	var ss []Signal
	for _, p := range []struct {
		name  string
		width int
	}{{"writes", 32}, {"where", 40}, {"what", 64}} {
		ss = append(ss, Signal{
			Name: m.Instance + ".last_" + p.name, Instance: m.Instance, Local: "last_" + p.name,
			GoPath: path + ".last." + p.name, Width: p.width,
		})
	}
	return ss
}

// place gives the signals their offsets and returns the size of the record in
// bytes.
func place(ss []Signal) (int, error) {
	at := 0
	for i := range ss {
		s := &ss[i]
		if s.Width < 1 || s.Width > 64 {
			return 0, fmt.Errorf("%w: %s has %d bits, want 1 to 64", ErrManifest, s.Name, s.Width)
		}
		s.At = at
		at += 4
		if s.Wide() {
			at += 4
		}
	}
	return at, nil
}

// PackInputs stores rst and the inputs of a clock, in the order of the manifest.
func (l *Layout) PackInputs(rec []byte, rst bool, in []uint64) {
	v := uint64(0)
	if rst {
		v = 1
	}
	l.In[0].Put(rec, v)
	for i, v := range in {
		l.In[i+1].Put(rec, v)
	}
}

// PackOutputs stores the output ports, in the order of the manifest.
func (l *Layout) PackOutputs(rec []byte, out []uint64) {
	for i, v := range out {
		l.Out[i].Put(rec, v)
	}
}

// WordBytes returns the size of a memory's word in a dump, in bytes: 32-bit
// words, low word first.
func WordBytes(m verilog.Memory) int { return (m.Width + 31) / 32 * 4 }
