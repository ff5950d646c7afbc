package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/hilgpu/hilgpu/cmd/hilgpu/help"
	"github.com/hilgpu/hilgpu/cmd/hilgpu/man"
	"github.com/hilgpu/hilgpu/cmd/hilgpu/version"
)

// newTopics returns the help topics other than commands.
func newTopics() []*cobra.Command {
	return []*cobra.Command{
		{Use: "exit-codes", Short: "Exit codes, and the kinds of error in JSON", Long: exitHelp()},
		{Use: "selectors", Short: "Board selectors: schemes, options and faults", Long: help.Selectors(boardVariable)},
	}
}

func exitHelp() string {
	return "Exit codes, and the kind of the error in a JSON document:\n\n" + exitText() + fmt.Sprintf(`
A command ended by a signal exits with %d plus the number of the signal, kind %q.
Bring-up, copies, fills and storms first report their results; a second signal ends them
at once.
`, exitSignal, kindOf(exitSignal))
}

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
				return fmt.Errorf("%w: %w", errInput, err)
			}
			return nil
		},
	}
}
