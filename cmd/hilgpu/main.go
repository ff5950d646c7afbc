// Hilgpu runs workloads on an emulated GPU or a board, through the whole driver
// stack.
package main

import (
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/hilgpu/hilgpu/testbench"
	"github.com/hilgpu/hilgpu/testbench/command"
)

func main() {
	os.Exit(newApp(os.Stdout, os.Stderr, os.Getenv).Run(os.Args[1:]))
}

// newApp returns a run of the program; getenv reads the environment, nil means
// an empty one.
func newApp(stdout, stderr io.Writer, getenv func(name string) string) *command.App {
	p := command.Program{Name: command.Name, Drivers: testbench.HostDrivers(), Root: newRoot}
	return command.NewApp(p, stdout, stderr, getenv)
}

// run executes a command line in an empty environment and returns the exit
// code.
func run(args []string, stdout, stderr io.Writer) int { return newApp(stdout, stderr, nil).Run(args) }

// newRoot returns the command with the subcommands that only hilgpu has.
func newRoot(a *command.App) *cobra.Command {
	root := &cobra.Command{
		Short: "An FPGA-style GPU in Go and the driver stack above it",
		Long: `Hilgpu runs workloads on a GPU through a Direct3D-11-style runtime, a user-mode
driver, a graphics kernel and a display miniport. The GPU is an emulator that
runs its RTL cycle by cycle.`,
		Example: `  hilgpu run compose --check -o frame.png
  hilgpu version
  hilgpu completion bash > /etc/bash_completion.d/hilgpu`,
	}
	root.AddCommand(newBench(a), newBoard(a), newDrivertest(a), newFirmware(a), newVersion(a), newLockstep(a), newReg(a), newMan(), newSynth(a), newVerilog(a))
	return root
}
