package property

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hilgpu/hilgpu/rtl/lockstep"
	"github.com/hilgpu/hilgpu/rtl/verilog"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool"
)

// ErrYosys is wrapped by an error of yosys that decides nothing, such as a checker that
// does not fit its module.
var ErrYosys = errors.New("property: yosys failed")

const (
	depth = 16               // longest induction, in clocks
	limit = 10 * time.Minute // for one property
)

// A Verdict is the outcome of a proof.
type Verdict string

// The verdicts.
const (
	Proven    Verdict = "proven"
	Refuted   Verdict = "refuted"   // there is a counterexample
	Undecided Verdict = "undecided" // neither in the time and with the induction allowed
)

// A Result is the outcome of the proof of a property. Trace is the counterexample if
// there is one.
type Result struct {
	Property Property
	Verdict  Verdict
	Trace    Trace
	Took     time.Duration
}

// Check returns lockstep.ErrTool if yosys is missing.
func Check() error {
	if p, missing := tool.Missing("yosys"); missing {
		return fmt.Errorf("%w: %s", lockstep.ErrTool, p)
	}
	return nil
}

// Prove proves or refutes a property of a design, for each set of parameters with which
// its module is instantiated. The property must not miss a signal. It fails with
// lockstep.ErrTool and ErrYosys.
func (p Property) Prove(ctx context.Context, d *verilog.Design) (Result, error) {
	r := Result{Property: p, Verdict: Proven}
	if err := Check(); err != nil {
		return r, err
	}
	start := time.Now()
	for _, set := range parameters(d, p.Module) {
		out, err := p.run(ctx, d, set)
		if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
			r.Verdict = Undecided
			break
		}
		if err != nil {
			return r, err
		}
		if r.Verdict, err = p.verdict(out); err != nil {
			return r, err
		}
		if r.Verdict == Refuted {
			_, check := p.checker()
			r.Trace = readTrace(out, ports(check))
		}
		if r.Verdict != Proven {
			break
		}
	}
	r.Took = time.Since(start)
	return r, nil
}

// parameters returns the different parameter lists with which the design instantiates a
// module, each as options of yosys's chparam; of the top, one empty list.
func parameters(d *verilog.Design, module string) []string {
	instance := regexp.MustCompile(`(?m)^\s*` + module + ` #\((.*)\) \w+ \($`)
	value := regexp.MustCompile(`\.(\w+)\(([^)]*)\)`)
	var sets []string
	for _, f := range d.Files {
		for _, m := range instance.FindAllSubmatch(f.Text, -1) {
			var set strings.Builder
			for _, v := range value.FindAllSubmatch(m[1], -1) {
				fmt.Fprintf(&set, " -set %s %s", v[1], v[2])
			}
			if !slices.Contains(sets, set.String()) {
				sets = append(sets, set.String())
			}
		}
	}
	if len(sets) == 0 {
		sets = []string{""}
	}
	return sets
}

// run returns the output of yosys.
func (p Property) run(ctx context.Context, d *verilog.Design, set string) (string, error) {
	dir, err := os.MkdirTemp("", "hilgpu-property-*")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	if err := p.write(dir, d); err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "yosys", "-p", p.script(d, set))
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	if err != nil {
		return "", fmt.Errorf("%w: %s: %w\n%s", ErrYosys, p.Name, err, tail(out))
	}
	return string(out), nil
}

// write writes the checker and the modules of the design, with the checker in its module.
func (p Property) write(dir string, d *verilog.Design) error {
	_, check := p.checker()
	started, err := checks.ReadFile("checks/started.v")
	if err != nil {
		return err
	}
	files := []verilog.File{{Name: "check.v", Text: append(check, started...)}}
	for _, f := range d.Files {
		if f.Name == p.Module+".v" {
			if f.Text, err = p.bind(f.Text); err != nil {
				return err
			}
		}
		files = append(files, f, verilog.File{Name: stub(f.Name), Text: header(f.Text)})
	}
	for _, f := range files {
		if err := os.WriteFile(filepath.Join(dir, f.Name), f.Text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// stub returns the name of the file with the ports of a module that is left out.
func stub(name string) string { return "ports_" + name }

// header returns the text of a module without its contents.
func header(text []byte) []byte {
	end := bytes.Index(text, []byte("\n);"))
	return append(slices.Clone(text[:max(end, 0)]), "\n);\nendmodule\n"...)
}

// script returns the commands of the proof. An unknown value may be anything in each
// clock, and no step before may exploit it.
func (p Property) script(d *verilog.Design, set string) string {
	read, cut, cells := "read_verilog -DSYNTHESIS", "", ""
	kept := append([]string{p.Module}, p.Keep...)
	for _, module := range kept {
		read += " " + module + ".v"
		for _, used := range instances(d, module) {
			if !slices.Contains(kept, used) && !strings.Contains(cells+" ", " t:"+used+" ") {
				cut += " " + stub(used+".v")
				cells += " t:" + used
			}
		}
	}
	_, check := p.checker()
	show := ""
	for _, port := range ports(check) {
		show += " -show check." + port.name
	}
	sat := "sat -timeout 240 -prove-asserts -set-assumes" + show + " -tempinduct -maxsteps " + strconv.Itoa(depth)
	commands := []string{read, "read_verilog -formal check.v", "hierarchy -check -top " + p.Module}
	if set != "" {
		commands = slices.Insert(commands, 2, "chparam"+set+" "+p.Module)
	}
	if cells != "" {
		commands = append([]string{"read_verilog -lib" + cut}, append(commands, "cutpoint"+cells)...)
	}
	commands = append(commands, "proc -norom", "flatten")
	for to, from := range p.Inside {
		commands = append(commands, "connect -nomap -nounset -set check_"+to+" "+from)
	}
	return strings.Join(append(commands, "setattr -set keep 1 w:check.*",
		"delete -output o:*", "opt_clean -purge", "memory_map", "setundef -undriven -anyseq", "opt -keepdc", sat), "; ")
}

// instances returns the modules of the design of which a module has instances.
func instances(d *verilog.Design, module string) []string {
	text, _ := file(d, module)
	var out []string
	for _, f := range d.Files {
		name := strings.TrimSuffix(f.Name, ".v")
		if regexp.MustCompile(`(?m)^\s*` + name + ` (?:#\(.*\) )?\w+ \($`).Match(text) {
			out = append(out, name)
		}
	}
	return out
}

// verdict parses the output of yosys.
func (p Property) verdict(out string) (Verdict, error) {
	switch {
	case strings.Contains(out, "model found for base case: FAIL"):
		return Refuted, nil
	case strings.Contains(out, "Induction step proven: SUCCESS"):
		return Proven, nil
	case strings.Contains(out, "Reached maximum number of time steps"), strings.Contains(out, "TIMEOUT"):
		return Undecided, nil
	}
	return Undecided, fmt.Errorf("%w: %s: no verdict\n%s", ErrYosys, p.Name, tail([]byte(out)))
}

// tail returns the last lines of an output.
func tail(out []byte) string {
	lines := bytes.Split(bytes.TrimSpace(out), []byte("\n"))
	return string(bytes.Join(lines[max(0, len(lines)-12):], []byte("\n")))
}
