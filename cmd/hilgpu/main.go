// Hilgpu runs workloads on an emulated GPU or a board, through the whole driver
// stack.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/hilgpu/hilgpu/boards"
	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/bus/datalink"
	"github.com/hilgpu/hilgpu/bus/serial"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/dxgkrnl"
	"github.com/hilgpu/hilgpu/runtime/verifier"
	"github.com/hilgpu/hilgpu/runtime/verifier/rule"
	"github.com/hilgpu/hilgpu/testbench"
	"github.com/hilgpu/hilgpu/testbench/compose"
)

// Exit codes.
const (
	exitOK       = 0
	exitCheck    = 1 // a check failed
	exitUsage    = 2 // usage or bad input
	exitNoDevice = 3 // no device, or another one
	exitLink     = 4 // the link to the device failed
	exitDevice   = 5 // the device faulted or stopped answering
	exitMap      = 6 // the device has another register map
	exitContract = 7 // a driver broke a contract
)

const exitCodes = `Exit codes: 0 ok, 1 check failed, 2 usage or bad input, 3 no device, 4 link,
5 device fault or time-out, 6 register-map mismatch, 7 contract broken.`

// errInput is wrapped by errors of what the command line asks for.
var errInput = errors.New("bad input")

// errCheck is wrapped by the error of a check that failed.
var errCheck = errors.New("check failed")

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// run executes the command line and returns the exit code.
func run(args []string, stdout, stderr io.Writer) (code int) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case *dxgkrnl.Bugcheck:
			fmt.Fprintf(stderr, "hilgpu: %v\n", r)
			code = exitContract
		case *verifier.Violation:
			fmt.Fprintf(stderr, "hilgpu: %s", r.Report())
			code = exitContract
		default:
			panic(r)
		}
	}()
	l := &links{stderr: stderr}
	root := newRoot(l)
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.Execute()
	if cerr := l.commit(err); err == nil {
		err = cerr
	}
	if err == nil {
		return exitOK
	}
	fmt.Fprintf(stderr, "hilgpu: %v\n", err)
	var violation *verifier.Violation
	if errors.As(err, &violation) {
		fmt.Fprint(stderr, violation.Details())
	}
	var stopped *dxgkrnl.DeviceError
	if errors.As(err, &stopped) {
		fmt.Fprint(stderr, stopped.Dump)
	}
	return exitCode(err)
}

// exitCode classifies an error.
func exitCode(err error) int {
	var stopped *dxgkrnl.DeviceError
	var broken *dxgkrnl.Bugcheck
	var violation *verifier.Violation
	if code, ok := regCode(err); ok {
		return code
	}
	if code, ok := portCode(err); ok {
		return code
	}
	if code, ok := bareCode(err); ok {
		return code
	}
	switch {
	case errors.As(err, &broken), errors.As(err, &violation):
		return exitContract
	case errors.Is(err, errCheck):
		return exitCheck
	case isLink(err):
		return exitLink
	case errors.As(err, &stopped):
		return exitDevice
	case errors.Is(err, ddi.StatusRevisionMismatch):
		return exitMap
	case errors.Is(err, boards.ErrSelector), errors.Is(err, errInput), errors.Is(err, compose.ErrInput), errors.Is(err, rule.ErrName):
		return exitUsage
	case errors.Is(err, testbench.ErrDevice), errors.Is(err, bus.ErrTimeout):
		return exitDevice
	}
	return exitUsage
}

// first returns the first of the errors that is one: those behind it are mostly
// the same again.
func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// portCode returns the exit code of an error of reaching a board, and false if
// it is none.
func portCode(err error) (code int, ok bool) {
	for _, e := range []struct {
		err  error
		code int
	}{
		{serial.ErrMissing, exitNoDevice}, {serial.ErrAmbiguous, exitNoDevice}, {serial.ErrNotPort, exitNoDevice},
		{serial.ErrBusy, exitLink}, {serial.ErrForbidden, exitLink}, {serial.ErrUnplugged, exitLink},
		{errListen, exitLink}, {serial.ErrRate, exitUsage}, {datalink.ErrMapHash, exitMap},
	} {
		if errors.Is(err, e.err) {
			return e.code, true
		}
	}
	return 0, false
}

func isLink(err error) bool {
	for _, e := range []error{bus.ErrCRC, bus.ErrLinkDown, bus.ErrStale, bus.ErrClosed} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

func newRoot(l *links) *cobra.Command {
	root := &cobra.Command{
		Use:   "hilgpu",
		Short: "An FPGA-style GPU in Go and the driver stack above it",
		Long: `Hilgpu runs workloads on a GPU through a Direct3D-11-style runtime, a user-mode
driver, a graphics kernel and a display miniport. The GPU is an emulator that
runs its RTL cycle by cycle.

` + exitCodes,
		Example: `  hilgpu run compose --check -o frame.png
  hilgpu version
  hilgpu completion bash > /etc/bash_completion.d/hilgpu`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.NoArgs,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.AddCommand(newBench(), newBoard(l), newBringup(l), newRun(l), newVersion(), newLockstep(), newReg(l), newRules(), newSynth(), newTest(l), newVerilog())
	return root
}
