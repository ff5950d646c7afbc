// Package help contains the help texts that do not belong to a single command.
package help

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hilgpu/hilgpu/boards"
)

// width is the largest number of columns of help texts.
const width = 100

// Selectors returns the help topic on board selectors: the schemes, options and
// injected faults of boards.Manual. Variable is the environment variable with
// the default selector.
func Selectors(variable string) string {
	var b strings.Builder
	b.WriteString(`A board selector is a scheme, for some schemes a place after a colon, and options after
a question mark, separated by &:

  emu
  'emu?nodes=1&vram=8KiB&latency=64'
  'serial:/dev/ttyUSB1?baud=3000000'
  tcp:192.168.1.20:4000
  'line?baud=921600&faults=loss=0.05,seed=7'

The default of --board is the environment variable ` + variable + `, and then emu.
`)
	for _, s := range boards.Manual() {
		fmt.Fprintf(&b, "\n%s:\n", s.Title)
		names := 0
		for _, e := range s.Entries {
			names = max(names, len(e.Name))
		}
		for _, e := range s.Entries {
			fmt.Fprintf(&b, "  %-*s  %s\n", names, e.Name, wrap(e.Doc, names+4))
		}
	}
	return b.String()
}

// wrap breaks text between words. The text begins at the given column.
func wrap(text string, column int) string {
	var b strings.Builder
	at := column
	for i, word := range strings.Fields(text) {
		switch {
		case i == 0:
		case at+1+len(word) > width:
			b.WriteString("\n" + strings.Repeat(" ", column))
			at = column
		default:
			b.WriteByte(' ')
			at++
		}
		b.WriteString(word)
		at += len(word)
	}
	return b.String()
}

// Template is cobra's usage template with three changes: the width, commands
// with the annotation "group", which only have subcommands, and the text set by
// ReadOn.
const Template = `Usage:{{if and .Runnable (not (index .Annotations "group"))}}
  {{.UseLine}}{{end}}{{if .HasAvailableSubCommands}}
  {{.CommandPath}} [command]{{end}}{{if gt (len .Aliases) 0}}

Aliases:
  {{.NameAndAliases}}{{end}}{{if .HasExample}}

Examples:
{{.Example}}{{end}}{{if .HasAvailableSubCommands}}

Available Commands:{{range .Commands}}{{if (or .IsAvailableCommand (eq .Name "help"))}}
  {{rpad .Name .NamePadding }} {{.Short}}{{end}}{{end}}{{end}}{{if .HasAvailableLocalFlags}}

Flags:
{{.LocalFlags.FlagUsagesWrapped 100 | trimTrailingWhitespaces}}{{end}}{{if .HasAvailableInheritedFlags}}

Global Flags:
{{.InheritedFlags.FlagUsagesWrapped 100 | trimTrailingWhitespaces}}{{end}}{{if .HasHelpSubCommands}}

Additional help topics:{{range .Commands}}{{if .IsAdditionalHelpTopicCommand}}
  {{rpad .CommandPath .CommandPathPadding}} {{.Short}}{{end}}{{end}}{{end}}{{if .HasAvailableSubCommands}}

"{{.CommandPath}} [command] --help" describes a command.{{end}}{{with index .Annotations "read"}}

{{.}}{{end}}
`

// The last lines of the help of a command.
const (
	readSelectors = `"hilgpu help selectors" describes selectors, "hilgpu help exit-codes" the exit codes.`
	readExits     = `"hilgpu help exit-codes" describes the exit codes.`
)

// ReadOn sets the reference to help topics at the end of a command's help.
func ReadOn(c *cobra.Command) {
	if c.Annotations == nil {
		c.Annotations = map[string]string{}
	}
	switch {
	case c.IsAdditionalHelpTopicCommand():
	case c.Flag("board") != nil, strings.Contains(c.Use, "SELECTOR"):
		c.Annotations["read"] = readSelectors
	default:
		c.Annotations["read"] = readExits
	}
}

// Choices lists the subcommands of c with names similar to name, or all of
// them, for an error message.
func Choices(c *cobra.Command, name string) string {
	var names []string
	if c.SuggestionsMinimumDistance = 2; name != "" {
		names = c.SuggestionsFor(name)
	}
	if len(names) == 0 {
		for _, sub := range c.Commands() {
			if sub.IsAvailableCommand() {
				names = append(names, sub.Name())
			}
		}
	}
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return "one of " + strings.Join(names, ", ")
}
