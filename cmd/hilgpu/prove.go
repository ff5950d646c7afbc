package main

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hilgpu/hilgpu/boards"
	"github.com/hilgpu/hilgpu/rtl/gpu"
	"github.com/hilgpu/hilgpu/rtl/lockstep"
	"github.com/hilgpu/hilgpu/rtl/lockstep/property"
	"github.com/hilgpu/hilgpu/rtl/verilog"
	"github.com/hilgpu/hilgpu/testbench/command"
	"github.com/hilgpu/hilgpu/testbench/command/exit"
)

// proveFlags are the flags of lockstep prove.
type proveFlags struct {
	config string
	filter string
	source string
	app    *command.App
}

func newProve(a *command.App) *cobra.Command {
	f := proveFlags{app: a}
	c := &cobra.Command{
		Use:   "prove",
		Short: "Prove properties of the Verilog for all inputs",
		Long: `Prove translates the GPU to Verilog and proves the properties of docs/rtl.md with yosys:
of queues, arbiters, tags, fences, interrupts, the watchdog and resets. Each property is a
checker in Verilog that yosys proves for all inputs that its assumptions allow and for
all time, by induction.

It prints one line for each property, and a counterexample as the values of the signals,
clock by clock, in hexadecimal; "." is a value that does not change. A property of a block
that the configuration leaves out is not proven. The check fails if a property does not
hold or is undecided.`,
		Example: `  hilgpu lockstep prove
  hilgpu lockstep prove --filter '^fence' --json`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return runProve(c.Context(), f) },
	}
	fl := c.Flags()
	fl.StringVar(&f.config, "config", "default", "`name` of the configuration, full, default or small, with options of the board emu, as in small?vramports=1")
	fl.StringVar(&f.filter, "filter", "", "prove only the properties whose name matches this `pattern`")
	fl.StringVar(&f.source, "source", ".", "`directory` in the module's source tree")
	a.AddJSON(fl)
	return c
}

// A provenJSON is the outcome of one property.
type provenJSON struct {
	Name    string              `json:"name"`
	Text    string              `json:"text"`
	Module  string              `json:"module"`
	Verdict string              `json:"verdict"` // proven, refuted, undecided or absent
	Missing string              `json:"missing,omitempty"`
	Seconds float64             `json:"seconds"`
	Trace   map[string][]string `json:"trace,omitempty"` // values by signal, one a clock, in hexadecimal
}

// proveJSON is the output of lockstep prove --json.
type proveJSON struct {
	Config     string       `json:"config"`
	Properties []provenJSON `json:"properties"`
}

// properties returns those that the filter selects.
func (f proveFlags) properties() ([]property.Property, error) {
	pattern, err := regexp.Compile(f.filter)
	if err != nil {
		return nil, fmt.Errorf("%w: --filter %q: %w", exit.ErrInput, f.filter, err)
	}
	var out []property.Property
	for _, p := range property.List() {
		if pattern.MatchString(p.Name) {
			out = append(out, p)
		}
	}
	if out == nil {
		return nil, fmt.Errorf("%w: --filter %q: no property matches", exit.ErrInput, f.filter)
	}
	return out, nil
}

// runProve proves each property and reports it. It fails at the end if one does not hold.
func runProve(ctx context.Context, f proveFlags) error {
	config, err := boards.Config(f.config)
	if err != nil {
		return err
	}
	ps, err := f.properties()
	if err != nil {
		return err
	}
	root, err := lockstep.ModuleRoot(f.source)
	if err != nil {
		return err
	}
	if err := property.Check(); err != nil { // after the input checks, which do not depend on the machine
		return err
	}
	g, err := gpu.New(config)
	if err != nil {
		return err
	}
	d, err := verilog.Translate(root, g)
	if err != nil {
		return err
	}
	return f.prove(ctx, ps, d)
}

// prove proves properties of a design.
func (f proveFlags) prove(ctx context.Context, ps []property.Property, d *verilog.Design) error {
	w := f.app.Progress("prove")
	defer w.End()
	r := proveJSON{Config: f.config}
	failed := 0
	for i, p := range ps {
		w.To(i, len(ps))
		w.At(p.Name)
		one, line, err := proveOne(ctx, p, d)
		if err != nil {
			return err
		}
		if one.Verdict != string(property.Proven) && one.Missing == "" {
			failed++
		}
		r.Properties = append(r.Properties, one)
		if f.app.Document(r) {
			continue
		}
		if _, err := fmt.Fprintf(f.app.Out, "%-14s %s\n", p.Name, line); err != nil {
			return err
		}
	}
	if failed > 0 {
		return fmt.Errorf("%w: %d of %d properties were not proven", exit.ErrCheck, failed, len(ps))
	}
	return nil
}

// proveOne returns the outcome of a property and the text that reports it.
func proveOne(ctx context.Context, p property.Property, d *verilog.Design) (one provenJSON, line string, err error) {
	one = provenJSON{Name: p.Name, Text: p.Text, Module: p.Module, Missing: p.Missing(d)}
	if one.Missing != "" {
		one.Verdict = "absent"
		return one, "absent: the configuration has no " + one.Missing, nil
	}
	r, err := p.Prove(ctx, d)
	if err != nil {
		return one, "", err
	}
	one.Verdict, one.Seconds = string(r.Verdict), r.Took.Seconds()
	switch r.Verdict {
	case property.Proven:
		line = "proven"
	case property.Refuted:
		line = "refuted: " + p.Text + "\n" + strings.TrimRight(r.Trace.String(), "\n")
		one.Trace = map[string][]string{}
		for _, s := range r.Trace.Signals {
			one.Trace[s.Name] = s.Values
		}
	default:
		line = "undecided: " + p.Text
	}
	return one, line, nil
}
