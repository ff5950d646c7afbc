package command

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/hilgpu/hilgpu/testbench"
	"github.com/hilgpu/hilgpu/testbench/output"
)

// addDump adds the flag --dump to a command that runs the drivers.
func (a *App) addDump(c *cobra.Command) {
	c.Flags().StringVar(&a.Links.dump, "dump", "", "write the state of the GPU before each reset to this `directory`")
}

// Dump lets the options of a system write the state of the kernel and of the GPU to a file of the
// directory of --dump, each time that a node is about to be reset or the adapter stops: reset-1.txt,
// reset-2.txt, and so on. The first line is the reason. It creates the directory, and fails with
// output.ErrWrite if it cannot, or if no file can be created there; end returns the first error of a file.
func (l *Links) Dump(o *testbench.Options) (end func() error, err error) {
	if l.dump == "" {
		return func() error { return nil }, nil
	}
	if err := os.MkdirAll(l.dump, 0o777); err != nil {
		return nil, output.Failed(l.dump, err)
	}
	if err := output.Check(filepath.Join(l.dump, "reset-1.txt")); err != nil {
		return nil, err
	}
	n := 0
	o.Lost = func(reason, state string) {
		n++
		path := filepath.Join(l.dump, fmt.Sprintf("reset-%d.txt", n))
		if werr := os.WriteFile(path, []byte(reason+"\n"+state), 0o666); werr != nil && err == nil {
			err = output.Failed(path, werr)
		}
	}
	return func() error { return err }, nil
}
