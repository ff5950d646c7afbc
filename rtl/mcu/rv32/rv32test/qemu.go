package rv32test

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/mcu/rv32"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

// A State is what a processor has before an instruction. Of mstatus it has MIE and MPIE.
type State struct {
	PC, Status, IE, EPC, Cause, TVal, Scratch uint32
	X                                         [32]uint32
}

// Of returns the state of the model.
func Of(p *rv32.Processor) State {
	s := State{PC: p.PC, IE: p.IE, EPC: p.EPC, Cause: p.Cause, TVal: p.TVal, Scratch: p.Scratch, X: p.X}
	if p.MIE {
		s.Status |= 1 << 3
	}
	if p.MPIE {
		s.Status |= 1 << 7
	}
	return s
}

// A QEMU runs a program and prints its state before each instruction.
type QEMU struct {
	p    *Program
	cmd  *exec.Cmd
	in   *bufio.Reader
	pipe *os.File
	now  State
	at   map[string]*uint32 // places in now, by the name that QEMU prints
}

// StartQEMU runs a program made for QEMU until the end of the test, which needs the program
// qemu-system-riscv32.
func StartQEMU(t *testing.T, p *Program) *QEMU {
	t.Helper()
	tooltest.Need(t, "qemu-system-riscv32")
	image := make([]byte, 0, Size)
	for _, w := range p.Words {
		image = binary.LittleEndian.AppendUint32(image, w)
	}
	file := filepath.Join(t.TempDir(), "image")
	require.NoError(t, os.WriteFile(file, image, 0o666))
	r, w, err := os.Pipe()
	require.NoError(t, err)
	cpu := "rv32,h=false,m=false,a=false,f=false,d=false,c=false,s=false,u=false,zba=false,zbb=false,zbc=false,zbs=false,resetvec=0"
	cmd := exec.Command("qemu-system-riscv32", "-M", "none", "-m", strconv.Itoa(Size/1024)+"K", "-cpu", cpu,
		"-device", "loader,file="+file+",addr=0", "-display", "none", "-serial", "none", "-monitor", "none",
		"-singlestep", "-d", "cpu,nochain", "-D", "/dev/fd/3")
	cmd.ExtraFiles = []*os.File{w}
	require.NoError(t, cmd.Start())
	q := &QEMU{p: p, cmd: cmd, in: bufio.NewReaderSize(r, 1<<20), pipe: r}
	q.at = q.now.names()
	t.Cleanup(q.Close)
	require.NoError(t, w.Close())
	return q
}

// Close ends QEMU.
func (q *QEMU) Close() {
	_ = q.pipe.Close()
	_ = q.cmd.Process.Kill()
	_ = q.cmd.Wait()
	q.in = nil // the test keeps q to its end
}

// Next returns the state before the next instruction. Where QEMU 7.2 differs from the
// specification, it is that of the specification.
func (q *QEMU) Next() (State, error) {
	s, err := q.read()
	if s.PC == HandlerAt {
		s.TVal = q.p.trapValue(s)
	}
	if d := q.p.previous[s.PC]; d != 0 {
		s.X[d] |= 3 << 11 // QEMU clears MPP at an MRET, even without user mode
	}
	return s, err
}

// trapValue returns mtval after an exception. QEMU has the instruction there if it is illegal,
// which may be left out, and the address of a branch or a JAL with a misaligned target, which
// must be the target (Privileged Architecture, 3.1.16).
func (p *Program) trapValue(s State) uint32 {
	w := p.Words[s.EPC/4%uint32(len(p.Words))]
	switch {
	case s.Cause == 2 && (s.TVal == w || w&3 != 3 && s.TVal == w&0xffff):
		return 0
	case s.Cause == 0 && s.TVal == s.EPC && w&0x7f == 0x63:
		return s.EPC + (w>>7&1<<11 | w>>25&63<<5 | w>>8&15<<1)
	case s.Cause == 0 && s.TVal == s.EPC && w&0x7f == 0x6f:
		return s.EPC + (w&0xff000 | w>>20&1<<11 | w>>21&0x3ff<<1)
	default:
		return s.TVal
	}
}

// names returns the parts of a state by the names that QEMU prints.
func (s *State) names() map[string]*uint32 {
	at := map[string]*uint32{"pc": &s.PC, "mstatus": &s.Status, "mie": &s.IE, "mepc": &s.EPC, "mcause": &s.Cause, "mtval": &s.TVal, "mscratch": &s.Scratch}
	for i := range s.X {
		at["x"+strconv.Itoa(i)] = &s.X[i]
	}
	return at
}

// read returns the state that is printed next; the last line of one has x31.
func (q *QEMU) read() (State, error) {
	for {
		line, err := q.in.ReadString('\n')
		if err != nil {
			return q.now, fmt.Errorf("QEMU ended: %w", err)
		}
		f := strings.Fields(line)
		for i := 0; i+1 < len(f); i += 2 {
			v, err := strconv.ParseUint(f[i+1], 16, 32)
			if err != nil {
				return q.now, fmt.Errorf("QEMU printed %q", line)
			}
			name, _, _ := strings.Cut(f[i], "/")
			if at := q.at[name]; at != nil {
				*at = uint32(v)
			}
			if name == "x31" {
				q.now.Status &= 0x88
				return q.now, nil
			}
		}
	}
}
