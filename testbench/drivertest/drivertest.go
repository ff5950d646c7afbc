// Package drivertest tests the drivers of others: a user-mode display driver, a
// display miniport, or both.
//
// [Main] is a complete program with the commands test, run, bringup and rules of
// hilgpu, for the given drivers. [Test] runs the whole-system suite under go test,
// with the same flags, and [Run] any command line of the program:
//
//	var flags = drivertest.Flags(flag.CommandLine)
//
//	func TestDrivers(t *testing.T) { drivertest.Test(t, mine(), flags) }
//
//	func TestCompose(t *testing.T) { drivertest.Run(t, mine(), "run", "compose", "--check") }
//
// The command "hilgpu drivertest new" writes a module with such a program, its
// tests, and a small pair of drivers to begin with.
package drivertest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hilgpu/hilgpu/testbench"
	"github.com/hilgpu/hilgpu/testbench/command"
	"github.com/hilgpu/hilgpu/testbench/command/child"
)

// Main runs the command line of the program for the drivers and exits with its
// exit code. The name of the program is that of its file.
func Main(drivers testbench.Drivers) {
	name := strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe")
	p := program(name, drivers)
	child.Serve(name, drivers, p.Execute)
	os.Exit(command.NewApp(p, os.Stdout, os.Stderr, os.Getenv).Run(os.Args[1:]))
}

// program returns the program for the drivers.
func program(name string, drivers testbench.Drivers) command.Program {
	return command.Program{Name: name, Drivers: drivers, Foreign: true, Child: again, Root: func(*command.App) *cobra.Command {
		return &cobra.Command{
			Short: "Test drivers on an emulated GPU or a board",
			Long: `The program runs a user-mode display driver and a display miniport on an emulated GPU
or a board, below a Direct3D-11-style runtime and a graphics kernel, and checks them.`,
			Example: `  hilgpu test
  hilgpu run compose --check -o frame.png
  hilgpu completion bash > /etc/bash_completion.d/hilgpu`,
		}
	}}
}

// again starts this program again, with the same arguments.
func again() (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return exec.Command(self, os.Args[1:]...), nil
}
