package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/hilgpu/hilgpu/testbench/output"
)

// A signalError is the error of a program that a signal ends.
type signalError struct{ signal syscall.Signal }

// Error names the signal.
func (e signalError) Error() string { return "ended by a signal: " + e.signal.String() }

// onSignal has the program end as a signal would end it, if it is interrupted or
// terminated: the outputs are discarded, what is captured and recorded so far is
// kept, and a JSON document has the error. It returns what ends that.
func (a *app) onSignal(outputs ...*output.File) (stop func()) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		s, ok := <-signals
		if !ok {
			return
		}
		a.stderr.Wipe()
		for _, o := range outputs {
			o.Discard()
		}
		if err := a.links.CommitFiles(nil); err != nil {
			fmt.Fprintf(a.stderr, "hilgpu: %v\n", err)
		}
		n, _ := s.(syscall.Signal)
		err := signalError{n}
		if werr := a.end(err); werr != nil {
			fmt.Fprintf(a.stderr, "hilgpu: %v\n", werr)
		}
		os.Exit(exitCode(err))
	}()
	return func() {
		signal.Stop(signals)
		close(signals)
	}
}

// untilSignal returns a context that an interrupt ends.
func untilSignal(ctx context.Context) (context.Context, context.CancelFunc) {
	if ctx == nil {
		ctx = context.Background()
	}
	return signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
}
