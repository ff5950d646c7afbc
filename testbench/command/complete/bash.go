package complete

import (
	_ "embed" // the script
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

// bash is the script for bash, up to the name of the program. Cobra's script does
// not support words that need quotes, as selectors do.
//
//go:embed completion.bash
var bash string

// Scripts adds the command completion to root. Its subcommands print scripts
// for shells to out.
func Scripts(root *cobra.Command, out io.Writer) {
	root.InitDefaultCompletionCmd()
	completion, _, err := root.Find([]string{"completion"})
	if err != nil {
		panic(err) // cobra has added the command
	}
	for _, c := range completion.Commands() {
		if c.Name() == "bash" {
			completion.RemoveCommand(c)
		}
	}
	completion.AddCommand(&cobra.Command{
		Use:   "bash",
		Short: "Generate the autocompletion script for bash",
		Long:  "Bash prints the script that completes commands, selectors, registers and more in bash 4.4 or later.",
		Example: `  source <(hilgpu completion bash)
  hilgpu completion bash > /etc/bash_completion.d/hilgpu`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintf(out, "%s %s\n", strings.TrimSpace(bash), root.Name())
			return err
		},
	})
}
