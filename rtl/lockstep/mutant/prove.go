package mutant

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/hilgpu/hilgpu/rtl/lockstep"
	"github.com/hilgpu/hilgpu/rtl/verilog"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool"
)

// ErrYosys is wrapped by an error of yosys or yosys-abc that says nothing about the
// proof.
var ErrYosys = errors.New("mutant: yosys failed")

//go:embed proof_cut.v
var proofCut []byte

//go:embed proof_pins.v
var proofPins []byte

// A proof is a command of ABC and its time limit. A command that exceeds the limit
// proves nothing.
type proof struct {
	name    string
	clocked bool // consider only states reachable from a reset
	command string
	proven  string // output if there is never a difference
	refuted string // output if there may be a difference
	limit   time.Duration
}

// proofs returns the proofs in order, the faster one first.
func proofs() []proof {
	return []proof{
		{"equal in every state", false, "&get; &fraig -y; &put; iprove", "UNSATISFIABLE", "SATISFIABLE", 180 * time.Second},
		{"equal in every reachable state", true, "&get; &fraig -y; &put; pdr -T 60", "Property proved.", "was asserted in frame", 90 * time.Second},
	}
}

// A Prover proves that mutants are equivalent: for all inputs and all contents of the
// large memories, every register, port and memory write of the entire design has the
// same value. yosys converts the design with its mutants to logic, and ABC proves or
// refutes that two copies, one with a mutant active, never differ.
type Prover struct {
	n      *netlist
	zeroes bool // registers without a reset value start at 0
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

// NewProver has yosys read d with the mutants ms. It fails with lockstep.ErrTool and
// ErrYosys.
func NewProver(d *verilog.Design, ms []Mutant) (*Prover, error) {
	if err := checkProver(); err != nil {
		return nil, err
	}
	mutated, err := mutate(d, ms)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "hilgpu-mutant-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	files := append([]verilog.File{{Name: "proof_cut.v", Text: proofCut}, {Name: "proof_pins.v", Text: proofPins}}, mutated.Files...)
	p := &Prover{zeroes: true}
	initial := regexp.MustCompile(`initial \w+ = [0-9]+'[bdh]0*[1-9a-f]`)
	for _, f := range files {
		p.zeroes = p.zeroes && !initial.Match(f.Text)
		if err := os.WriteFile(filepath.Join(dir, f.Name), fewWords(f.Text), 0o644); err != nil {
			return nil, err
		}
	}
	cmd := exec.Command("yosys", "-q", "-p", script(mutated))
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w: %w\n%s", ErrYosys, err, bytes.TrimSpace(out))
	}
	text, err := os.ReadFile(filepath.Join(dir, "flat.aag"))
	if err != nil {
		return nil, err
	}
	p.n, err = readNetlist(text)
	return p, err
}

// fewWords limits the RAMs of a file to 32 words. yosys has no wire as wide as a large RAM,
// and the proof sees the ports of a RAM of more than 16 words but not its words: their
// addresses keep their widths.
func fewWords(text []byte) []byte {
	return bytes.ReplaceAll(text, []byte("mem [0:WORDS-1]"), []byte("mem [0:(WORDS < 32 ? WORDS : 32)-1]"))
}

// script returns the commands that make flat.aag: the flattened design without its
// registers and memories. An unknown value may be anything, but is equal in both
// copies; no earlier step may exploit it. Unread registers are kept, because lockstep
// compares them.
func script(d *verilog.Design) string {
	read := "read_verilog -DSYNTHESIS"
	for _, f := range d.Files {
		read += " " + f.Name
	}
	return strings.Join([]string{
		read, "hierarchy -check -top " + d.Manifest.Top, "read_verilog proof_pins.v",
		"proc -norom", "flatten", "memory_collect", "select -set small t:$mem_v2 r:SIZE<=16 %i", "memory_map @small",
		"setundef -undriven -anyseq", "techmap -map proof_cut.v t:$dff t:$mem_v2", "select -assert-none t:$mem* t:$*dff* t:$*latch*",
		"rename -enumerate -pattern held_% t:held", "expose -evert -dff",
		"opt_clean -purge", "opt_expr", "opt_merge -share_all", "opt_clean -purge",
		"techmap -map proof_cut.v t:$anyseq", "rename -enumerate -pattern free_% t:free", "expose -evert -dff",
		"techmap", "aigmap", "opt_clean -purge", "write_aiger -ascii -symbols flat.aag",
	}, "; ")
}

// Prove returns the name of the proof that m is equivalent, or "" if there is none, in
// which case m may still be equivalent. It fails with ErrYosys.
func (p *Prover) Prove(m Mutant) (string, error) {
	dir, err := os.MkdirTemp("", "hilgpu-mutant-*")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	g, bad := p.n.miter(m.ID)
	for _, way := range proofs() {
		if way.clocked && !p.zeroes {
			continue
		}
		file := filepath.Join(dir, "miter.aig")
		if err := os.WriteFile(file, g.write(bad, way.clocked), 0o644); err != nil {
			return "", err
		}
		proven, err := way.run(file)
		if err != nil {
			return "", err
		}
		if proven {
			return way.name, nil
		}
	}
	return "", nil
}

// run reports whether the proof succeeds.
func (w proof) run(file string) (bool, error) {
	ctx, cancel := context.WithTimeout(context.Background(), w.limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "yosys-abc", "-c", "read_aiger "+file+"; "+w.command)
	cmd.Dir = filepath.Dir(file)
	out, err := cmd.CombinedOutput()
	return w.verdict(string(out), err, ctx.Err() != nil)
}

// verdict parses the output of ABC. An error or a missing verdict is not a proof.
func (w proof) verdict(out string, err error, late bool) (bool, error) {
	found := func(text string) bool { return regexp.MustCompile(`\b` + regexp.QuoteMeta(text)).MatchString(out) }
	switch {
	case late:
		return false, nil
	case err == nil && found(w.proven) && !found(w.refuted):
		return true, nil
	case err == nil && (found(w.refuted) || found("Reached timeout") || found("UNDECIDED")):
		return false, nil
	case err == nil:
		err = errors.New("no verdict")
	}
	return false, fmt.Errorf("%w: %w\n%s", ErrYosys, err, strings.TrimSpace(out))
}
