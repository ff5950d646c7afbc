package command

import (
	"context"
	"io"
	"sync"

	"github.com/spf13/cobra"

	"github.com/hilgpu/hilgpu/testbench/command/child"
	"github.com/hilgpu/hilgpu/testbench/command/exit"
	"github.com/hilgpu/hilgpu/testbench/command/signals"
)

// inProcess is the name of the flag against child processes.
const inProcess = "in-process"

// runsDrivers is the annotation of a workload that runs the drivers.
const runsDrivers = "drivers"

// addInProcess adds the flag --in-process to a workload that runs the drivers, which
// is in a child process if the program has one.
func (a *App) addInProcess(c *cobra.Command) {
	if a.program.Child == nil {
		return
	}
	c.Flags().Bool(inProcess, false, "run the workload in this process; a driver that ends it also ends the run, without a message")
	c.Annotations = map[string]string{runsDrivers: "yes"}
}

// elsewhere reports whether a command runs in a child process.
func (a *App) elsewhere(c *cobra.Command) bool {
	if c.Annotations[runsDrivers] == "" || a.program.Trace != nil {
		return false
	}
	here, err := c.Flags().GetBool(inProcess)
	return err == nil && !here
}

// runElsewhere runs the command line in a child process, which prints the answer and
// the error. If a driver ends the child, that is the error.
func (a *App) runElsewhere(ctx context.Context) error {
	ctx, stop := signals.Until(ctx)
	defer stop()
	out := &counted{w: a.Out}
	pool := &child.Pool{Command: a.program.Child, Stdout: out, Stderr: a.Stderr}
	code, err := pool.Execute(ctx, a.args)
	pool.Close() // the output of the child is complete
	if s, ok := signals.Of(ctx); ok {
		if a.there = a.JSON && out.n > 0; a.there {
			a.printError(s)
		}
		return s
	}
	if err != nil || out.err != nil {
		if err == nil {
			err = out.err
		}
		return err
	}
	a.there = true
	if code == exit.OK {
		return nil
	}
	return &exit.Remote{Code: code}
}

// counted counts the bytes that were written, and keeps the first error. A child has
// two outputs.
type counted struct {
	w   io.Writer
	mu  sync.Mutex // guards the fields below
	n   int
	err error
}

// Write implements io.Writer.
func (c *counted) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n, err := c.w.Write(p)
	c.n += n
	if c.err == nil {
		c.err = err
	}
	return n, err
}
