package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/hilgpu/hilgpu/cmd/hilgpu/signals"
)

// stopsItself is the annotation of a command that handles signals itself and
// ends with its results.
const stopsItself = "stops"

// signalled ends the outputs and the answer: recordings made so far are kept,
// the other outputs are discarded, and a JSON document has the error.
func (a *app) signalled(err error) {
	a.stderr.Wipe()
	if err := a.links.CommitFiles(nil); err != nil {
		fmt.Fprintf(a.stderr, "hilgpu: %v\n", err)
	}
	a.links.Outputs.Discard()
	if werr := a.end(err); werr != nil {
		fmt.Fprintf(a.stderr, "hilgpu: %v\n", werr)
	}
}

// interrupted returns the signal that cancelled ctx if a command failed with
// err because of it, and otherwise err. A check that failed before is a result
// and takes precedence.
func interrupted(ctx context.Context, err error) error {
	s, ok := signals.Of(ctx)
	if !ok || err == nil || errors.Is(err, errCheck) {
		return err
	}
	return s
}
