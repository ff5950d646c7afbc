package command

import (
	"context"
	"errors"
	"fmt"

	"github.com/hilgpu/hilgpu/testbench/command/exit"
	"github.com/hilgpu/hilgpu/testbench/command/signals"
)

// StopsItself is the annotation of a command that handles signals itself and
// ends with its results.
const StopsItself = "stops"

// signalled ends the outputs and the answer: recordings made so far are kept,
// the other outputs are discarded, and a JSON document has the error. The line
// of the error is before the document, whose reader may be gone.
func (a *App) signalled(err error) {
	a.Stderr.Wipe()
	if err := a.Links.CommitFiles(err); err != nil {
		fmt.Fprintf(a.Stderr, "%s: %v\n", a.program.Name, err)
	}
	a.Links.Outputs.Discard()
	if a.program.Trace == nil { // of a child, the parent prints it
		fmt.Fprintf(a.Stderr, "%s: %v\n", a.program.Name, err)
	}
	if werr := a.End(err); werr != nil {
		fmt.Fprintf(a.Stderr, "%s: %v\n", a.program.Name, werr)
	}
}

// Interrupted returns the signal that cancelled ctx if a command failed with
// err because of it, and otherwise err. A check that failed before is a result
// and takes precedence.
func Interrupted(ctx context.Context, err error) error {
	s, ok := signals.Of(ctx)
	if !ok || err == nil || errors.Is(err, exit.ErrCheck) {
		return err
	}
	return s
}
