package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/hilgpu/hilgpu/cmd/hilgpu/man"
	"github.com/hilgpu/hilgpu/cmd/hilgpu/version"
	"github.com/hilgpu/hilgpu/testbench/command/exit"
)

// newMan returns the hidden command that writes the man pages for a release.
func newMan() *cobra.Command {
	return &cobra.Command{
		Use:    "man DIR",
		Short:  "Write a man page of each command to a directory",
		Long:   "Man writes a page of section 1 for each command to DIR, dated by SOURCE_DATE_EPOCH.",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if err := man.Write(c.Root(), args[0], "hilgpu "+version.This().Version); err != nil {
				return fmt.Errorf("%w: %w", exit.ErrInput, err)
			}
			return nil
		},
	}
}
