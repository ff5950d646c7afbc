// Package complete implements shell completion: commands, selectors,
// registers, files and more.
package complete

import (
	"cmp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hilgpu/hilgpu/boards"
	"github.com/hilgpu/hilgpu/boards/gateware"
	"github.com/hilgpu/hilgpu/boards/regs"
	"github.com/hilgpu/hilgpu/boards/regs/export"
	"github.com/hilgpu/hilgpu/bus/fault"
	"github.com/hilgpu/hilgpu/rtl/abi/reg"
	"github.com/hilgpu/hilgpu/rtl/lockstep"
	"github.com/hilgpu/hilgpu/rtl/synth"
	"github.com/hilgpu/hilgpu/runtime/verifier/rule"
	"github.com/hilgpu/hilgpu/testbench/device/bringup"
	"github.com/hilgpu/hilgpu/testbench/device/transfer"
	"github.com/hilgpu/hilgpu/testbench/suite"
)

// Directives to the shell. With incomplete no space follows the candidate.
const (
	noFiles     = cobra.ShellCompDirectiveNoFileComp
	incomplete  = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveKeepOrder
	ordered     = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	anyFile     = cobra.ShellCompDirectiveDefault
	folders     = cobra.ShellCompDirectiveFilterDirs
	byExtension = cobra.ShellCompDirectiveFilterFileExt
)

// A completer completes a flag value or an argument.
type completer = cobra.CompletionFunc

// flagCompleters returns the completers of flag values by flag name. With few
// exceptions a name means the same in every command.
func flagCompleters(c *cobra.Command) map[string]completer {
	return map[string]completer{
		"board":  selectors(boards.Complete),
		"config": configs(c.Name() == "synth"),
		"dir": func(c *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
			return transfer.Directions(c.Name() == "fill"), ordered
		},
		"only":               listOf(stageNames()),
		"waive":              ruleNames,
		"filter":             caseNames,
		"tier":               listOf(tierNames()),
		"poke":               oneOf(reg.Safe.String(), reg.Idle.String(), reg.Destructive.String()),
		"pace":               oneOf("free", "clock"),
		"sim":                oneOf(string(lockstep.Verilator), string(lockstep.Icarus), string(lockstep.Netlist)),
		"target":             oneOf(targetNames()...),
		"bytes":              oneOf("all"),
		"wave-on":            oneOf("fault", "cycle"),
		"listen":             partOf("eth:", "nettlp:", "pty:", "tcp:", "udp:"),
		"link-faults":        listOf(linkFaults()),
		"options":            selectors(portOptions),
		"source":             file(folders),
		"report":             reportFile(c.Name()),
		"artifacts":          file(folders),
		"capture":            file(byExtension, "pcapng"),
		"wave":               file(byExtension, "vcd"),
		"timeline":           file(byExtension, "json"),
		"against":            file(byExtension, "json"),
		"baseline":           file(anyFile),
		"junit":              file(byExtension, "xml"),
		"firmware-core":      file(anyFile),
		"dump":               file(folders),
		"firmware-telemetry": file(byExtension, "csv", "jsonl"),
		"ddi":                file(anyFile),
		"output":             outputFile(c.Name()),
		"level":              oneOf("errors", "events", "messages"),
		"format":             oneOf("text", "jsonl", "csv"),
		"table":              file(anyFile),
		"image":              file(anyFile),
	}
}

// reportFile completes --report: a page for test, a folder for other commands.
func reportFile(command string) completer {
	if command == "test" {
		return file(byExtension, "html", "json")
	}
	return file(folders)
}

// outputFile completes --output: a folder for verilog, build and flash, a page for report, a
// file for other commands.
func outputFile(command string) completer {
	if slices.Contains([]string{"verilog", "build", "flash"}, command) {
		return file(folders)
	}
	if command == "report" {
		return file(byExtension, "html")
	}
	return file(anyFile)
}

// argCompleters returns the completers of arguments by command path, without
// the name of the program.
func argCompleters() map[string]completer {
	names := regs.AllNames()
	return map[string]completer{
		"run compose":    file(byExtension, "png", "jpg", "jpeg"),
		"board serve":    selectors(boards.CompleteServed),
		"board probe":    selectors(boards.Complete),
		"board build":    onlyOne(boardNames),
		"board flash":    onlyOne(boardNames),
		"firmware core":  onlyOne(file(anyFile)),
		"reg list":       registers(names),
		"reg read":       registers(names),
		"reg write":      assigned(names),
		"reg diff":       fileOrBoard,
		"reg export":     onlyOne(formatNames),
		"drivertest new": onlyOne(file(folders)),
		"report":         onlyOne(file(anyFile)),
		"rules explain":  onlyOne(ruleNames),
	}
}

// Command registers the completers for the flags and arguments of a command. An
// unknown flag or command gets no file completion. Command fails if a flag
// already has a completer.
func Command(c *cobra.Command) error {
	if f, ok := argCompleters()[strings.TrimPrefix(c.CommandPath(), c.Root().Name()+" ")]; ok {
		c.ValidArgsFunction = matching(f)
	} else if c.ValidArgsFunction == nil && c.Runnable() && !c.HasSubCommands() {
		c.ValidArgsFunction = cobra.NoFileCompletions
	}
	known := flagCompleters(c)
	var err error
	register := func(f *pflag.Flag) {
		do, ok := known[f.Name]
		if !ok {
			do = cobra.NoFileCompletions
		}
		if f.Value.Type() != "bool" {
			err = cmp.Or(err, c.RegisterFlagCompletionFunc(f.Name, matching(do)))
		}
	}
	c.NonInheritedFlags().VisitAll(register)
	return err
}

