// Hilgpu runs workloads on an emulated GPU or a board, through the whole driver
// stack.
package main

import (
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/hilgpu/hilgpu/cmd/hilgpu/help"
)

func main() {
	os.Exit(newApp(os.Stdout, os.Stderr, os.Getenv).run(os.Args[1:]))
}

// run executes a command line in an empty environment and returns the exit
// code.
func run(args []string, stdout, stderr io.Writer) int { return newApp(stdout, stderr, nil).run(args) }

func newRoot(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:   "hilgpu",
		Short: "An FPGA-style GPU in Go and the driver stack above it",
		Long: `Hilgpu runs workloads on a GPU through a Direct3D-11-style runtime, a user-mode
driver, a graphics kernel and a display miniport. The GPU is an emulator that
runs its RTL cycle by cycle.`,
		Example: `  hilgpu run compose --check -o frame.png
  hilgpu version
  hilgpu completion bash > /etc/bash_completion.d/hilgpu`,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.SetOut(a.Out)
	root.SetErr(a.stderr)
	root.AddCommand(newBench(a), newBoard(a), newBringup(a), newRun(a), newVersion(a), newLockstep(a), newReg(a), newRules(a),
		newMan(), newSynth(a), newTest(a), newVerilog(a))
	root.AddCommand(newTopics()...)
	root.SetUsageTemplate(help.Template)
	a.setHelp(root)
	a.complete(root)
	return root
}
