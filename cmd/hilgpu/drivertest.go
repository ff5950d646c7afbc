package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/hilgpu/hilgpu/cmd/hilgpu/version"
	"github.com/hilgpu/hilgpu/testbench/command"
	"github.com/hilgpu/hilgpu/testbench/command/exit"
	"github.com/hilgpu/hilgpu/testbench/drivertest/starter"
)

func newDrivertest(a *command.App) *cobra.Command {
	c := &cobra.Command{
		Use:     "drivertest",
		Short:   "Begin a driver of your own",
		Example: "  hilgpu drivertest new mydriver",
	}
	c.AddCommand(newDrivertestNew(a))
	return c
}

func newDrivertestNew(a *command.App) *cobra.Command {
	var o starter.Options
	c := &cobra.Command{
		Use:   "new DIR",
		Short: "Write a module with a small pair of drivers and a program that tests them",
		Long: `New writes a Go module to DIR, which must be new or empty: a display miniport and a user-mode
display driver, each of fewer than 300 lines of code without imports and comments, their test,
a program with the commands test, run, bringup and rules for them, a Makefile, and CI files for
GitHub and GitLab.

Its go.mod requires the version of this program; "make" in DIR runs "go mod tidy" once. A
development build has no version that others can download. It needs --source: the module
then uses that source tree, with its requirements and its go.sum.`,
		Example: `  hilgpu drivertest new mydriver
  hilgpu drivertest new mydriver --module example.com/me/mydriver
  bin/hilgpu drivertest new ../mydriver --source .`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			o.Dir = args[0]
			return writeModule(a, o)
		},
	}
	fl := c.Flags()
	fl.StringVar(&o.Module, "module", "", "`path` of the module; default example.com/ and the name of DIR")
	fl.StringVar(&o.Source, "source", "", "`directory` of this program's source tree, to use instead of a version")
	a.AddJSON(fl)
	return c
}

// writeModule writes a module and prints how to continue.
func writeModule(a *command.App, o starter.Options) error {
	var released bool
	if o.Version, released = version.Release(); !released && o.Source == "" {
		return fmt.Errorf("%w: this hilgpu is a development build, which go.mod cannot require: want --source with the directory of its source tree", exit.ErrInput)
	}
	s, err := starter.Write(o)
	if err != nil {
		return err
	}
	if a.Document(s) {
		return nil
	}
	uses := "version " + s.Version
	if s.Replace != "" {
		uses = "the source in " + s.Replace
	}
	_, err = fmt.Fprintf(a.Out, "%s: module %s, %d files, with hilgpu from %s\nnext: make -C %s test build\n", s.Dir, s.Module, len(s.Files), uses, s.Dir)
	return err
}
