package wave

import (
	"io"
	"strconv"
	"strings"

	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/rtl/gpu"
	"github.com/hilgpu/hilgpu/rtl/hdl"
	"github.com/hilgpu/hilgpu/rtl/hdl/vcd"
)

// run is the number of words that are compared at a time.
const run = 8

// A dump writes the changes of a GPU's words to a value change dump.
type dump struct {
	out     *vcd.Writer
	now     []uint64 // the registers, the ports, and the opcodes
	last    []uint64 // as they were last written
	names   [][]string
	vars    []int // variable of each word, or -1
	ops     []op
	parts   []part // of the registers, then the ports and the opcodes
	clock   *vcd.Clock
	written bool   // something was written
	at      uint64 // the clock after the last one that was written
}

// A part is a range of words, extended to runs.
type part struct{ from, to int }

// parts returns the parts of the words of g, of which the last one has the words after the
// registers up to size.
func parts(g *gpu.GPU, size int) []part {
	var all []part
	at := 0
	for _, n := range append(g.Parts(), size-gpu.GPUWords) {
		all = append(all, part{at / run * run, (at + n + run - 1) / run * run})
		at += n
	}
	return all
}

// An op is a word that holds an opcode, and the variable for its name.
type op struct{ word, opcode int }

// newDump declares the variables of g.
func newDump(w io.Writer, g *gpu.GPU) *dump {
	signals, order, ops := declared(g)
	d := &dump{ops: ops}
	size := (len(signals) + run - 1) / run * run
	d.now, d.last = make([]uint64, size), make([]uint64, size)
	d.parts = parts(g, size)
	d.vars, d.names = make([]int, size), make([][]string, size)
	vars := []vcd.Var{{Name: clockName, Width: 1}}
	for i := range d.vars {
		d.vars[i] = -1
	}
	for _, i := range order {
		s := signals[i]
		if !present(g.Config(), s.Name) {
			continue
		}
		d.vars[i], d.names[i] = len(vars), s.Names
		if s.Names != nil {
			s.Width = 0
		}
		vars = append(vars, vcd.Var{Name: s.Name, Width: s.Width})
	}
	scale := vcd.NewTimescale(uint64(g.Config().ClockHz))
	d.out = vcd.NewWriter(w, scale, vars)
	d.clock = vcd.NewClock(d.out, scale, 0)
	return d
}

// clockName is the name of the clock in a dump of a GPU.
const clockName = "gpu.clk"

// declared returns the signals of g: the registers, the ports and the opcodes. order has the
// indices of the signals in the order of the dump, in which an opcode follows its register.
func declared(g *gpu.GPU) (signals []hdl.Signal, order []int, ops []op) {
	signals = (&ports{}).Signals("gpu", g.Signals("gpu", nil))
	for i, s := range signals {
		order = append(order, i)
		if instance, ok := strings.CutSuffix(s.Name, ".decode_opcode"); ok {
			order = append(order, len(signals))
			ops = append(ops, op{len(signals), i})
			signals = append(signals, hdl.Signal{Name: instance + ".op", Names: opcodes()})
		}
	}
	return signals, order, ops
}

// Signals returns the signals of the dump of a GPU in the default configuration, in their order.
// One with names is a text in the dump. The dump of a GPU with one node lacks those of the second.
func Signals() []hdl.Signal {
	g, err := gpu.New(gpu.Default())
	if err != nil {
		panic(err) // the default configuration is valid
	}
	signals, order, _ := declared(g)
	all := []hdl.Signal{{Name: clockName, Width: 1}}
	for _, i := range order {
		all = append(all, signals[i])
	}
	return all
}

// present reports whether a GPU of configuration c has the block of the signal.
func present(c gpu.Config, signal string) bool {
	second := strings.HasPrefix(signal, "gpu.cp1.") || strings.HasPrefix(signal, "gpu.fence1.")
	return c.Nodes == 2 || !second
}

// opcodes returns the names of the packets, indexed by opcode.
func opcodes() []string {
	names := make([]string, 256)
	for i := range names {
		names[i] = strconv.Itoa(i)
		if l, ok := pkt.Lookup(uint8(i)); ok {
			names[i] = l.Name
		}
	}
	return names
}

// sample writes a clock, and the words that have changed since they were last
// written.
func (d *dump) sample(clock uint64, g *gpu.GPU, p *ports) {
	stored := ^uint32(0)
	if d.written && clock == d.at {
		stored = g.Update(d.now) | 1<<(len(d.parts)-1)
	} else {
		g.Snapshot(d.now)
	}
	p.Snapshot(d.now[gpu.GPUWords:])
	for _, o := range d.ops {
		d.now[o.word] = d.now[o.opcode]
	}
	d.clock.Rise(clock)
	if !d.written {
		for i := range d.now {
			d.set(i)
		}
	}
	for i, p := range d.parts {
		if stored>>i&1 != 0 {
			d.changes(p)
		}
	}
	d.written, d.at = true, clock+1
}

// changes writes the words of a part that have changed.
func (d *dump) changes(p part) {
	for at := p.from; at < p.to; at += run {
		now, last := (*[run]uint64)(d.now[at:]), (*[run]uint64)(d.last[at:])
		any := (now[0] ^ last[0]) | (now[1] ^ last[1]) | (now[2] ^ last[2]) | (now[3] ^ last[3]) |
			(now[4] ^ last[4]) | (now[5] ^ last[5]) | (now[6] ^ last[6]) | (now[7] ^ last[7])
		if any == 0 {
			continue
		}
		for i := range now {
			if now[i] != last[i] {
				d.set(at + i)
			}
		}
	}
}

// set writes word i, if it has a variable.
func (d *dump) set(i int) {
	v := d.now[i]
	d.last[i] = v
	switch names := d.names[i]; {
	case d.vars[i] < 0:
	case names == nil:
		d.out.Set(d.vars[i], v)
	case v < uint64(len(names)):
		d.out.SetText(d.vars[i], names[v])
	default:
		d.out.SetText(d.vars[i], strconv.FormatUint(v, 10))
	}
}

// close ends the dump at a clock.
func (d *dump) close(clock uint64) error {
	if d.written {
		d.clock.End(clock)
	}
	return d.out.Flush()
}
