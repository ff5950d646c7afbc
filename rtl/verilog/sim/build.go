// Package sim builds Verilog for a simulator and runs it as a process.
//
//	Design ── Build ── Simulation ── Start ── Process ── batches of clocks
//
// Verilated is the GPU's Verilog, built with Verilator, as a port.Device.
package sim

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hilgpu/hilgpu/rtl/verilog"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool"
)

// Errors of the tools.
var (
	ErrSim        = errors.New("sim: unknown simulator")
	ErrTool       = errors.New("sim: missing tool")
	ErrBuild      = errors.New("sim: the Verilog does not build")
	ErrSimulation = errors.New("sim: the simulation stopped")
)

// ErrManifest is wrapped by the error for a manifest that does not fit the
// circuit or that this package does not support.
var ErrManifest = errors.New("sim: bad manifest")

// Sim is a simulator.
type Sim string

// The simulators. Icarus also has the value x, which differs from every other
// value.
const (
	Verilator Sim = "verilator"
	Icarus    Sim = "icarus"
)

// Tools returns the programs that the simulator needs. They are listed in package
// tool.
func (s Sim) Tools() []string {
	if s == Icarus {
		return []string{"iverilog", "vvp"}
	}
	return []string{"verilator", "make", "g++"}
}

// Check returns ErrTool with the Debian package if a tool of s is missing, and
// ErrSim if s is not a simulator.
func (s Sim) Check() error {
	if s != Verilator && s != Icarus {
		return fmt.Errorf("%w %q, want %s or %s", ErrSim, s, Verilator, Icarus)
	}
	if p, missing := tool.Missing(s.Tools()...); missing {
		return fmt.Errorf("%w: %s", ErrTool, p)
	}
	return nil
}

// BuildOptions are the options of Build.
type BuildOptions struct {
	Sim    Sim    // "": Verilator
	Cache  string // directory of built models; "": hilgpu in os.UserCacheDir
	Probes bool   // the records have all registers after the output ports
	Replay bool   // for Replay instead of Start: Verilator, without probes
	Waves  bool   // with Replay: each run writes a value change dump

	Unoptimized bool // g++ -O0 instead of -O3: builds sooner, runs slower
	Tuned       bool // with Replay: one evaluation per clock, g++ -O3 -march=native; waves of ports and registers
}

// Layout returns the layout of the simulation's records.
func (m *Simulation) Layout() *Layout { return m.layout }

// Sim returns the simulator.
func (m *Simulation) Sim() Sim { return m.sim }

// A Simulation is a design built for a simulator. Start runs it.
type Simulation struct {
	sim    Sim
	dir    string // of the built files
	layout *Layout
	probes bool
}

// Build builds d, or finds it in the cache under a hash of all inputs of the
// build. It fails with ErrTool, ErrManifest or, with the tool's output, ErrBuild.
func Build(d *verilog.Design, o BuildOptions) (*Simulation, error) {
	if o.Sim == "" {
		o.Sim = Verilator
	}
	if err := o.Sim.Check(); err != nil {
		return nil, err
	}
	lay, err := NewLayout(&d.Manifest)
	if err != nil {
		return nil, err
	}
	if !o.Probes {
		lay = lay.portsOnly()
	}
	files, steps := sources(d, lay, o)
	key, err := hash(o.Sim, files, steps)
	if err != nil {
		return nil, err
	}
	cache, err := CacheDir(o.Cache)
	if err != nil {
		return nil, err
	}
	m := &Simulation{sim: o.Sim, dir: filepath.Join(cache, string(o.Sim)+"-"+key), layout: lay, probes: o.Probes}
	if _, err := os.Stat(m.dir); err == nil {
		return m, nil
	}
	return m, m.build(cache, files, steps)
}

