package verilog_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/link/deframe"
	"github.com/hilgpu/hilgpu/rtl/link/enframe"
	"github.com/hilgpu/hilgpu/rtl/lockstep"
	"github.com/hilgpu/hilgpu/rtl/uart"
	"github.com/hilgpu/hilgpu/rtl/verilog"
	"github.com/hilgpu/hilgpu/rtl/verilog/simtest"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

// A block is a module with registers as a lockstep.Circuit. stimulus returns legal inputs
// of the next clock.
type block struct {
	root     any
	outputs  []string
	reset    func()
	tick     func(in []uint64)
	out      func() []uint64
	stimulus func(r *rand.Rand) []uint64
}

func (b block) Root() any { return b.root }

func (b block) Clock(rst bool, in []uint64) {
	if rst {
		b.reset()
	} else {
		b.tick(in)
	}
}

func (b block) Outputs(out []uint64) { copy(out, b.out()) }

func number(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// uartBlock has its line connected to itself, with disturbances.
func uartBlock() block {
	m := uart.New()
	period, wrong := uint64(133), 0
	return block{
		&m, []string{"Received", "Errors", "Noise", "Ready", "Line"}, m.Reset,
		func(in []uint64) { m.Tick(in[0] != 0, uint32(in[1]), in[2] != 0, uint8(in[3])) },
		func() []uint64 {
			valid, data := m.Received()
			framing, broke := m.Errors()
			glitch, low := m.Noise()
			return []uint64{number(valid), uint64(data), number(framing), number(broke), number(glitch), number(low), number(m.Ready()), number(m.Line())}
		},
		func(r *rand.Rand) []uint64 {
			if r.IntN(900) == 0 {
				period = uint64(uart.MinPeriod + r.IntN(300))
			}
			if wrong--; wrong < -200 && r.IntN(300) == 0 {
				wrong = 1 + r.IntN(12)
				if r.IntN(2) == 0 {
					wrong = 600
				}
			}
			return []uint64{number(m.Line() && wrong <= 0), period, number(r.IntN(30) != 0), r.Uint64() & 0xff}
		},
	}
}

// deframeBlock gets frames of a few bytes, most of them good, and reads what there is.
func deframeBlock() block {
	m := deframe.New(20)
	var line []uint64
	late := 0
	next := func(r *rand.Rand) (valid, data, broken uint64) {
		if late++; late < 2 || r.IntN(3) == 0 {
			return 0, r.Uint64() & 0xff, number(late > 1 && r.IntN(200) == 0)
		}
		late = 0
		for len(line) == 0 {
			for range 1 + r.IntN(5) {
				code := 1 + r.IntN(6)
				line = append(line, uint64(code))
				for range code - 1 {
					line = append(line, uint64(1+r.IntN(255)))
				}
			}
			if r.IntN(9) == 0 {
				line[r.IntN(len(line))] = r.Uint64() & 0xff
			}
			line = append(line, 0)
		}
		data, line = line[0], line[1:]
		return 1, data, 0
	}
	return block{
		&m, []string{"Frame", "Other", "Data", "Damaged", "Overflow"}, m.Reset,
		func(in []uint64) {
			m.Tick(in[0] != 0, uint8(in[1]), in[2] != 0, in[3] != 0, uint32(in[4]), in[5] != 0, in[6] != 0)
		},
		func() []uint64 {
			there, half := m.Frame()
			return []uint64{number(there), uint64(half), number(m.Other()), uint64(m.Data()), number(m.Damaged()), number(m.Overflow())}
		},
		func(r *rand.Rand) []uint64 {
			there, half := m.Frame()
			valid, data, broken := next(r)
			at := []uint64{r.Uint64() & 15, deframe.AtLength + r.Uint64()&3, deframe.AtWord + 3}[r.IntN(3)]
			return []uint64{valid, data, broken, number(there && r.IntN(2) == 0), uint64(half)<<8 | at, number(there && r.IntN(25) == 0), number(m.Other() && r.IntN(2) == 0)}
		},
	}
}

// enframeBlock gets frames of up to 16 bytes.
func enframeBlock() block {
	m := enframe.New(20)
	left, wait, slow := 0, 0, 2
	return block{
		&m, []string{"Ready", "Room", "Byte"}, m.Reset,
		func(in []uint64) { m.Tick(in[0] != 0, uint8(in[1]), in[2] != 0, uint32(in[3]), in[4] != 0) },
		func() []uint64 {
			full, data := m.Byte()
			return []uint64{number(m.Ready()), number(m.Room()), number(full), uint64(data)}
		},
		func(r *rand.Rand) []uint64 {
			if m.Room() && wait == 0 {
				left = 1 + r.IntN(16)
			}
			if wait++; r.IntN(500) == 0 {
				slow = 1 + r.IntN(12)
			}
			valid := left > 0 && r.IntN(8) != 0
			last := left == 1
			if valid && m.Ready() {
				left--
			}
			if left == 0 && m.Room() && r.IntN(4) == 0 {
				wait = 0
			}
			data := r.Uint64() & 0xff
			if r.IntN(4) == 0 {
				data = 0
			}
			return []uint64{number(valid), data, number(last), r.Uint64() & 0xff00ffff, number(r.IntN(slow) == 0)}
		},
	}
}

// The blocks of a link behave the same in Go, in Icarus and as the cells of an iCE40. All
// registers and each write of a RAM are compared in each clock.
func TestLinkInLockstep(t *testing.T) {
	for _, tt := range []struct {
		name string
		make func() block
	}{{"uart", uartBlock}, {"deframe", deframeBlock}, {"enframe", enframeBlock}} {
		for _, s := range []lockstep.Sim{lockstep.Icarus, lockstep.Netlist} {
			t.Run(tt.name+" "+string(s), func(t *testing.T) {
				t.Parallel()
				tooltest.Need(t, lockstep.Tools(s)...)
				b := tt.make()
				d, err := verilog.TranslateSample("../..", b.root, b.outputs...)
				require.NoError(t, err)
				l, err := lockstep.New(d, b, lockstep.Options{Sim: s, Cache: simtest.Cache()})
				require.NoError(t, err)
				r := rand.New(rand.NewPCG(9, 10))
				const clocks = 20_000
				seen := make([]int, len(b.out())) // clocks in which an output is not 0
				for i := range clocks {
					if err := l.Clock(i == 0 || r.IntN(2000) == 0, b.stimulus(r)); err != nil {
						l.Close()
						t.Fatal(err)
					}
					for k, v := range b.out() {
						seen[k] += int(min(v, 1))
					}
				}
				require.NoError(t, l.Close())
				for k, n := range seen {
					require.Greater(t, n, 2, "output %d", k)
				}
			})
		}
	}
}
