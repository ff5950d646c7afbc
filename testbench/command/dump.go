package command

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"

	"github.com/spf13/cobra"

	"github.com/hilgpu/hilgpu/testbench"
	"github.com/hilgpu/hilgpu/testbench/command/exit"
	"github.com/hilgpu/hilgpu/testbench/output"
)

// addDump adds the flag --dump to a command that runs the drivers.
func (a *App) addDump(c *cobra.Command) {
	c.Flags().StringVar(&a.Links.dump, "dump", "", "write the state of the GPU before each reset to this `directory`")
}

// Dump lets the options of a system write the state of the kernel and of the GPU to a file of the
// directory of --dump, each time that a node is about to be reset or the adapter stops: reset-1.txt,
// reset-2.txt, and so on. The first line is the reason. It creates the directory, and fails with
// output.ErrWrite if it cannot, or if no file can be created there. The error of the run is given to end, which
// returns the first error of a file. The files of an earlier run are removed, unless this one was refused.
func (l *Links) Dump(o *testbench.Options) (end func(ran error) error, err error) {
	if l.dump == "" {
		return func(error) error { return nil }, nil
	}
	if err := os.MkdirAll(l.dump, 0o777); err != nil {
		return nil, output.Failed(l.dump, err)
	}
	if err := output.Check(filepath.Join(l.dump, "reset-1.txt")); err != nil {
		return nil, err
	}
	n := 0
	o.Lost = func(reason, state string) {
		if n++; n == 1 {
			err = l.removeDumps()
		}
		path := filepath.Join(l.dump, fmt.Sprintf("reset-%d.txt", n))
		if werr := os.WriteFile(path, []byte(reason+"\n"+state), 0o666); werr != nil && err == nil {
			err = output.Failed(path, werr)
		}
	}
	return func(ran error) error {
		if n == 0 && exit.Code(ran) != exit.Usage {
			err = l.removeDumps()
		}
		if ran == nil && err == nil { // a run that passes has none
			err = remove(l.lastLog())
		}
		return err
	}, nil
}

// lastLog returns the file of the last events, in the directory of --dump.
func (l *Links) lastLog() string { return filepath.Join(l.dump, "last.log") }

// dumped are the names of the files of the state before resets.
var dumped = regexp.MustCompile(`^reset-[1-9][0-9]*\.txt$`)

// removeDumps removes the files of the state before resets from the directory of --dump. It fails with output.ErrWrite.
func (l *Links) removeDumps() error {
	all, err := os.ReadDir(l.dump)
	if err != nil {
		return output.Failed(l.dump, err)
	}
	for _, e := range all {
		if !dumped.MatchString(e.Name()) || !e.Type().IsRegular() {
			continue
		}
		if err := remove(filepath.Join(l.dump, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// remove removes a file, if there is one. It fails with output.ErrWrite.
func remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return output.Failed(path, err)
	}
	return nil
}
