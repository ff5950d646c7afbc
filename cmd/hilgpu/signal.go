package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// A signalError is the error of a program ended by a signal.
type signalError struct{ signal syscall.Signal }

// Error names the signal.
func (e signalError) Error() string { return "ended by a signal: " + e.signal.String() }

// cleanUp is how long a program ended by a signal may take to write its
// outputs, because a pipe without a reader blocks.
const cleanUp = time.Second

// onSignal installs a handler for interrupt and termination that ends the
// program like the signal: recordings made so far are kept, the other outputs
// are discarded, and a JSON document has the error. A second signal ends the
// program at once. stop removes the handler.
func (a *app) onSignal() (stop func()) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		s, ok := <-signals
		if !ok {
			return
		}
		signal.Stop(signals)
		err := signalOf(s)
		ended := make(chan bool)
		go func() {
			defer close(ended)
			a.signalled(err)
		}()
		select {
		case <-ended:
		case <-time.After(cleanUp):
		}
		os.Exit(exitCode(err))
	}()
	return func() {
		signal.Stop(signals)
		close(signals)
	}
}

// signalled ends the outputs and the answer.
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

func signalOf(s os.Signal) signalError {
	n, _ := s.(syscall.Signal)
	return signalError{n}
}

// stopsItself is the annotation of a command that handles signals itself and
// ends with its results.
const stopsItself = "stops"

// untilSignal returns a context that an interrupt cancels, with a signalError
// as its cause. A second signal ends the program at once.
func untilSignal(ctx context.Context) (context.Context, context.CancelFunc) {
	if ctx == nil {
		ctx = context.Background()
	}
	ctx, cancel := context.WithCancelCause(ctx)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		select {
		case s := <-signals:
			signal.Stop(signals)
			cancel(signalOf(s))
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		cancel(nil)
	}
}

// interrupted returns the signal that cancelled ctx if a command failed with
// err because of it, and otherwise err. A check that failed before is a result
// and takes precedence.
func interrupted(ctx context.Context, err error) error {
	var s signalError
	if !errors.As(context.Cause(ctx), &s) || err == nil || errors.Is(err, errCheck) {
		return err
	}
	return s
}
