package rv32_test

import (
	"encoding/binary"
	"flag"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/mcu/rv32"
	"github.com/hilgpu/hilgpu/rtl/mcu/rv32/rv32test"
)

var qemuCount = flag.Int("rv32.qemu", 60_000, "instructions compared with QEMU")

// perProgram is how many instructions of a program are compared.
const perProgram = 20_000

// The model does what QEMU does, instruction by instruction, in random programs with exceptions.
func TestQEMU(t *testing.T) {
	done := 0
	for seed := uint64(1001); done < *qemuCount; seed++ {
		program := rv32test.NewProgram(seed, rv32test.ForQEMU)
		q := rv32test.StartQEMU(t, program)
		var p rv32.Processor
		for _, w := range program.Words {
			p.Memory = binary.LittleEndian.AppendUint32(p.Memory, w)
		}
		for i := range perProgram {
			want, err := q.Next()
			require.NoError(t, err, "seed %d, instruction %d", seed, i)
			if int(p.PC) >= len(p.Memory) {
				p.Execute(0) // QEMU prints no state before an instruction that cannot be read
			}
			require.Equal(t, want, rv32test.Of(&p), "seed %d, instruction %d", seed, i)
			p.Execute(0)
			done++
		}
		q.Close()
	}
	t.Logf("%d instructions", done)
}
