package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hilgpu/hilgpu/boards"
)

// helpWidth is how many columns help has at most.
const helpWidth = 100

// newTopics returns what help explains beside the commands.
func newTopics() []*cobra.Command {
	return []*cobra.Command{
		{Use: "exit-codes", Short: "Exit codes, and the kinds of error in JSON", Long: exitHelp()},
		{Use: "selectors", Short: "Board selectors: schemes, options and faults", Long: selectorHelp()},
	}
}

func exitHelp() string {
	return "Exit codes, and the kind of the error in a JSON document:\n\n" + exitText() + fmt.Sprintf(`
A signal ends a command with %d and its number, kind %q, unless it stops by
itself and reports what it has: that is 1.
`, exitSignal, kindOf(exitSignal))
}

// selectorHelp tells what a selector is.
func selectorHelp() string {
	var b strings.Builder
	b.WriteString(`A board selector is a scheme, for some a place after a colon, and options after a
question mark with & between them:

  emu
  'emu?nodes=1&vram=8KiB&latency=64'
  'serial:/dev/ttyUSB1?baud=3000000'
  tcp:192.168.1.20:4000
  'line?baud=921600&faults=loss=0.05,seed=7'

Where --board is not given, the environment's ` + boardVariable + ` is the selector, and then emu.
`)
	for _, s := range boards.Manual() {
		fmt.Fprintf(&b, "\n%s:\n", s.Title)
		width := 0
		for _, e := range s.Entries {
			width = max(width, len(e.Name))
		}
		for _, e := range s.Entries {
			fmt.Fprintf(&b, "  %-*s  %s\n", width, e.Name, wrap(e.Doc, width+4))
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
		case at+1+len(word) > helpWidth:
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

// usageTemplate is cobra's but for the width, the commands that only have
// others, and what to read on.
const usageTemplate = `Usage:{{if and .Runnable (not (index .Annotations "group"))}}
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

// readOn says what the help of a command names at its end.
func readOn(c *cobra.Command) {
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
