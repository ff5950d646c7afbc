package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/hilgpu/hilgpu/firmware/corefile"
	"github.com/hilgpu/hilgpu/firmware/mcu"
)

// coreReads is how often firmware core reads the state of the processor in one wait.
const coreReads = 10_000

// coreJSON is the output of firmware core --json.
type coreJSON struct {
	File  string `json:"file"`
	Bytes int    `json:"bytes"`
	State string `json:"state"` // why the program was halted; running
	PC    string `json:"pc"`
}

func newFirmwareCore(f *firmwareFlags) *cobra.Command {
	load := false
	c := &cobra.Command{
		Use:   "core FILE",
		Short: "Write the core file of the program that runs, for gdb",
		Long: `Core writes registers, CSRs and memory of the microcontroller to an ELF core file. A program
that runs is halted for a moment. One that is halted, as after a hang, stays so. The ELF
file of the same build has the symbols:

  gdb-multiarch -iex 'set osabi none' out/firmware/firmware.elf FILE`,
		Example: `  hilgpu firmware core firmware.core --board 'serial:/dev/ttyUSB1?baud=3000000'
  hilgpu firmware core firmware.core --load --board 'emu?config=full'`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return f.core(args[0], load) },
	}
	c.Flags().BoolVar(&load, "load", false, "load the firmware and start it first, as firmware load does")
	return c
}

func (f *firmwareFlags) core(path string, load bool) error {
	out, err := f.app.Links.Outputs.Create(path)
	if err != nil {
		return err
	}
	defer out.Discard()
	var s corefile.State
	take := func(r mcu.Registers) (err error) {
		s, err = corefile.Take(r, coreReads)
		return err
	}
	if load {
		_, err = f.boot(take)
	} else {
		err = f.withMCU(take)
	}
	if err != nil {
		return err
	}
	core := s.Bytes()
	if _, err := out.Write(core); err != nil {
		return err
	}
	if err := out.Commit(); err != nil {
		return err
	}
	made := coreJSON{path, len(core), s.Cause.String(), hex32(s.PC)}
	if f.app.Document(made) {
		return nil
	}
	_, err = fmt.Fprintf(f.app.Out, "core     %s, %d bytes, %s, pc %s\n", made.File, made.Bytes, made.State, made.PC)
	return err
}
