package pins

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/hilgpu/hilgpu/bus/fault"
)

// Faults are what goes wrong at the pins of a UART. Each is the probability that it happens
// with a byte on the line, 0 to 1.
//
//	Bit     a bit of the byte has the other level, start and stop bits included
//	Glitch  the line has the other level for less than half a bit, within two bytes' time
//	Break   the line is low for 2 to 20 bytes' time
//	Unplug  both lines are open, which is high, for 10 to 1000 bytes' time
//	Reset   the board is reset; only with bytes to the board
//	Seed    of the random numbers
type Faults struct {
	Bit, Glitch, Break, Unplug, Reset float64
	Seed                              uint64
}

// FaultStats counts the faults injected at the pins.
type FaultStats struct {
	Bits, Glitches, Breaks          uint64 // of a UART
	FCS, Runts, Oversizes, Carriers uint64 // of an Ethernet
	Unplugs, Resets                 uint64
}

// All returns their sum.
func (s FaultStats) All() uint64 {
	return s.Bits + s.Glitches + s.Breaks + s.Unplugs + s.FCS + s.Runts + s.Oversizes + s.Carriers + s.Resets
}

// fields returns the probabilities with their names in a selector.
func (f *Faults) fields() []field {
	return []field{
		{"bit", &f.Bit, "UART: a bit of a byte has the other level"},
		{"glitch", &f.Glitch, "UART: the line has the other level for less than half a bit"},
		{"break", &f.Break, "UART: the line is low for 2 to 20 bytes' time"},
		{"unplug", &f.Unplug, "UART: both lines are open for 10 to 1000 bytes' time"},
		{"reset", &f.Reset, "the board is reset"},
	}
}

// A field is a fault with its name in a selector, its probability and its description.
type field struct {
	name string
	p    *float64
	doc  string
}

// FaultDocs returns the name and the description of each fault at pins, 0 to 1 for each byte of
// a UART and each frame of an Ethernet.
func FaultDocs() (all [][2]string) {
	for _, f := range append(new(Faults).fields(), new(EtherFaults).fields()...) {
		if doc := [2]string{f.name, f.doc}; !slices.Contains(all, doc) {
			all = append(all, doc)
		}
	}
	return all
}

// FaultNames returns the names that ParseFaults and ParseEtherFaults know, of frames last.
func FaultNames() []string {
	return slices.Concat(names(new(Faults).fields()), names(new(EtherFaults).fields()), fault.Names())
}

func names(all []field) []string {
	var out []string
	for _, f := range all {
		if !slices.Contains(out, f.name) {
			out = append(out, f.name)
		}
	}
	return out
}

// ParseFaults parses faults at the pins of a UART and faults of frames, such as
// "bit=0.001,loss=0.05,seed=7". It fails with fault.ErrConfig.
func ParseFaults(text string) (Faults, fault.Config, error) {
	var f Faults
	c, err := parse(text, f.fields())
	f.Seed = c.Seed
	return f, c, err
}

// ParseEtherFaults is ParseFaults for an Ethernet, as in "fcs=0.01,runt=0.01,seed=7".
func ParseEtherFaults(text string) (EtherFaults, fault.Config, error) {
	var f EtherFaults
	c, err := parse(text, f.fields())
	f.Seed = c.Seed
	return f, c, err
}

// parse sets fields, and returns the faults of frames.
func parse(text string, fields []field) (fault.Config, error) {
	var rest []string
	given := map[string]bool{}
	known := append(names(fields), fault.Names()...)
	for part := range strings.SplitSeq(text, ",") {
		name, value, _ := strings.Cut(part, "=")
		i := slices.IndexFunc(fields, func(f field) bool { return f.name == name })
		if i < 0 {
			if !slices.Contains(known, name) && text != "" {
				return fault.Config{}, fmt.Errorf("%w: %s, want one of %s", fault.ErrConfig, unknown(name), strings.Join(known, ", "))
			}
			rest = append(rest, part)
			continue
		}
		if !fault.ParseProbability(value, fields[i].p) {
			return fault.Config{}, fmt.Errorf("%w: %s is %q, want a probability from 0 to 1", fault.ErrConfig, name, value)
		}
		if given[name] {
			return fault.Config{}, fmt.Errorf("%w: %s is given twice", fault.ErrConfig, name)
		}
		given[name] = true
	}
	return fault.Parse(strings.Join(rest, ","))
}

