package wave

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"

	"github.com/hilgpu/hilgpu/rtl/gpu"
	"github.com/hilgpu/hilgpu/rtl/hdl"
	"github.com/hilgpu/hilgpu/rtl/hdl/vcd"
)

// A Top is the design of a board around a GPU.
type Top interface {
	// Snapshot stores the registers in the first words of s, one for each signal.
	Snapshot(s []uint64)

	// Signals appends the signals of Snapshot's words; at is the path of the design.
	Signals(at string, s []hdl.Signal) []hdl.Signal

	// GPU returns the GPU, whose path is gpu.
	GPU() *gpu.GPU
}

// topPath is the path of a Top in a dump.
const topPath = "top"

// Pins records a Top, every register and its pins. The caller calls Clock before each clock.
type Pins struct {
	top      Top
	out      *vcd.Writer
	clock    *vcd.Clock
	from, to uint64
	vars     []int // variable of each word, or -1
	signals  []hdl.Signal
	now      []uint64 // the registers, then the pins
	last     []uint64
	count    int // registers

	mu      sync.Mutex
	at      uint64 // the next clock
	written bool
	closed  bool
	err     error
}

// AttachTop returns the recorder of a design of hz clocks per second, with signals for the
// values that Clock gets. It fails with ErrOptions if something is attached already, or if only
// faults or a ring are to be recorded.
func (r *Recorder) AttachTop(t Top, hz uint64, pins ...hdl.Signal) (*Pins, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.w == nil || r.opt.Fault || r.dev != nil || r.pins != nil {
		return nil, fmt.Errorf("%w: gateware is recorded once, and from clock to clock only", ErrOptions)
	}
	r.pins = newPins(r.w, t, hz, pins)
	r.pins.from, r.pins.to = r.opt.From, r.opt.To
	return r.pins, nil
}

// newPins declares the variables.
func newPins(w io.Writer, t Top, hz uint64, pins []hdl.Signal) *Pins {
	p := &Pins{top: t}
	vars := []vcd.Var{{Name: topPath + ".clk", Width: 1}}
	for _, s := range pins {
		s.Name = topPath + "." + s.Name
		p.signals = append(p.signals, s)
	}
	registers := t.Signals(topPath, nil)
	p.count = len(registers)
	p.signals = append(registers, p.signals...)
	for _, s := range p.signals {
		if !present(t.GPU().Config(), strings.TrimPrefix(s.Name, topPath+".")) {
			p.vars = append(p.vars, -1)
			continue
		}
		p.vars = append(p.vars, len(vars))
		if s.Names != nil {
			s.Width = 0
		}
		vars = append(vars, vcd.Var{Name: s.Name, Width: s.Width})
	}
	p.now, p.last = make([]uint64, len(p.signals)), make([]uint64, len(p.signals))
	scale := vcd.NewTimescale(hz)
	p.out = vcd.NewWriter(w, scale, vars)
	p.clock = vcd.NewClock(p.out, scale, 0)
	return p
}

// Clock writes the registers and the pins as they are before a clock, with the inputs of it.
func (p *Pins) Clock(pins ...uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := p.at
	p.at++
	if p.closed || at < p.from || at >= p.to {
		return
	}
	p.top.Snapshot(p.now)
	copy(p.now[p.count:], pins)
	p.clock.Rise(at)
	for i, v := range p.now {
		if v != p.last[i] || !p.written {
			p.set(i, v)
		}
	}
	p.written = true
}

// set writes word i, if it has a variable.
func (p *Pins) set(i int, v uint64) {
	p.last[i] = v
	switch names := p.signals[i].Names; {
	case p.vars[i] < 0:
	case names == nil:
		p.out.Set(p.vars[i], v)
	case v < uint64(len(names)):
		p.out.SetText(p.vars[i], names[v])
	default:
		p.out.SetText(p.vars[i], strconv.FormatUint(v, 10))
	}
}

// empty reports whether no clock was written.
func (p *Pins) empty() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.written
}

// close ends the dump, and returns its first error.
func (p *Pins) close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		if p.written {
			p.clock.End(min(p.at, p.to))
		}
		p.closed, p.err = true, p.out.Flush()
	}
	return p.err
}
