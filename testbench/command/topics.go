package command

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/hilgpu/hilgpu/testbench/command/exit"
	"github.com/hilgpu/hilgpu/testbench/command/help"
)

// newTopics returns the help topics other than commands.
func newTopics() []*cobra.Command {
	return []*cobra.Command{
		{Use: "exit-codes", Short: "Exit codes, and the kinds of error in JSON", Long: exitHelp()},
		{Use: "selectors", Short: "Board selectors: schemes, options and faults", Long: help.Selectors(BoardVariable)},
	}
}

func exitHelp() string {
	return "Exit codes, and the kind of the error in a JSON document:\n\n" + exit.Text() + fmt.Sprintf(`
A command ended by a signal exits with %d plus the number of the signal, kind %q.
Bring-up, copies, fills and storms first report their results; a second signal ends them
at once. A terminal that is closed is such a signal, except under nohup.
`, exit.Signal, exit.Kind(exit.Signal))
}