// unknown returns why a board does not have a fault.
func unknown(name string) string {
	switch {
	case slices.Contains(names(new(Faults).fields()), name):
		return name + " needs a board with a UART"
	case slices.Contains(names(new(EtherFaults).fields()), name):
		return name + " needs a board on Ethernet"
	}
	return fmt.Sprintf("unknown %q", name)
}

// A faulter injects faults.
type faulter struct {
	opt   Faults
	rng   *rand.Rand
	bit   uint64 // clocks of a bit, in 1/1024
	stats FaultStats

	toBoard, toHost pulse
	open            uint64 // the lines are open before this clock
	reset           bool
	idle            uint64 // clock after which a byte of the board begins
}

// A pulse is a time in which a line has another level than the sender's.
type pulse struct {
	from, to uint64 // clocks
	low      bool   // the level is low; otherwise it is inverted
}

func newFaulter(f Faults) *faulter {
	return &faulter{opt: f, rng: rand.New(rand.NewPCG(f.Seed, 0x70696e73))}
}

// clocks returns the clock, after the start of a byte, in which a bit of the sender begins.
func (f *faulter) clocks(bits uint64) uint64 { return (bits*f.bit + bitScale - 1) / bitScale }

// happens returns true with a probability.
func (f *faulter) happens(p float64) bool { return p > 0 && f.rng.Float64() < p }

// byteBegins chooses the faults of a byte to the board that begins in a clock.
func (f *faulter) byteBegins(now uint64) {
	f.choose(&f.toBoard, now)
	if f.happens(f.opt.Reset) {
		f.stats.Resets++
		f.reset = true
	}
}

// choose chooses the faults of a byte that begins in a clock.
func (f *faulter) choose(p *pulse, now uint64) {
	if f.happens(f.opt.Unplug) {
		f.stats.Unplugs++
		f.open = now + f.clocks((10+f.rng.Uint64N(991))*10)
	}
	if p.to > now {
		return // one pulse at a time
	}
	switch {
	case f.happens(f.opt.Bit):
		f.stats.Bits++
		i := f.rng.Uint64N(10)
		*p = pulse{from: now + f.clocks(i), to: now + f.clocks(i+1)}
	case f.happens(f.opt.Glitch):
		f.stats.Glitches++
		from := now + f.rng.Uint64N(f.clocks(20))
		*p = pulse{from: from, to: from + 1 + f.rng.Uint64N(max(1, f.bit/(2*bitScale)-1))}
	case f.happens(f.opt.Break):
		f.stats.Breaks++
		*p = pulse{from: now, to: now + f.clocks((2+f.rng.Uint64N(19))*10), low: true}
	}
}

// resets reports once that the board is to be reset.
func (f *faulter) resets() bool {
	r := f.reset
	f.reset = false
	return r
}

// down returns the level at the board.
func (f *faulter) down(now uint64, level bool) bool {
	if now < f.open {
		return true
	}
	return f.toBoard.apply(now, level)
}

// up returns the level at the host. A byte of the board begins with a low level after at
// least a stop bit.
func (f *faulter) up(now uint64, level bool) bool {
	if !level && now >= f.idle {
		f.idle = now + f.clocks(19)/2
		f.choose(&f.toHost, now)
	}
	if now < f.open {
		return true
	}
	return f.toHost.apply(now, level)
}

// apply returns the level with the pulse.
func (p *pulse) apply(now uint64, level bool) bool {
	if now < p.from || now >= p.to {
		return level
	}
	return !p.low && !level
}
