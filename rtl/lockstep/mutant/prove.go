package mutant

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hilgpu/hilgpu/rtl/lockstep"
	"github.com/hilgpu/hilgpu/rtl/verilog"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool"
)

// ErrYosys is wrapped by an error of yosys or yosys-abc that says nothing about the
// proof.
var ErrYosys = errors.New("mutant: yosys failed")

// errKilled is the error of a scope whose yosys was killed, mostly for want of memory: its
// proofs decide nothing.
var errKilled = errors.New("mutant: yosys was killed")

//go:embed proof_cut.v
var proofCut []byte

//go:embed proof_pins.v
var proofPins []byte

// A proof is a command of ABC and its limit of processor time, so that the load of the
// machine does not decide. A command that exceeds the limit proves nothing.
type proof struct {
	name    string
	depth   int // clocks before a difference in which registers have the values of the design
	command string
	proven  string // output if there is never a difference
	refuted string // output if there may be a difference
	limit   time.Duration
}

// proofs returns the proofs in order, the fastest one first.
func proofs() []proof {
	const limit, short = 60 * time.Second, 10 * time.Second
	all := []proof{{"equal in every state", everyState, "&get; &fraig -y; &put; iprove", "UNSATISFIABLE", "SATISFIABLE", limit}}
	for _, depth := range []int{1, 2, 3, everyDepth} {
		way := proof{"equal in every reachable state", depth, "&get; &fraig -y; &put; pdr", "Property proved.", "was asserted in frame", short}
		if depth == everyDepth {
			way.limit = limit
		}
		all = append(all, way)
	}
	return all
}

// A verdict is the result of a proof.
type verdict uint8

const (
	undecided verdict = iota // the time has passed
	proven                   // there is never a difference
	refuted                  // there may be one
)

// A Prover proves that mutants are equivalent: for all inputs and all contents of the
// large memories, every register, port and memory write has the same value. yosys converts
// a scope to logic, and ABC proves or refutes that two copies, one with a mutant active,
// never differ. What holds for any inputs of a scope also holds in the design.
type Prover struct {
	d      *verilog.Design // with the mutants
	zeroes bool            // registers without a reset value start at 0
	mu     sync.Mutex
	logic  map[scope]*logic
}

// A scope is a module with its instances, or without some of them. The outputs of one that is left out may be anything, but are equal in both
// copies, and its inputs are compared. It says nothing of its registers.
type scope struct {
	module string
	out    out
	keep   string // module that is not left out
}

// An out is the instances that a scope leaves out.
type out uint8

const (
	outNone  out = iota
	outLarge     // those of modules of more than largeLines lines
	outAll
)

// largeLines bounds the modules whose logic is small.
const largeLines = 500

// The logic of a scope, once made is done.
type logic struct {
	made sync.Once
	n    *netlist
	err  error
}

// checkTools returns lockstep.ErrTool if a tool of Run is missing.
func checkTools() error {
	if err := lockstep.Verilator.Check(); err != nil {
		return err
	}
	return checkProver()
}

// checkProver returns lockstep.ErrTool if a tool of a Prover is missing.
func checkProver() error {
	if p, missing := tool.Missing("yosys", "yosys-abc"); missing {
		return fmt.Errorf("%w: %s", lockstep.ErrTool, p)
	}
	return nil
}

// NewProver returns a prover for d with the mutants ms. It fails with lockstep.ErrTool.
func NewProver(d *verilog.Design, ms []Mutant) (*Prover, error) {
	if err := checkProver(); err != nil {
		return nil, err
	}
	mutated, err := mutate(d, ms)
	if err != nil {
		return nil, err
	}
	p := &Prover{d: mutated, zeroes: true, logic: map[scope]*logic{}}
	initial := regexp.MustCompile(`initial \w+ = [0-9]+'[bdh]0*[1-9a-f]`)
	for _, f := range mutated.Files {
		p.zeroes = p.zeroes && !initial.Match(f.Text)
	}
	assume(mutated, rules())
	return p, nil
}

// netlist returns the logic of a scope. It fails with ErrYosys.
func (p *Prover) netlist(s scope) (*netlist, error) {
	p.mu.Lock()
	l := p.logic[s]
	if l == nil {
		l = &logic{}
		p.logic[s] = l
	}
	p.mu.Unlock()
	l.made.Do(func() { l.n, l.err = p.read(s) })
	return l.n, l.err
}

