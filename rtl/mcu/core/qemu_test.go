package core

import (
	"flag"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/mcu/rv32/rv32test"
)

var qemuCount = flag.Int("core.qemu", 60_000, "instructions compared with QEMU")

// perProgram is how many instructions of a program are compared.
const perProgram = 20_000

// The core does what QEMU does, instruction by instruction, in random programs with
// exceptions. Misaligned loads and stores are left out, since QEMU executes them.
func TestQEMU(t *testing.T) {
	done := 0
	for seed := uint64(1); done < *qemuCount; seed++ {
		p := rv32test.NewProgram(seed, rv32test.ForQEMU)
		q := rv32test.StartQEMU(t, p)
		r := newRig(t, Config{Bytes: rv32test.Size, Counters: true}, p.Words[:]...)
		for i := range perProgram {
			want, err := q.Next()
			require.NoError(t, err, "seed %d, instruction %d", seed, i)
			r.tick()
			r.until("an instruction", func() bool { return r.m.state == stateDecode })
			require.Equal(t, want, r.state(), "seed %d, instruction %d", seed, i)
			done++
		}
		q.Close()
	}
	t.Logf("%d instructions", done)
}

// state returns the state of a core that has read an instruction.
func (r *rig) state() rv32test.State {
	m := &r.m
	s := rv32test.State{PC: m.pc, Status: bit(m.mpie)<<7 | bit(m.mie)<<3, IE: levels(m.enable)}
	s.EPC, s.Cause, s.TVal, s.Scratch = r.row(rowEPC), r.row(rowCause), r.row(rowTVal), r.row(rowScratch)
	for i := range s.X {
		s.X[i] = r.row(uint32(i))
	}
	return s
}
