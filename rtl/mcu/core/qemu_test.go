package core

import (
	"bufio"
	"encoding/binary"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

var qemuCount = flag.Int("core.qemu", 60_000, "instructions compared with QEMU")

// A picture is the state before an instruction.
type picture struct {
	pc, status, ie, epc, cause, tval, scratch uint32
	x                                         [32]uint32
}

// perProgram is how many instructions of a program are compared.
const perProgram = 20_000

// The core does what QEMU does, instruction by instruction, in random programs with
// exceptions. Misaligned loads and stores are left out, since QEMU executes them.
func TestQEMU(t *testing.T) {
	tooltest.Need(t, "qemu-system-riscv32")
	done := 0
	for seed := uint64(1); done < *qemuCount; seed++ {
		p := newProgram(seed, true)
		q := startQEMU(t, p)
		b := newBench(p)
		for i := range perProgram {
			want, err := q.next()
			require.NoError(t, err, "seed %d, instruction %d", seed, i)
			got := b.next()
			if got.pc == handlerAt {
				want.tval = p.trapValue(want)
			}
			if d := p.previous[got.pc]; d != 0 {
				want.x[d] |= 3 << 11 // QEMU clears MPP at an MRET, even without user mode
			}
			require.Equal(t, want, got, "seed %d, instruction %d", seed, i)
			done++
		}
		q.close()
	}
	t.Logf("%d instructions", done)
}

// trapValue returns mtval after an exception. QEMU has the instruction there if it is illegal,
// which may be left out, and the address of a branch or a JAL with a misaligned target, which must be
// the target (Privileged Architecture, 3.1.16).
func (p *program) trapValue(s picture) uint32 {
	w := p.words[s.epc/4%uint32(len(p.words))]
	switch {
	case s.cause == 2 && (s.tval == w || w&3 != 3 && s.tval == w&0xffff):
		return 0
	case s.cause == 0 && s.tval == s.epc && w&0x7f == 0x63:
		return s.epc + (w>>7&1<<11 | w>>25&63<<5 | w>>8&15<<1)
	case s.cause == 0 && s.tval == s.epc && w&0x7f == 0x6f:
		return s.epc + (w&0xff000 | w>>20&1<<11 | w>>21&0x3ff<<1)
	default:
		return s.tval
	}
}

// A qemu runs a program and prints its state before each instruction.
type qemu struct {
	cmd  *exec.Cmd
	in   *bufio.Reader
	pipe *os.File
}

func startQEMU(t *testing.T, p *program) *qemu {
	t.Helper()
	image := make([]byte, 0, imageSize)
	for _, w := range p.words {
		image = binary.LittleEndian.AppendUint32(image, w)
	}
	file := filepath.Join(t.TempDir(), "image")
	require.NoError(t, os.WriteFile(file, image, 0o666))
	r, w, err := os.Pipe()
	require.NoError(t, err)
	cpu := "rv32,h=false,m=false,a=false,f=false,d=false,c=false,s=false,u=false,zba=false,zbb=false,zbc=false,zbs=false,resetvec=0"
	cmd := exec.Command("qemu-system-riscv32", "-M", "none", "-m", strconv.Itoa(imageSize/1024)+"K", "-cpu", cpu,
		"-device", "loader,file="+file+",addr=0", "-display", "none", "-serial", "none", "-monitor", "none",
		"-singlestep", "-d", "cpu,nochain", "-D", "/dev/fd/3")
	cmd.ExtraFiles = []*os.File{w}
	require.NoError(t, cmd.Start())
	require.NoError(t, w.Close())
	q := &qemu{cmd: cmd, in: bufio.NewReaderSize(r, 1<<20), pipe: r}
	t.Cleanup(q.close)
	return q
}

func (q *qemu) close() {
	_ = q.pipe.Close()
	_ = q.cmd.Process.Kill()
	_ = q.cmd.Wait()
}

// next returns the state before the next instruction.
func (q *qemu) next() (picture, error) {
	var s picture
	names := map[string]*uint32{"pc": &s.pc, "mstatus": &s.status, "mie": &s.ie, "mepc": &s.epc, "mcause": &s.cause, "mtval": &s.tval, "mscratch": &s.scratch}
	for {
		line, err := q.in.ReadString('\n')
		if err != nil {
			return s, fmt.Errorf("QEMU ended: %w", err)
		}
		f := strings.Fields(line)
		for i := 0; i+1 < len(f); i += 2 {
			v, err := strconv.ParseUint(f[i+1], 16, 32)
			if err != nil {
				return s, fmt.Errorf("QEMU printed %q", line)
			}
			if n, ok := strings.CutPrefix(f[i], "x"); ok {
				k, _, _ := strings.Cut(n, "/")
				number, _ := strconv.Atoi(k)
				s.x[number] = uint32(v)
				if number == 31 {
					s.status &= 0x88
					return s, nil
				}
			} else if at := names[f[i]]; at != nil {
				*at = uint32(v)
			}
		}
	}
}

// A bench runs the core alone: accesses outside of its memory fail.
type bench struct {
	m      Module
	clocks uint64
	irq    Interrupts
}

func newBench(p *program) *bench {
	b := &bench{m: New(Config{Bytes: imageSize, Counters: true})}
	for i, w := range p.words {
		b.m.Tick(Interrupts{}, Answer{}, Control{Hold: true}, Debug{}, Load{Valid: true, Addr: uint16(i), Data: w})
	}
	return b
}

func (b *bench) tick() {
	r := b.m.Request()
	b.m.Tick(b.irq, Answer{Done: r.Valid, Fault: true}, Control{}, Debug{}, Load{})
	b.clocks++
}

// next returns the state before the next instruction.
func (b *bench) next() picture {
	for b.tick(); b.m.state != stateDecode; b.tick() {
	}
	s := picture{pc: b.m.pc, status: bit(b.m.mpie)<<7 | bit(b.m.mie)<<3, ie: levels(b.m.enable)}
	row := func(i uint32) uint32 { return uint32(b.m.right.Word(i)) }
	s.epc, s.cause, s.tval, s.scratch = row(rowEPC), row(rowCause), row(rowTVal), row(rowScratch)
	for i := range s.x {
		s.x[i] = row(uint32(i))
	}
	return s
}
