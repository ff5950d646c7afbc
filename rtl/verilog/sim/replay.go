package sim

import (
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/hilgpu/hilgpu/rtl/verilog"
)

// Stimuli are the inputs of a GPU, clock by clock, in the format that a simulation
// with BuildOptions.Replay reads. The zero value is empty.
type Stimuli struct {
	clocks uint64
	text   []byte
}

// seen marks clocks whose outputs are observed.
const seen = 1 << 31

// Append adds n clocks with the same inputs, n below 2^31. With look set, the
// digest includes the outputs before the first of them.
func (s *Stimuli) Append(l *Layout, rst bool, in []uint64, n uint32, look bool) {
	s.clocks += uint64(n)
	if look {
		n |= seen
	}
	s.text = binary.LittleEndian.AppendUint32(s.text, n)
	at := len(s.text)
	s.text = append(s.text, make([]byte, l.InBytes)...)
	l.PackInputs(s.text[at:], rst, in)
}

// Clocks returns the number of clocks.
func (s *Stimuli) Clocks() uint64 { return s.clocks }

// Factors of a digest: of the digest so far, and of output port i.
const DigestStep = 0x9e3779b97f4a7c15

// DigestFactor returns the factor of output port i.
func DigestFactor(i int) uint64 { return DigestStep * uint64(2*i+3) }

// A Replay is a running simulation that replays stimuli and times itself, without a
// pipe in the loop. Its methods must not be called concurrently.
type Replay struct {
	process *Process
	clocks  uint64
}

// Replay starts the simulation, built with BuildOptions.Replay, with the given
// stimuli. It stores the stimuli in dir, and with BuildOptions.Waves the wave of
// each run. It fails with ErrSimulation.
func (m *Simulation) Replay(dir string, s *Stimuli) (*Replay, error) {
	f, err := os.CreateTemp(dir, "stimuli-*")
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSimulation, err)
	}
	_, err = f.Write(s.text)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSimulation, err)
	}
	p, err := m.start(exec.Command(filepath.Join(m.dir, "obj", "model"), f.Name(), filepath.Join(dir, "verilator.vcd")))
	if err != nil {
		return nil, err
	}
	return &Replay{process: p, clocks: s.clocks}, nil
}

// Run replays the stimuli once and returns the time it took and the digest of the
// outputs. For each observed clock, the digest is multiplied by DigestStep, and
// each output port times its DigestFactor is added. Registers and memories keep
// their values from the last run.
func (r *Replay) Run() (took time.Duration, digest uint64, err error) {
	if _, err := r.process.in.Write([]byte{1}); err != nil {
		return 0, 0, r.process.failed("write", err)
	}
	var out [16]byte
	if err := r.process.read(out[:], nil); err != nil {
		return 0, 0, err
	}
	return time.Duration(binary.LittleEndian.Uint64(out[:])), binary.LittleEndian.Uint64(out[8:]), nil
}

// Close ends the simulation.
func (r *Replay) Close() error { return r.process.Close() }

const replayTail = `
static std::vector<uint32_t> load(const char* name) {
  std::vector<uint32_t> all;
  FILE* f = fopen(name, "rb");
  if (!f) exit(1);
  fseek(f, 0, SEEK_END);
  all.resize(ftell(f) / 4);
  rewind(f);
  if (fread(all.data(), 4, all.size(), f) != all.size()) exit(1);
  fclose(f);
  return all;
}

int main(int, char** argv) {
  const std::vector<uint32_t> all = load(argv[1]);
  VerilatedContext context;
  Vdut dut{&context};
BEFORE  dut.clk = 0;
  dut.eval();
  char go;
  while (read(0, &go, 1) == 1) {
    uint64_t out[2] = {0, 0};
    const auto start = std::chrono::steady_clock::now();
OPEN    for (size_t at = 0; at < all.size(); at += 1 + inWords) {
CLOCKS    }
CLOSE    out[0] = std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - start).count();
    if (write(1, out, sizeof out) != sizeof out) return 1;
  }
  return 0;
}
`

// The clocks of a record of stimuli. The outputs of a tuned design are a clock late.
const (
	plainClocks = `      if (all[at] >> 31) out[1] = out[1] * step + digest(dut);
      drive(dut, &all[at + 1]);
      for (uint32_t n = all[at] & 0x7fffffff; n > 0; n--) {
        dut.clk = 1;
        dut.eval();
        dut.clk = 0;
        dut.eval();
DUMP      }
`
	tunedClocks = `      drive(dut, &all[at + 1]);
      const uint32_t count = all[at] & 0x7fffffff;
      for (uint32_t n = 0; n < count; n++) {
        dut.clk = !dut.clk;
        dut.eval();
DUMP        if (n == 0 && all[at] >> 31) out[1] = out[1] * step + digest(dut);
      }
`
)

// Code of a simulation with waves: includes, and before, for each clock of, and after
// a run. Time must not go back, even in another file.
const (
	traceBefore = "  context.traceEverOn(true);\n  VerilatedVcdC vcd;\n  uint64_t time = 0;\n  dut.trace(&vcd, 99);\n"
	traceOpen   = "    vcd.open(argv[2]);\n"
	traceDump   = "        vcd.dump(time++);\n"
	traceClose  = "    vcd.close();\n"
)

// replaySources returns the sources of a Replay and the build commands.
func replaySources(d *verilog.Design, l *Layout, o BuildOptions) ([]verilog.File, [][]string) {
	if o.Tuned {
		d = tuned(d, o.Waves)
		changed := *l
		changed.Top = d.Manifest.Top
		l = &changed
	}
	files, steps := verilatorSources(d, l, replayMain(l, o))
	if o.Waves {
		steps[0] = append(steps[0], "--trace")
	}
	if o.Tuned {
		steps[0] = append(steps[0], "--no-trace-params")
		steps[1] = append(steps[1], compiler(tunedFlags)...)
	}
	return files, steps
}

// replayMain returns the program of a Replay.
func replayMain(l *Layout, o BuildOptions) string {
	var b strings.Builder
	clocks := plainClocks
	if o.Tuned {
		clocks = tunedClocks
	}
	places := strings.NewReplacer("BEFORE", "", "OPEN", "", "DUMP", "", "CLOSE", "")
	if o.Waves {
		b.WriteString("#include \"verilated_vcd_c.h\"\n")
		places = strings.NewReplacer("BEFORE", traceBefore, "OPEN", traceOpen, "DUMP", traceDump, "CLOSE", traceClose)
	}
	b.WriteString("#include <chrono>\n#include <cstdint>\n#include <cstdio>\n#include <cstdlib>\n#include <unistd.h>\n#include <vector>\n#include \"Vdut.h\"\n\n")
	fmt.Fprintf(&b, "static const size_t inWords = %d;\nstatic const uint64_t step = %#xull;\n\n", l.InBytes/4, uint64(DigestStep))
	b.WriteString(driveInputs(l))
	b.WriteString("static uint64_t digest(const Vdut& d) {\n  return 0")
	for i := range l.Out[:l.Outputs] {
		fmt.Fprintf(&b, "\n    + uint64_t(d.%s) * %#xull", strings.ReplaceAll(l.Out[i].Name, "__", "___05F"), DigestFactor(i))
	}
	b.WriteString(";\n}\n" + places.Replace(strings.Replace(replayTail, "CLOCKS", clocks, 1)))
	return b.String()
}