// read has yosys convert a scope to logic.
func (p *Prover) read(s scope) (*netlist, error) {
	dir, err := os.MkdirTemp("", "hilgpu-mutant-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	files := append([]verilog.File{{Name: "proof_cut.v", Text: proofCut}, {Name: "proof_pins.v", Text: proofPins}}, p.d.Files...)
	for _, f := range files {
		if f.Name == s.module+".v" {
			f.Text = opened(f.Text)
		}
		if err := os.WriteFile(filepath.Join(dir, f.Name), fewWords(f.Text), 0o644); err != nil {
			return nil, err
		}
	}
	cmd := exec.Command("yosys", "-q", "-p", p.script(s))
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState != nil && !cmd.ProcessState.Exited() {
		return nil, errKilled
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w\n%s", ErrYosys, err, bytes.TrimSpace(out))
	}
	text, err := os.ReadFile(filepath.Join(dir, "flat.aag"))
	if err != nil {
		return nil, err
	}
	return readNetlist(text)
}

// fewWords limits the RAMs of a file to 32 words. yosys has no wire as wide as a large RAM,
// and the proof sees the ports of a RAM of more than 16 words but not its words: their
// addresses keep their widths.
func fewWords(text []byte) []byte {
	return bytes.ReplaceAll(text, []byte("mem [0:WORDS-1]"), []byte("mem [0:(WORDS < 32 ? WORDS : 32)-1]"))
}

// script returns the commands that make flat.aag: a flattened scope without its registers
// and memories. An unknown value may be anything, but is equal in both
// copies; no earlier step may exploit it. Unread registers are kept, because lockstep
// compares them.
func (p *Prover) script(s scope) string {
	read, box := "read_verilog -DSYNTHESIS", "select -none"
	for _, f := range p.d.Files {
		read += " " + f.Name
	}
	if instances := p.leftOut(s); len(instances) > 0 {
		box = "blackbox " + strings.Join(instances, " ")
	}
	return strings.Join([]string{
		read, "hierarchy -check -top " + s.module, box, "select -clear", "read_verilog proof_pins.v",
		"proc -norom", "flatten", "memory_collect", "select -set small t:$mem_v2 r:SIZE<=16 %i", "memory_map @small",
		"setundef -undriven -anyseq", "techmap -map proof_cut.v t:$dff t:$mem_v2", "select -assert-none t:$mem* t:$*dff* t:$*latch*",
		"rename -enumerate -pattern proof_held_% t:held", "expose -evert -dff",
		"opt_clean -purge", "opt_expr", "opt_merge -share_all", "opt_muxtree", "opt_reduce", "opt_merge -share_all", "opt_expr", "opt_clean -purge",
		"techmap -map proof_cut.v t:$anyseq", "rename -enumerate -pattern proof_free_% t:free", "expose -evert -dff",
		"techmap", "aigmap", "write_aiger -ascii -symbols flat.aag",
	}, "; ")
}

// An effort is a part of the proofs.
type effort string

const (
	fast effort = "fast" // that the first scope of the mutant is equal in every state
	slow effort = "slow" // the others
)

// Prove returns the name of the proof that m is equivalent, or "" if there is none, in
// which case m may still be equivalent. late reports whether a proof took too long. It fails
// with ErrYosys.
func (p *Prover) Prove(m Mutant, how effort) (name string, late bool, err error) {
	for i, s := range p.scopes(m) {
		for _, way := range proofs() {
			if way.depth != everyState && !p.zeroes || (how == fast) != (i == 0 && way.depth == everyState) {
				continue
			}
			got, err := p.try(m, way, s)
			switch {
			case errors.Is(err, errKilled):
				late = true
			case err != nil:
				return "", late, err
			case got == proven:
				return way.name, false, nil
			case got == undecided:
				late = true
			}
		}
	}
	return "", late, nil
}

// scopes returns the scopes that may show that m is equivalent, the smallest first. A
// module whose parameters are widths has other logic in each instance, and a file with several
// modules does not tell which of them has the mutant: such a mutant has the complete design. The
// others have the design without the large modules, and then the complete one.
func (p *Prover) scopes(m Mutant) []scope {
	design := scope{module: p.d.Manifest.Top}
	alone := slices.ContainsFunc(p.d.Files, func(f verilog.File) bool { return f.Name == m.File && single(f) })
	if m.Module == "" || !alone {
		return []scope{design}
	}
	var all []scope
	if len(p.instances(m.Module)) > 0 {
		all = append(all, scope{module: m.Module, out: outAll})
	}
	if m.Module != design.module {
		all = append(all, scope{module: m.Module})
	}
	return append(all, scope{module: design.module, out: outLarge, keep: m.Module}, design)
}

// leftOut returns the modules whose instances a scope leaves out.
func (p *Prover) leftOut(s scope) []string {
	var all []string
	for _, name := range p.instances(s.module) {
		i := slices.IndexFunc(p.d.Files, func(f verilog.File) bool { return f.Name == name+".v" })
		large := bytes.Count(p.d.Files[i].Text, []byte("\n")) > largeLines
		if p.has(name, s.keep) || s.out == outNone || s.out == outLarge && !large {
			continue
		}
		if all = append(all, name); parameters().Match(p.d.Files[i].Text) {
			all[len(all)-1] = "$paramod?" + name + "?*" // as yosys names its instances
		}
	}
	return all
}

// has reports whether a module is another one or has an instance of it, at any depth.
func (p *Prover) has(module, other string) bool {
	return module == other || slices.ContainsFunc(p.instances(module), func(name string) bool { return p.has(name, other) })
}

// single reports whether a file has one module, without parameters after opened.
func single(f verilog.File) bool {
	return !bytes.Contains(opened(f.Text), []byte("parameter")) && bytes.Count(f.Text, []byte("endmodule")) == 1
}

// parameters returns the expression for the parameters of a module that are all numbers of a
// given width.
func parameters() *regexp.Regexp {
	return regexp.MustCompile(`#\(\s*((?:parameter \[[0-9]+:0\] \w+ += [^,\n]+,?\s*)+)\) \(`)
}

// opened makes the parameters of a module inputs: in the proof they may have any values, in
// each clock.
func opened(text []byte) []byte {
	return parameters().ReplaceAllFunc(text, func(all []byte) []byte {
		list := parameters().FindSubmatch(all)[1]
		return append([]byte("("), regexp.MustCompile(`parameter (\[[0-9]+:0\] \w+) += [^,\n]+,?`).ReplaceAll(list, []byte("\tinput wire $1,"))...)
	})
}

// instances returns the modules that have an instance in a module, without those whose
// parameters are widths.
func (p *Prover) instances(module string) []string {
	var out []string
	for _, f := range p.d.Files {
		if f.Name != module+".v" {
			continue
		}
		for _, o := range p.d.Files {
			name := strings.TrimSuffix(o.Name, ".v")
			if single(o) && regexp.MustCompile(`(?m)^\s+`+name+`\s+(#\(.*\)\s+)?\w+\s*\(`).Match(f.Text) {
				out = append(out, name)
			}
		}
	}
	return out
}

// try runs a proof with the logic of a scope.
func (p *Prover) try(m Mutant, way proof, s scope) (verdict, error) {
	n, err := p.netlist(s)
	if err != nil {
		return undecided, err
	}
	dir, err := os.MkdirTemp("", "hilgpu-mutant-*")
	if err != nil {
		return undecided, err
	}
	defer os.RemoveAll(dir)
	g, bad := n.miter(m.ID)
	file := filepath.Join(dir, "miter.aig")
	if err := os.WriteFile(file, g.write(bad, way.depth), 0o644); err != nil {
		return undecided, err
	}
	return way.run(file)
}

// run runs the proof.
func (w proof) run(file string) (verdict, error) {
	limit := fmt.Sprintf("ulimit -t %d; exec yosys-abc -c \"$0\"", int(w.limit.Seconds()))
	cmd := exec.Command("sh", "-c", limit, "read_aiger "+file+"; "+w.command)
	cmd.Dir = filepath.Dir(file)
	out, err := cmd.CombinedOutput()
	late := err != nil && cmd.ProcessState != nil && !cmd.ProcessState.Exited() // the limit kills it
	return w.verdict(string(out), err, late)
}

// verdict parses the output of ABC. An error or a missing verdict is not a proof.
func (w proof) verdict(out string, err error, late bool) (verdict, error) {
	found := func(text string) bool { return regexp.MustCompile(`\b` + regexp.QuoteMeta(text)).MatchString(out) }
	switch {
	case late:
		return undecided, nil
	case err == nil && found(w.refuted):
		return refuted, nil
	case err == nil && found(w.proven):
		return proven, nil
	case err == nil && (found("Reached timeout") || found("UNDECIDED")):
		return undecided, nil
	case err == nil:
		err = errors.New("no verdict")
	}
	return undecided, fmt.Errorf("%w: %w\n%s", ErrYosys, err, strings.TrimSpace(out))
}
