package command

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/hilgpu/hilgpu/runtime/verifier"
	"github.com/hilgpu/hilgpu/runtime/verifier/rule"
	"github.com/hilgpu/hilgpu/testbench"
	"github.com/hilgpu/hilgpu/testbench/command/exit"
)

// ruleFlags are the flags of commands that check drivers against the rules.
type ruleFlags struct {
	waive   []string
	collect bool
	limit   time.Duration
}

// add adds the flags to a command.
func (r *ruleFlags) add(c *cobra.Command) {
	fl := c.Flags()
	fl.StringArrayVar(&r.waive, "waive", nil, "count violations of this `rule` instead of stopping; repeatable")
	fl.BoolVar(&r.collect, "collect", false, "continue after a violation that the call survives")
	fl.DurationVar(&r.limit, "call-limit", 0, "`time` after which a call of a driver counts as hung; 0: 4 times --tdr-delay, at least 1m")
}

// check fails with exit.ErrInput or rule.ErrName if a flag is invalid.
func (r *ruleFlags) check() error {
	if r.limit < 0 {
		return fmt.Errorf("%w: --call-limit %v, want a positive time, or 0", exit.ErrInput, r.limit)
	}
	for _, name := range r.waive {
		if _, err := rule.Named(name); err != nil {
			return err
		}
	}
	return nil
}

// verifyFlags are the flags of workloads that run the user-mode driver.
type verifyFlags struct {
	ruleFlags
	verify   bool
	sanitize bool
}

// add adds the flags to a command. sanitize is the default of --sanitize.
func (v *verifyFlags) add(c *cobra.Command, sanitize bool) {
	v.ruleFlags.add(c)
	c.Flags().BoolVar(&v.verify, "verify", true, "check driver and runtime against the rules in hilgpu rules list; exit 7 on a violation")
	addSanitize(c, &v.sanitize, sanitize)
}

// addSanitize adds the flag --sanitize.
func addSanitize(c *cobra.Command, on *bool, byDefault bool) {
	c.Flags().BoolVar(on, "sanitize", byDefault, "check the GPU's accesses to memory against the rules access-*")
}

// options returns the options of a system from the flags.
func (v *verifyFlags) options() testbench.Options {
	return testbench.Options{NoVerify: !v.verify, Sanitize: v.sanitize, Waive: v.waive, Collect: v.collect, CallLimit: v.limit}
}

// printFindings prints violations of waived rules, and warnings, of a run that ended with err. Work that the GPU did not
// do is left out if the GPU ended the run, since the error has the same text.
func (a *App) printFindings(all []verifier.Finding, err error) {
	for _, f := range all {
		if f.Violation != nil && f.Violation.Rule.Fault == rule.DriverOrDevice && exit.Code(err) == exit.Device {
			continue
		}
		fmt.Fprintf(a.Stderr, "%s: %v\n", a.program.Name, f)
	}
}

// printEvent prints an event that the miniport logs, as one line, and each text once. It may be called
// by several systems at a time.
func (a *App) printEvent(text string) {
	if _, printed := a.events.LoadOrStore(text, true); printed {
		return
	}
	fmt.Fprintf(a.Stderr, "%s: %s\n", a.program.Name, strings.Join(strings.Fields(text), " "))
}

// printMore prints the collected violations of a run except err, which ends it.
func (a *App) printMore(all []*verifier.Violation, err error) {
	for _, v := range all {
		var last *verifier.Violation
		if !errors.As(err, &last) || v != last {
			fmt.Fprintf(a.Stderr, "%s: %v\n%s", a.program.Name, v, v.Details())
		}
	}
}

func newRules(a *App) *cobra.Command {
	c := &cobra.Command{
		Use:     "rules",
		Short:   "List and explain the rules of the driver interfaces",
		Example: "  hilgpu rules list\n  hilgpu rules explain list-state",
	}
	c.AddCommand(newRulesList(a), newRulesExplain(a))
	return c
}

func newRulesList(a *App) *cobra.Command {
	c := &cobra.Command{
		Use:     "list",
		Short:   "List every rule, who can break it, and its requirement",
		Example: "  hilgpu rules list --json",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if a.Document(rulesJSON{rule.All()}) {
				return nil
			}
			return listRules(a.Out)
		},
	}
	a.AddJSON(c.Flags())
	return c
}

// rulesJSON is the output of rules list --json.
type rulesJSON struct {
	Rules []rule.Rule `json:"rules"`
}

func listRules(w io.Writer) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, r := range rule.All() {
		fmt.Fprintf(tw, "%s\t%s\t%s\n", r.Name, r.Fault, r.Title)
	}
	return tw.Flush()
}

func newRulesExplain(a *App) *cobra.Command {
	c := &cobra.Command{
		Use:     "explain RULE",
		Short:   "Explain a rule: its source, the check, an example",
		Example: "  hilgpu rules explain refresh-stale",
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			r, err := rule.Named(args[0])
			if err != nil {
				return err
			}
			if a.Document(r) {
				return nil
			}
			_, err = fmt.Fprint(a.Out, ruleText(r))
			return err
		},
	}
	a.AddJSON(c.Flags())
	return c
}

// ruleText describes a rule, one line for each part.
func ruleText(r rule.Rule) string {
	on := "the program stops, exit code 7"
	if r.Warning {
		on = "it is counted and printed at the end"
	}
	return fmt.Sprintf("%s: %s\n  at fault   %s\n  source     %s\n  caught     %s\n  violation  %s\n  example    %s\n",
		r.Name, r.Title, r.Fault, r.Source, r.Catches, on, r.Example)
}

// flags returns the flags for a command line that repeats a case.
func (r *ruleFlags) flags() (text string) {
	for _, name := range r.waive {
		text += " --waive " + name
	}
	if r.collect {
		text += " --collect"
	}
	if r.limit != 0 {
		text += fmt.Sprintf(" --call-limit %v", r.limit)
	}
	return text
}
