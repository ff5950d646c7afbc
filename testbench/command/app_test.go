package command

import (
	"github.com/spf13/cobra"

	"github.com/hilgpu/hilgpu/testbench"
)

// program returns a program with only the commands of this package.
func program() Program {
	return Program{Name: Name, Drivers: testbench.HostDrivers(), Root: func(*App) *cobra.Command { return &cobra.Command{} }}
}
