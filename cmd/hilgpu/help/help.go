// Package help is the texts of help that no single command has.
package help

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hilgpu/hilgpu/boards"
)

// width is how many columns help has at most.
const width = 100

// Selectors returns the help topic of board selectors: the schemes, options and faults
// of boards.Manual. Variable is the one of the environment that has the selector where
// --board does not.
func Selectors(variable string) string {
	var b strings.Builder
	b.WriteString(`A board selector is a scheme, for some a place after a colon, and options after a
question mark with & between them:

  emu
  'emu?nodes=1&vram=8KiB&latency=64'
  'serial:/dev/ttyUSB1?baud=3000000'
  tcp:192.168.1.20:4000
  'line?baud=921600&faults=loss=0.05,seed=7'

Where --board is not given, the environment's ` + variable + ` is the selector, and then emu.
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

// wrap breaks text that begins at a column between words.
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

// Template is the template of usage: cobra's but for the width, the commands that only have
// others, which have the annotation group, and what ReadOn names.
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

"{{.CommandPath}} [command] --help" tells more about a command.{{end}}{{with index .Annotations "read"}}

{{.}}{{end}}
`

// The ends of the help of a command.
const (
	readSelectors = `"hilgpu help selectors" tells what a selector is, "hilgpu help exit-codes" what exit codes mean.`
	readExits     = `"hilgpu help exit-codes" tells what exit codes mean.`
)

// ReadOn sets what the help of a command names at its end.
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

// Choices lists the commands of c whose names are near to name, or all, for a text that
// says what is wanted.
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
