package command

import (
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/hilgpu/hilgpu/firmware/log"
	"github.com/hilgpu/hilgpu/rtl/abi/fwabi"
	"github.com/hilgpu/hilgpu/testbench"
	"github.com/hilgpu/hilgpu/testbench/command/exit"
	"github.com/hilgpu/hilgpu/testbench/output"
)

// defaultPeriod is 164 us at 100 MHz.
const defaultPeriod = 1 << 14

// addObserver adds the flags --firmware-core, --firmware-telemetry and --firmware-period to a command that runs the
// drivers, if they pass on what their firmware tells.
func (a *App) addObserver(c *cobra.Command) {
	if a.program.Drivers.Observed == nil {
		return
	}
	l := a.Links
	c.Flags().StringVar(&l.core, "firmware-core", "", "write the core of the first hang of the firmware to this `file`")
	c.Flags().StringVar(&l.samples, "firmware-telemetry", "", "write samples of --firmware-queues to this `file`: .csv, .jsonl, text")
	c.Flags().Uint32Var(&l.period, "firmware-period", 0, "`clocks` between two samples of --firmware-telemetry; 0: 16384")
}

// checkSamples fails with exit.ErrInput if a flag of the samples is out of range or alone.
func (l *Links) checkSamples() error {
	switch {
	case l.samples != "" && !l.Queues.Use:
		return fmt.Errorf("%w: --firmware-telemetry needs --firmware-queues", exit.ErrInput)
	case l.samples == "" && l.period != 0:
		return fmt.Errorf("%w: --firmware-period needs --firmware-telemetry", exit.ErrInput)
	case l.period != 0 && l.period < fwabi.PeriodLeast:
		return fmt.Errorf("%w: --firmware-period %d, want at least %d clocks, or 0", exit.ErrInput, l.period, fwabi.PeriodLeast)
	}
	return nil
}

// Observe lets the options of a system ask for what the flags of addObserver save. It returns what must be called at the
// end, which writes the files. Both fail with output.ErrWrite.
func (l *Links) Observe(o *testbench.Options) (end func() error, err error) {
	core, err := l.Outputs.Create(l.core)
	if err != nil {
		return nil, err
	}
	samples, err := l.Outputs.Create(l.samples)
	if err != nil {
		return nil, err
	}
	var first []byte
	var all []log.Sample
	if core != nil {
		o.Observer.Core = func(core []byte) {
			if first == nil {
				first = core
				fmt.Fprintf(l.Log, "%s: the firmware hung\n", l.Program)
			}
		}
	}
	if samples != nil {
		o.Queues.Period = l.period
		if l.period == 0 {
			o.Queues.Period = defaultPeriod
		}
		o.Observer.Samples = func(more []log.Sample) { all = append(all, more...) }
	}
	return func() error {
		err := l.saveCore(core, first)
		if serr := l.saveSamples(samples, all); err == nil {
			err = serr
		}
		return err
	}, nil
}

// saveCore writes the core file of a hang, if there was one.
func (l *Links) saveCore(out *output.File, core []byte) error {
	if out == nil {
		return nil
	}
	defer out.Discard()
	if core == nil {
		return nil
	}
	if _, err := out.Write(core); err != nil {
		return err
	}
	return out.Commit()
}

// saveSamples writes samples in the format that the name of their file asks for, and says how many are missing.
func (l *Links) saveSamples(out *output.File, all []log.Sample) error {
	if out == nil {
		return nil
	}
	defer out.Discard()
	write := log.SamplesText
	switch filepath.Ext(l.samples) {
	case ".csv":
		write = log.SamplesCSV
	case ".jsonl":
		write = log.SamplesJSON
	default:
	}
	if err := write(out, all); err != nil {
		return err
	}
	if n := missing(all); n != 0 {
		fmt.Fprintf(l.Log, "%s: %d samples of the firmware are lost: the drivers take them too rarely for --firmware-period\n", l.Program, n)
	}
	return out.Commit()
}

// missing returns how many samples are missing between those that were taken. A number that is not higher than the
// one before begins the samples of a firmware that was loaded again.
func missing(all []log.Sample) (n uint32) {
	next := uint32(0)
	for _, s := range all {
		if s.Number < next {
			next = 0
		}
		n += s.Number - next
		next = s.Number + 1
	}
	return n
}
