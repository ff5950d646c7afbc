package main

import (
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/hilgpu/hilgpu/boards/gateware"
	"github.com/hilgpu/hilgpu/rtl/lockstep"
	"github.com/hilgpu/hilgpu/rtl/synth"
	"github.com/hilgpu/hilgpu/testbench/command"
	"github.com/hilgpu/hilgpu/testbench/command/exit"
)

// buildFlags are the flags of board build.
type buildFlags struct {
	source string
	out    string
	at     gateware.Addresses
	app    *command.App
}

func newBoardBuild(a *command.App) *cobra.Command {
	f := buildFlags{app: a}
	c := &cobra.Command{
		Use:   "build NAME",
		Short: "Build the bitstream of a board",
		Long: `Build translates the gateware of a board to Verilog and makes its bitstream with yosys,
nextpnr and the packer of its FPGA. It prints the resources of the FPGA in use, the clock by
nextpnr and by icetime, and the critical path, with the Go declarations of the registers at
its ends. The directory keeps what the tools read and wrote.

A clock that is too slow, and what hilgpu synth refuses in a log of yosys, are refused, with
exit code 1 and without a bitstream. The same source and tools give the same bitstream.

ID.BUILD of the gateware is a hash of what the tools read; board probe prints it, with the
name of the board if the gateware is of the source of this program. docs/boards.md lists the
boards. Debian does not have the tools that place an ECP5. If they are not on the path, the
build ends after the synthesis, with its resources and exit code 2.

A board on Ethernet has its addresses from the build, and ID.BUILD depends on them. The
selector pins has the same options.`,
		Example: `  hilgpu board build ice40-hx8k
  hilgpu board build ice40-hx8k -o /tmp/board --json
  hilgpu board build colorlight-i5 --mac 02:00:00:00:00:07 --ip 192.168.1.7`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return runBoardBuild(f, args[0]) },
	}
	fl := c.Flags()
	fl.StringVar(&f.source, "source", ".", "`directory` in the module's source tree")
	fl.StringVar(&f.at.MAC, "mac", "", "MAC `address` of a board on Ethernet, that of docs/boards.md by default")
	fl.StringVar(&f.at.IP, "ip", "", "its IPv4 `address`, that of docs/boards.md by default")
	fl.StringVar(&f.at.Port, "port", "", "its UDP `port`, 1 to 65535, that of docs/boards.md by default")
	addBuildDir(c, &f.out)
	a.AddJSON(fl)
	return c
}

// addBuildDir adds the flag for the directory of a build.
func addBuildDir(c *cobra.Command, dir *string) {
	c.Flags().StringVarP(dir, "output", "o", "", "`directory` of the build, out/NAME by default")
}

// buildDir returns the directory of a build.
func buildDir(dir, name string) string {
	if dir == "" {
		return filepath.Join("out", name)
	}
	return dir
}

// runBoardBuild builds and reports.
func runBoardBuild(f buildFlags, name string) error {
	b, err := gateware.Find(name)
	if err != nil {
		return err
	}
	if b, err = b.At(f.at); err != nil {
		return err
	}
	root, err := lockstep.ModuleRoot(f.source)
	if err != nil {
		return err
	}
	dir := buildDir(f.out, name)
	if err := synth.MakeDir(dir); err != nil {
		return err
	}
	if err := b.Part.Check(); err != nil {
		return err
	}
	w := f.app.Progress("board build")
	defer w.End()
	w.At("translation")
	g, build, err := b.Make(root)
	if err != nil {
		return err
	}
	out, err := g.Build(dir, build, w.At)
	if out == nil {
		return err
	}
	if !f.app.Document(out) {
		if _, err := fmt.Fprint(f.app.Out, out); err != nil {
			return err
		}
	}
	if n := len(out.Findings); n > 0 {
		return fmt.Errorf("%w: board build: %d findings", exit.ErrCheck, n)
	}
	return err
}

func newFlash(a *command.App) *cobra.Command {
	var dir string
	c := &cobra.Command{
		Use:   "flash NAME",
		Short: "Write the bitstream of a board to it",
		Long: `Flash writes the bitstream that board build made to an attached board, with openFPGALoader.
If that is not on the path, iceprog writes the flash of the boards that it supports. The
output of the tool goes to standard error. openFPGALoader loads an ECP5 itself and not its
flash: the bitstream is lost when power is off.`,
		Example: `  hilgpu board build ice40-hx8k && hilgpu board flash ice40-hx8k`,
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			b, err := gateware.Find(args[0])
			if err != nil {
				return err
			}
			file := b.File(buildDir(dir, b.Name))
			if err := b.Program(file, c.ErrOrStderr()); err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.Out, "%s has %s\n", b.Name, file)
			return err
		},
	}
	addBuildDir(c, &dir)
	return c
}
