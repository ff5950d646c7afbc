package core

import (
	"encoding/binary"
	"flag"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/mcu/rv32"
	"github.com/hilgpu/hilgpu/rtl/mcu/rv32/rv32test"
)

var modelCount = flag.Int("core.model", 300_000, "instructions compared with the model")

// A device answers the accesses of core and model. What it answers depends on the access and
// on how many there were.
type device struct {
	r    *rand.Rand
	seen []access
}

type access struct {
	addr, size, value uint32 // size 0: a read of a word
	ok                bool
}

// next returns the answer to an access, the same for core and model.
func (d *device) next(n int) access {
	for len(d.seen) <= n {
		d.seen = append(d.seen, access{value: d.r.Uint32(), ok: d.r.IntN(3) != 0})
	}
	return d.seen[n]
}

// A port of the device, with the accesses of one side.
type side struct {
	d   *device
	log []access
}

func (s *side) Read(addr, size uint32) (uint32, bool) {
	a := s.d.next(len(s.log))
	s.log = append(s.log, access{addr: addr, ok: a.ok})
	return a.value >> (8 * (addr & 3)) & (1<<(8*size) - 1), a.ok
}

func (s *side) Write(addr, size, value uint32) bool {
	a := s.d.next(len(s.log))
	s.log = append(s.log, access{addr, size, value & (1<<(8*size) - 1), a.ok})
	return a.ok
}

// answer is the answer of the bus of the core, after some clocks.
func (s *side) answer(q Request, wait *int) Answer {
	if *wait > 0 {
		*wait--
		return Answer{Data: 0xdeadbeef}
	}
	*wait = int(s.d.next(len(s.log)).value % 5)
	if q.Enable == 0 {
		v, ok := s.Read(q.Addr&^3, 4)
		s.log[len(s.log)-1].addr = q.Addr
		return Answer{Done: true, Fault: !ok, Data: v}
	}
	size, low := uint32(0), q.Addr&3
	for k := range uint32(4) {
		size += uint32(q.Enable) >> k & 1
	}
	return Answer{Done: true, Fault: !s.Write(q.Addr, size, q.Data>>(8*low))}
}

// advance runs the core from one instruction to the next, with random interrupts, and the
// model with it: an instruction when the core executes it, an interrupt when the core could
// take it. It returns false if the core waits for ever, since no interrupt is enabled.
func advance(r *rig, irq *rand.Rand, p *rv32.Processor) bool {
	for !p.Waits || p.IE != 0 {
		if irq.IntN(60) == 0 {
			r.irq = Interrupts{irq.IntN(4) == 0, irq.IntN(4) == 0, irq.IntN(4) == 0}
		}
		v, was, carries := levels(pending(r.irq)), r.m.state, r.m.carries
		r.tick()
		switch {
		case was == stateExecute && !carries:
			p.Execute(v)
		case was == stateWait:
			require.Equal(r.t, v&p.IE == 0, r.m.state == stateWait, "a WFI waits")
			p.Waits = r.m.state == stateWait
		case was == stateFetch && r.m.state == stateValue && !r.m.irq:
			p.Execute(v) // cannot be read
		case was == stateFetch && (r.m.state == stateDecode || r.m.state == stateValue):
			require.Equal(r.t, p.Interrupt(v), r.m.state == stateValue, "an interrupt at %#x", p.PC)
		}
		if r.m.state == stateDecode {
			return true
		}
	}
	return false
}

// The core does what the model does, with interrupts at random clocks, misaligned accesses,
// WFI, and a bus whose answers come late and may be faults.
func TestModel(t *testing.T) {
	done, interrupts := 0, 0
	for seed := uint64(1); done < *modelCount; seed++ {
		program := rv32test.NewProgram(seed, rv32test.ForModel)
		d := &device{r: rand.New(rand.NewPCG(seed, 3))}
		mine, its := &side{d: d}, &side{d: d}
		p := rv32.Processor{Bus: its}
		for _, w := range program.Words {
			p.Memory = binary.LittleEndian.AppendUint32(p.Memory, w)
		}
		wait := 0
		r := newRig(t, Config{Bytes: rv32test.Size, Counters: true}, program.Words[:]...)
		r.slave = func(q Request) Answer { return mine.answer(q, &wait) }
		irq := rand.New(rand.NewPCG(seed, 4))
		for i := range perProgram {
			if !advance(r, irq, &p) {
				break
			}
			done++
			if p.Cause>>31 != 0 && p.PC == p.TVec {
				interrupts++
			}
			got := r.state()
			want := rv32test.Of(&p)
			require.Equal(t, want, got, "seed %d, instruction %d", seed, i)
			require.Equal(t, its.log, mine.log, "seed %d, instruction %d: accesses", seed, i)
			its.log, mine.log = its.log[:0], mine.log[:0]
			d.seen = d.seen[:0]
		}
	}
	t.Logf("%d instructions, %d interrupts", done, interrupts)
	require.NotZero(t, interrupts)
}
