package command

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hilgpu/hilgpu/testbench/command/complete"
	"github.com/hilgpu/hilgpu/testbench/command/exit"
	"github.com/hilgpu/hilgpu/testbench/command/help"
	"github.com/hilgpu/hilgpu/testbench/command/signals"
)

// complete adds the common parts to a tree of commands: the references at the
// end of the help, the note that a command has begun its work, and the error of
// a command that needs a subcommand.
func (a *App) complete(c *cobra.Command) {
	help.ReadOn(c)
	a.rename(c)
	wantArgs(c)
	switch do := c.RunE; {
	case c.HasSubCommands() && !c.Runnable():
		c.Args = cobra.ArbitraryArgs
		c.RunE = a.want
		c.Annotations["group"] = "yes"
	case do != nil:
		c.RunE = func(c *cobra.Command, args []string) error {
			a.began = true
			if a.elsewhere(c) {
				return a.runElsewhere(c.Context())
			}
			if c.Annotations[StopsItself] == "" {
				defer signals.Handle(a.signalled, exit.Code)()
			}
			if err := a.oneAnswer(c); err != nil {
				return err
			}
			return a.withBoard(c, func() error { return do(c, args) })
		}
	}
	if err := complete.Command(c); err != nil {
		panic(err) // a flag already has a completer
	}
	for _, sub := range c.Commands() {
		a.complete(sub)
	}
}

// rename replaces the name of hilgpu in the help of c by the program's.
func (a *App) rename(c *cobra.Command) {
	if a.program.Name == Name {
		return
	}
	for _, text := range []*string{&c.Long, &c.Example} {
		*text = strings.ReplaceAll(*text, Name, a.program.Name)
	}
	for key, text := range c.Annotations {
		c.Annotations[key] = strings.ReplaceAll(text, Name, a.program.Name)
	}
	c.Flags().VisitAll(func(f *pflag.Flag) { f.Usage = strings.ReplaceAll(f.Usage, Name, a.program.Name) })
}

// want is the action of a command that needs a subcommand. It refuses an
// unknown name. Without a name it prints the help on standard error; only for
// hilgpu itself is that not an error.
func (a *App) want(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return unknown(c, args[0])
	}
	if !c.HasParent() {
		return c.Help()
	}
	c.SetOut(a.Stderr)
	if err := c.Help(); err != nil {
		return err
	}
	return exit.UsageError{Err: fmt.Errorf("%s needs a subcommand, want %s", c.CommandPath(), help.Choices(c, ""))}
}

// unknown returns the error of a name that is not a subcommand of c.
func unknown(c *cobra.Command, name string) error {
	want := help.Choices(c, name)
	if want != "" {
		want = ", want " + want
	}
	return exit.UsageError{Err: fmt.Errorf("unknown command %q for %q%s", name, c.CommandPath(), want)}
}

// below returns the subcommand of c named by names. Names after a command
// without subcommands are its arguments.
func below(c *cobra.Command, names []string) (*cobra.Command, error) {
	for len(names) > 0 && c.HasSubCommands() {
		next, _, err := c.Find(names[:1])
		if err != nil || next == c {
			return c, unknown(c, names[0])
		}
		c, names = next, names[1:]
	}
	return c, nil
}

// OnlyCommands refuses arguments of a command that takes only subcommands.
func OnlyCommands(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return unknown(c, args[0])
	}
	return nil
}

// setHelp makes help refuse unknown commands, both with the flag --help and
// with the command help.
func (a *App) setHelp(root *cobra.Command) {
	print := root.HelpFunc()
	root.SetHelpFunc(func(c *cobra.Command, args []string) {
		c, a.help = below(c, c.Flags().Args())
		if a.help == nil {
			print(c, args)
		}
	})
	root.SetHelpCommand(&cobra.Command{
		Use:   "help [COMMAND...]",
		Short: "Help about a command or a topic",
		Example: `  hilgpu help run compose
  hilgpu help selectors`,
		ValidArgsFunction: func(_ *cobra.Command, args []string, prefix string) (names []string, d cobra.ShellCompDirective) {
			c, rest, err := root.Find(args)
			if err == nil && len(rest) == 0 {
				for _, sub := range c.Commands() {
					if (sub.IsAvailableCommand() || sub.IsAdditionalHelpTopicCommand()) && strings.HasPrefix(sub.Name(), prefix) {
						names = append(names, sub.Name()+"\t"+sub.Short)
					}
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			c, rest, err := root.Find(args)
			if err != nil {
				return exit.UsageError{Err: err}
			}
			if len(rest) > 0 {
				return unknown(c, rest[0])
			}
			c.InitDefaultHelpFlag()
			return c.Help()
		},
	})
	root.InitDefaultHelpCmd()
	complete.Scripts(root, a.Out)
}
