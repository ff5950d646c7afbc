package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/hilgpu/hilgpu/cmd/hilgpu/version"
	"github.com/hilgpu/hilgpu/testbench/command"
)

func newVersion(a *command.App) *cobra.Command {
	c := &cobra.Command{
		Use:   "version",
		Short: "Print the version, and the hardware and register map it drives",
		Example: `  hilgpu version
  hilgpu version --json`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			v := version.This()
			if a.Document(v) {
				return nil
			}
			_, err := fmt.Fprint(a.Out, v)
			return err
		},
	}
	a.AddJSON(c.Flags())
	return c
}