// matching filters the candidates of f by the text. It keeps file extensions.
func matching(f completer) completer {
	return func(c *cobra.Command, args []string, text string) ([]string, cobra.ShellCompDirective) {
		all, d := f(c, args, text)
		if d&byExtension == 0 {
			all = slices.DeleteFunc(slices.Clone(all), func(w string) bool { return !strings.HasPrefix(w, text) })
		}
		return all, d
	}
}

// oneOf completes one of the given words.
func oneOf(words ...string) completer {
	return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) { return words, ordered }
}

// partOf is oneOf for words that are incomplete.
func partOf(words ...string) completer {
	return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) { return words, incomplete }
}

// listOf completes the last of several words separated by commas.
func listOf(words []string) completer {
	return func(_ *cobra.Command, _ []string, text string) ([]string, cobra.ShellCompDirective) {
		before := text[:strings.LastIndex(text, ",")+1]
		var all []string
		for _, w := range words {
			if name, _, _ := strings.Cut(w, "\t"); !slices.Contains(strings.Split(before, ","), name) {
				all = append(all, before+w)
			}
		}
		return all, incomplete
	}
}

// file completes files, with one of the extensions if any are given.
func file(directive cobra.ShellCompDirective, endings ...string) completer {
	return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) { return endings, directive }
}

// onlyOne completes only the first argument.
func onlyOne(f completer) completer {
	return func(c *cobra.Command, args []string, text string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, noFiles
		}
		return f(c, args, text)
	}
}

// words converts candidates to cobra's format.
func words(all []boards.Candidate) (out []string) {
	for _, c := range all {
		out = append(out, word(c.Text, c.Doc))
	}
	return out
}

func word(text, doc string) string {
	if doc == "" {
		return text
	}
	return text + "\t" + doc
}

func selectors(complete func(text string) []boards.Candidate) completer {
	return func(_ *cobra.Command, _ []string, text string) ([]string, cobra.ShellCompDirective) {
		return words(complete(text)), incomplete
	}
}

// fileOrBoard completes the snapshots and boards of reg diff.
func fileOrBoard(_ *cobra.Command, args []string, text string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 1 {
		return nil, noFiles
	}
	return words(boards.Complete(text)), anyFile | cobra.ShellCompDirectiveNoSpace
}

func configs(lean bool) completer {
	return func(_ *cobra.Command, _ []string, text string) ([]string, cobra.ShellCompDirective) {
		all := words(boards.CompleteConfig(text))
		if lean {
			all = append(all, synth.Lean)
		}
		return all, incomplete
	}
}

// portOptions completes options of serial ports.
func portOptions(text string) (all []boards.Candidate) {
	const before = "serial:x?"
	for _, c := range boards.Complete(before + text) {
		c.Text = strings.TrimPrefix(c.Text, before)
		all = append(all, c)
	}
	return all
}

func linkFaults() (all []string) {
	for _, name := range fault.Names() {
		all = append(all, word(name+"=", fault.Doc(name)))
	}
	return all
}

// stageNames returns the groups of stages, then the stages.
func stageNames() []string {
	var groups []string
	for _, name := range bringup.Stages() {
		if group, _, _ := strings.Cut(name, "."); !slices.Contains(groups, group) {
			groups = append(groups, group)
		}
	}
	return append(groups, bringup.Stages()...)
}

func targetNames() (all []string) {
	for _, t := range synth.Targets() {
		all = append(all, string(t))
	}
	return all
}

func boardNames(*cobra.Command, []string, string) (all []string, d cobra.ShellCompDirective) {
	for _, b := range gateware.All() {
		all = append(all, word(b.Name, b.Title))
	}
	return all, ordered
}

// formatNames completes the formats of reg export.
func formatNames(*cobra.Command, []string, string) (all []string, d cobra.ShellCompDirective) {
	for _, f := range export.Formats() {
		all = append(all, word(f.Name, f.Doc))
	}
	return all, ordered
}

func ruleNames(*cobra.Command, []string, string) (all []string, d cobra.ShellCompDirective) {
	for _, r := range rule.All() {
		all = append(all, word(r.Name, r.Title))
	}
	return all, ordered
}

func caseNames(*cobra.Command, []string, string) (all []string, d cobra.ShellCompDirective) {
	for _, c := range suite.Cases() {
		all = append(all, word(c.Name, c.Doc))
	}
	return all, ordered
}

// registers completes register names.
func registers(names *regs.Names) completer {
	return func(_ *cobra.Command, _ []string, text string) (all []string, d cobra.ShellCompDirective) {
		for _, c := range names.Complete(text) {
			all = append(all, word(c.Text, c.Doc))
		}
		return all, incomplete
	}
}

// assigned completes the arguments of reg write: names and, after = or as the
// second argument, the values of a field.
func assigned(names *regs.Names) completer {
	return func(c *cobra.Command, args []string, text string) (all []string, d cobra.ShellCompDirective) {
		name, _, valued := strings.Cut(text, "=")
		before := name + "="
		if len(args) == 1 && !strings.Contains(args[0], "=") {
			name, before, valued = args[0], "", true
		}
		if !valued {
			return registers(names)(c, args, text)
		}
		found, err := names.Find(name)
		if err != nil || len(found) != 1 {
			return nil, noFiles
		}
		for _, v := range found[0].Values() {
			all = append(all, before+v)
		}
		return all, ordered
	}
}

func tierNames() (names []string) {
	for _, t := range suite.Tiers() {
		names = append(names, string(t))
	}
	return names
}
