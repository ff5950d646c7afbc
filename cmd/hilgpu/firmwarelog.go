package main

import (
	"encoding/binary"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/hilgpu/hilgpu/firmware"
	"github.com/hilgpu/hilgpu/firmware/log"
	"github.com/hilgpu/hilgpu/rtl/abi/fwabi"
	"github.com/hilgpu/hilgpu/rtl/abi/mcureg"
	"github.com/hilgpu/hilgpu/rtl/abi/perfreg"
	"github.com/hilgpu/hilgpu/testbench/command/exit"
)

const samplesMost = 1 << 16 // the largest --telemetry

// logFlags are the flags of firmware log.
type logFlags struct {
	*firmwareFlags
	level   string
	format  string
	table   string
	samples int
	period  uint32
}

// logJSON is the output of firmware log --json.
type logJSON struct {
	Build   string       `json:"build"`
	Lines   []log.Line   `json:"lines,omitempty"`
	Samples []log.Sample `json:"samples,omitempty"`
	Lost    uint32       `json:"lost"` // lines or samples that found the ring full
}

func newFirmwareLog(f *firmwareFlags) *cobra.Command {
	l := &logFlags{firmwareFlags: f}
	c := &cobra.Command{
		Use:   "log",
		Short: "Start the firmware and print its log, or samples of the nodes",
		Long: `Log stops what runs, as firmware load does, and starts the image with a message area in
host memory. It prints the lines of the log since the start, and stops the firmware. The
log of a program that already ran is lost. With --telemetry it prints samples of the
counters of the nodes instead, one after each --period of the GPU's clocks. The number of
lines or samples that found the ring full is printed on standard error. The self-test of
the boot overwrites the last 4 KiB of VRAM.

The texts of the lines are in a table that belongs to one build of the firmware: --image
needs --table, unless the file is the image in this program.`,
		Example: `  hilgpu firmware log --board 'emu?config=full' --level messages
  hilgpu firmware log --board 'emu?config=full' --telemetry 4 --format csv`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return l.run() },
	}
	fl := c.Flags()
	fl.StringVar(&l.level, "level", "events", "the most detailed `level`: errors, events or messages")
	fl.StringVar(&l.format, "format", "text", "`format` of the lines: text, jsonl or csv")
	fl.StringVar(&l.table, "table", "", "`file` with the texts of the image, as make firmware writes it")
	fl.IntVar(&l.samples, "telemetry", 0, "`number` of samples to print instead of the log")
	fl.Uint32Var(&l.period, "period", 1<<14, "`clocks` between two samples")
	return c
}

var levels = map[string]uint32{"errors": 1, "events": 2, "messages": 3} // values of --level

// check returns an error of the flags.
func (l *logFlags) check() error {
	switch {
	case levels[l.level] == 0:
		return fmt.Errorf("%w: --level %q, want errors, events or messages", exit.ErrInput, l.level)
	case l.format != "text" && l.format != "jsonl" && l.format != "csv":
		return fmt.Errorf("%w: --format %q, want text, jsonl or csv", exit.ErrInput, l.format)
	case l.samples < 0 || l.samples > samplesMost:
		return fmt.Errorf("%w: --telemetry %d, want 0 to %d", exit.ErrInput, l.samples, samplesMost)
	case l.period < fwabi.PeriodLeast:
		return fmt.Errorf("%w: --period %d, want at least %d", exit.ErrInput, l.period, fwabi.PeriodLeast)
	}
	return nil
}

// texts returns the table of the image's formats.
func (l *logFlags) texts() (log.Table, error) {
	file := firmware.LogTable()
	if l.table != "" {
		var err error
		if file, err = l.app.Links.Outputs.ReadFile(l.table); err != nil {
			return log.Table{}, fmt.Errorf("%w: --table: %w", exit.ErrInput, err)
		}
	}
	t, err := log.ParseTable(file)
	if err != nil {
		return t, err
	}
	m, _, err := l.checked()
	if err != nil {
		return t, err
	}
	return t, t.Check(binary.LittleEndian.Uint32(m.Build[:]))
}

func (l *logFlags) run() error {
	if err := l.check(); err != nil {
		return err
	}
	t, err := l.texts()
	if err != nil {
		return err
	}
	var out logJSON
	boot, err := l.serve(1<<(perfreg.Base/mcureg.BlockBytes), func(s serving) (err error) {
		if _, _, err = s.Call(fwabi.OpLog, dword(levels[l.level])); err != nil {
			return err
		}
		if l.samples != 0 {
			out.Samples, out.Lost, err = l.sample(s)
			return err
		}
		out.Lines, out.Lost, err = log.Read(s.area, t)
		out.Lines = slices.DeleteFunc(out.Lines, func(line log.Line) bool { return line.Level > levels[l.level] }) // of the boot
		return err
	})
	if err != nil {
		return err
	}
	if out.Build = firmware.BuildText(boot.Build); l.app.Document(out) {
		return nil
	}
	return l.print(out)
}

// print prints the lines or the samples in the format of --format.
func (l *logFlags) print(out logJSON) error {
	lines := map[string]func(io.Writer, []log.Line) error{"text": log.Text, "jsonl": log.JSON, "csv": log.CSV}[l.format]
	samples := map[string]func(io.Writer, []log.Sample) error{"text": log.SamplesText, "jsonl": log.SamplesJSON, "csv": log.SamplesCSV}[l.format]
	var err error
	if l.samples != 0 {
		err = samples(l.app.Out, out.Samples)
	} else {
		err = lines(l.app.Out, out.Lines)
	}
	if err == nil && out.Lost != 0 { // standard error, since jsonl and csv have no place for it
		_, err = fmt.Fprintf(l.app.Stderr, "%d lost, which found the ring full\n", out.Lost)
	}
	return err
}

func dword(v uint32) []byte { return binary.LittleEndian.AppendUint32(nil, v) }
