package command

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hilgpu/hilgpu/boards"
	"github.com/hilgpu/hilgpu/boards/turns"
	"github.com/hilgpu/hilgpu/rtl/abi/fwabi"
	"github.com/hilgpu/hilgpu/runtime/dxgkrnl"
	"github.com/hilgpu/hilgpu/testbench"
	"github.com/hilgpu/hilgpu/testbench/command/exit"
	"github.com/hilgpu/hilgpu/testbench/command/record"
	"github.com/hilgpu/hilgpu/testbench/device/scoreboard"
	"github.com/hilgpu/hilgpu/testbench/device/storm"
	"github.com/hilgpu/hilgpu/testbench/inspect"
)

// Links opens boards for the commands and records them.
type Links struct {
	record.Recorder
	Tdr     time.Duration // of --tdr-delay, as in testbench.Options
	Gdb     string        // of --firmware-gdb
	Inspect string        // of --inspect

	Queues testbench.Queues // of --firmware-queues, --firmware-quantum and --firmware-preempt

	core    string // of --firmware-core
	samples string // of --firmware-telemetry
	period  uint32 // of --firmware-period
	dump    string // of --dump

	gdb     *turns.Server   // nil: not yet started
	inspect *inspect.Server // nil: not yet started
}

// Add adds the flags --capture, --inspect and --firmware-gdb to a command with a link and to its
// subcommands.
func (l *Links) Add(c *cobra.Command) {
	l.AddWatch(c.PersistentFlags())
	c.PersistentFlags().StringVar(&l.Gdb, "firmware-gdb", "", "serve gdb for the firmware at [HOST:]`PORT`; ,wait after it waits for gdb")
}

// Reads notes the file of a board that plays one back. It fails with output.ErrWrite if that is an output.
func (l *Links) Reads(selector string) error {
	scheme, file, _ := strings.Cut(selector, ":")
	if scheme != "snap" && scheme != "capture" {
		return nil
	}
	file, _, _ = strings.Cut(file, "?")
	return l.Outputs.Reads(file)
}

// AddWatch adds the flags --capture, --record and --inspect.
func (l *Links) AddWatch(fl *pflag.FlagSet) {
	l.AddCapture(fl)
	l.AddRecord(fl)
	fl.StringVar(&l.Inspect, "inspect", "", "show the board, read-only, over HTTP at [HOST:]`PORT`")
}

// Options is Recorder.Options, for boards that --inspect shows and whose firmware gdb debugs with
// --firmware-gdb. It also fails with observer.ErrAddress, inspect.ErrListen, turns.ErrAddress and
// turns.ErrListen.
func (l *Links) Options() (boards.Options, error) {
	if err := l.startInspect(); err != nil {
		return boards.Options{}, err
	}
	o, err := l.Recorder.Options()
	if err != nil {
		return o, err
	}
	var share sharing
	if l.inspect != nil {
		share = l.inspect.Share // it reads the board also while gdb has it
	}
	if err := l.startGdb(); err != nil {
		return o, err
	}
	if l.gdb != nil {
		share = share.then(l.gdb.Share)
	}
	o.Share = share
	return o, nil
}

// startGdb starts the server of --firmware-gdb, once.
func (l *Links) startGdb() (err error) {
	if l.Gdb == "" || l.gdb != nil {
		return nil
	}
	l.gdb, err = turns.Serve(l.Gdb, func(err error) { fmt.Fprintf(l.Log, "%s: --firmware-gdb: %v\n", l.Program, err) })
	if err != nil {
		return fmt.Errorf("--firmware-gdb: %w", err)
	}
	if l.gdb.Open {
		fmt.Fprintf(l.Log, "warning: every host that reaches %s controls the firmware\n", l.gdb.Addr)
	}
	fmt.Fprintf(l.Log, "%s: to debug the firmware, tell gdb: target remote %s\n", l.Program, l.gdb.Addr)
	return nil
}

// Commit is Recorder.Commit. It also ends the servers.
func (l *Links) Commit(err error) error {
	if l.inspect != nil {
		l.inspect.Close() // it has nothing to lose
	}
	if l.gdb != nil {
		if gerr := l.gdb.Close(); err == nil {
			err = gerr
		}
	}
	return l.Recorder.Commit(err)
}

// needsProcess reports whether a flag needs all boards of a command in one process.
func (l *Links) needsProcess() bool {
	return l.Capture != "" || l.Record != "" || l.Gdb != "" || l.Inspect != ""
}

// AddKernel adds the flags --tdr-delay and those of the queues of the firmware to a command that runs
// the kernel.
func (l *Links) AddKernel(c *cobra.Command) {
	c.Flags().BoolVar(&l.Queues.Use, "firmware-queues", false, "the firmware runs the work of each context in a queue of its own")
	c.Flags().Uint32Var(&l.Queues.Quantum, "firmware-quantum", 0, "`clocks` of a turn of a context in --firmware-queues; 0: 100000")
	c.Flags().BoolVar(&l.Queues.Preempt, "firmware-preempt", false, "end each such turn, even if no other context waits")
	c.Flags().DurationVar(&l.Tdr, "tdr-delay", 0, "`time` without progress after which the GPU counts as hung, as in 30s; 0: 2 s, and more on a slow link")
}

// kernelFlags returns the flags of AddKernel for a command line that repeats a case.
func (l *Links) kernelFlags() string {
	q, text := l.Queues, ""
	if l.Tdr != 0 {
		text = fmt.Sprintf(" --tdr-delay %v", l.Tdr)
	}
	if q.Use {
		text += " --firmware-queues"
	}
	if q.Quantum != 0 {
		text += fmt.Sprintf(" --firmware-quantum %d", q.Quantum)
	}
	if q.Preempt {
		text += " --firmware-preempt"
	}
	return text
}

// CheckKernel fails with exit.ErrInput if a flag of AddKernel or of addObserver is out of range.
func (l *Links) CheckKernel() error {
	q := l.Queues
	if !q.Use && (q.Quantum != 0 || q.Preempt) {
		return fmt.Errorf("%w: --firmware-quantum and --firmware-preempt need --firmware-queues", exit.ErrInput)
	}
	if q.Quantum != 0 && (q.Quantum < fwabi.QuantumLeast || q.Quantum > fwabi.QuantumMost) {
		return fmt.Errorf("%w: --firmware-quantum %d, want %d to %d clocks, or 0", exit.ErrInput, q.Quantum, fwabi.QuantumLeast, fwabi.QuantumMost)
	}
	if err := l.checkSamples(); err != nil {
		return err
	}
	if l.Tdr < 0 || l.Tdr > 0 && l.Tdr < time.Millisecond {
		return fmt.Errorf("%w: --tdr-delay %v, want at least 1ms, or 0", exit.ErrInput, l.Tdr)
	}
	return nil
}

// stopped reports whether err means that the GPU stopped or differs from its
// reference model.
func stopped(err error) bool {
	var device *dxgkrnl.DeviceError
	return errors.As(err, &device) || errors.Is(err, scoreboard.ErrDiffers) || errors.Is(err, storm.ErrDiffers) ||
		err != nil && exit.Code(err) == exit.Device
}

// mistake reports whether an error is one of the command line or of the input.
func mistake(err error) bool { return exit.Code(err) == exit.Usage }
