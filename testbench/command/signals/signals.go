// Package signals ends a command on an interrupt, a termination signal or a hangup of its
// terminal: at once, or after it has reported the results so far.
package signals

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// An Error is the error of a program ended by a signal.
type Error struct{ Signal syscall.Signal }

// Error names the signal.
func (e Error) Error() string { return "ended by a signal: " + e.Signal.String() }

// cleanUp is how long a program ended by a signal may take to write its
// outputs, because a pipe without a reader blocks.
const cleanUp = time.Second

// notify returns a channel that gets interrupts, terminations and hangups. A hangup that is
// ignored stays so, as nohup wants it.
func notify() chan os.Signal {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(signals, syscall.SIGHUP)
	}
	return signals
}

// Handle installs a handler that ends the program at the first signal: it calls
// end with an Error and, when end has returned or after a second, exits with the
// code of that Error. A second signal ends the program at once. stop removes the
// handler; it is called once.
func Handle(end func(error), code func(error) int) (stop func()) {
	signals := notify()
	go func() {
		s, ok := <-signals
		if !ok {
			return
		}
		signal.Stop(signals)
		err := errorOf(s)
		ended := make(chan bool)
		go func() {
			defer close(ended)
			end(err)
		}()
		select {
		case <-ended:
		case <-time.After(cleanUp):
		}
		os.Exit(code(err))
	}()
	return func() {
		signal.Stop(signals)
		close(signals)
	}
}

func errorOf(s os.Signal) Error {
	n, _ := s.(syscall.Signal)
	return Error{n}
}

// Until returns a context that the first signal cancels, with an Error as its
// cause. A second signal ends the program at once. ctx may be nil.
func Until(ctx context.Context) (context.Context, context.CancelFunc) {
	if ctx == nil {
		ctx = context.Background()
	}
	ctx, cancel := context.WithCancelCause(ctx)
	signals := notify()
	go func() {
		select {
		case s := <-signals:
			signal.Stop(signals)
			cancel(errorOf(s))
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		cancel(nil)
	}
}

// Of returns the signal that cancelled a context of Until, and reports whether
// there was one.
func Of(ctx context.Context) (e Error, ok bool) {
	ok = errors.As(context.Cause(ctx), &e)
	return e, ok
}