// CacheDir returns dir, or hilgpu in os.UserCacheDir if it is "". It fails with
// ErrBuild.
func CacheDir(dir string) (string, error) {
	if dir != "" {
		return dir, nil
	}
	user, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("%w: no cache directory: %w", ErrBuild, err)
	}
	return filepath.Join(user, "hilgpu"), nil
}

// sources returns the source files and the build commands.
func sources(d *verilog.Design, l *Layout, o BuildOptions) ([]verilog.File, [][]string) {
	files, steps := simulator(d, l, o)
	if o.Unoptimized && o.Sim != Icarus {
		steps[1] = append(steps[1], compiler("-O0")...)
	}
	if o.Probes {
		steps[0] = append(steps[0], "-DLOCKSTEP")
	}
	return files, steps
}

// simulator is sources without the define.
func simulator(d *verilog.Design, l *Layout, o BuildOptions) ([]verilog.File, [][]string) {
	switch {
	case o.Replay:
		return replaySources(d, l, o)
	case o.Sim == Icarus:
		return icarusSources(d, l)
	}
	return verilatorSources(d, l, verilatorMain(l))
}

// compiler returns the variables of make that set the flags of g++, except for code
// that runs once.
func compiler(flags string) []string {
	return []string{"OPT_FAST=" + flags, "OPT_GLOBAL=" + flags}
}

// build builds in a temporary directory and moves the result to the simulation's
// place, so that a simulation in the cache is always complete.
func (m *Simulation) build(cache string, files []verilog.File, steps [][]string) error {
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return fmt.Errorf("%w: %w", ErrBuild, err)
	}
	tmp, err := os.MkdirTemp(cache, ".build-*")
	if err != nil {
		return fmt.Errorf("%w: %w", ErrBuild, err)
	}
	defer os.RemoveAll(tmp)
	for _, f := range files {
		if err := os.WriteFile(filepath.Join(tmp, f.Name), f.Text, 0o644); err != nil {
			return fmt.Errorf("%w: %w", ErrBuild, err)
		}
	}
	for _, step := range steps {
		cmd := exec.Command(step[0], step[1:]...)
		cmd.Dir = tmp
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%w: %s: %w\n%s", ErrBuild, step[0], err, bytes.TrimSpace(out))
		}
	}
	if err := os.Rename(tmp, m.dir); err != nil {
		if _, serr := os.Stat(m.dir); serr != nil {
			return fmt.Errorf("%w: %w", ErrBuild, err)
		}
	}
	return nil
}

// hash returns a hash of the sources, the commands and the tools' versions.
func hash(s Sim, files []verilog.File, steps [][]string) (string, error) {
	h := sha256.New()
	if err := hashMachine(h, steps); err != nil {
		return "", err
	}
	for _, f := range files {
		fmt.Fprintf(h, "%q %d\n", f.Name, len(f.Text))
		h.Write(f.Text)
	}
	fmt.Fprintf(h, "%q\n", steps)
	for _, program := range s.Tools() {
		flag := "--version"
		if s == Icarus {
			flag = "-V"
		}
		out, err := exec.Command(program, flag).Output()
		if err != nil {
			return "", fmt.Errorf("%w: %s %s: %w", ErrBuild, program, flag, err)
		}
		h.Write(out)
	}
	return hex.EncodeToString(h.Sum(nil)[:12]), nil
}

// hashMachine adds this machine's processor to the hash if a step depends on it.
func hashMachine(h io.Writer, steps [][]string) error {
	if !strings.Contains(strings.Join(slices.Concat(steps...), " "), "-march=native") {
		return nil
	}
	out, err := exec.Command("g++", "-march=native", "-Q", "--help=target").Output()
	if err != nil {
		return fmt.Errorf("%w: g++ -march=native: %w", ErrBuild, err)
	}
	_, err = h.Write(out)
	return err
}

// portsOnly returns the layout without registers.
func (l *Layout) portsOnly() *Layout {
	p := *l
	p.Out = p.Out[:p.Outputs:p.Outputs]
	p.OutBytes, _ = place(p.Out)
	return &p
}
