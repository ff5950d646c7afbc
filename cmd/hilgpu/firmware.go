package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hilgpu/hilgpu/boards"
	"github.com/hilgpu/hilgpu/boards/regs"
	"github.com/hilgpu/hilgpu/firmware"
	"github.com/hilgpu/hilgpu/firmware/mcu"
	"github.com/hilgpu/hilgpu/rtl/abi/fwabi"
	"github.com/hilgpu/hilgpu/rtl/abi/mcureg"
	"github.com/hilgpu/hilgpu/testbench/command"
	"github.com/hilgpu/hilgpu/testbench/command/exit"
)

// firmwareFlags are the flags of firmware and its commands.
type firmwareFlags struct {
	board string
	image string
	app   *command.App
}

func newFirmware(a *command.App) *cobra.Command {
	f := &firmwareFlags{app: a}
	c := &cobra.Command{
		Use:   "firmware",
		Short: "Load and test the firmware of a board's microcontroller, and show its log",
		Long: `Firmware works on the microcontroller inside the GPU, without drivers. The image is the
one in this program, or a file. docs/firmware.md describes images, stages and results.`,
		Example: `  hilgpu firmware info
  hilgpu firmware selftest --board 'emu?config=full'
  hilgpu firmware load --board 'emu?config=full' --image firmware.bin
  hilgpu firmware log --board 'emu?config=full' --level messages`,
	}
	p := c.PersistentFlags()
	command.AddBoard(p, &f.board, "")
	p.StringVar(&f.image, "image", "", "`file` with the image; default: the image in this program")
	a.AddJSON(p)
	c.AddCommand(newFirmwareInfo(f), newFirmwareLoad(f), newFirmwareLog(f), newFirmwareSelftest(f), newFirmwareCore(f))
	a.Links.Add(c)
	return c
}

// checked returns the image of the flags, after its check.
func (f *firmwareFlags) checked() (m firmware.Image, data []byte, err error) {
	data = firmware.Default()
	if f.image != "" {
		if data, err = f.app.Links.Outputs.ReadFile(f.image); err != nil {
			return m, nil, fmt.Errorf("%w: --image: %w", exit.ErrInput, err)
		}
	}
	m, err = firmware.Parse(data)
	return m, data, err
}

// withMCU calls do with the registers of a board that has a microcontroller.
func (f *firmwareFlags) withMCU(do func(r mcu.Registers) error) error {
	opt, err := f.app.Links.Options()
	if err != nil {
		return err
	}
	return boards.WithRegisters(f.board, opt, regs.Options{}, func(fn *regs.Function) error {
		r := mcu.Over(fn.Link())
		if err := mcu.Check(r); err != nil {
			return err
		}
		return do(r)
	})
}

// imageJSON describes an image.
type imageJSON struct {
	File    string `json:"file,omitempty"`
	Version uint32 `json:"version"`
	Layout  string `json:"layout"`
	Build   string `json:"build"`
	Size    uint32 `json:"size"`
	Memory  uint32 `json:"memory"`
	CRC     string `json:"crc"`
}

func (f *firmwareFlags) describe(m firmware.Image) imageJSON {
	return imageJSON{f.image, m.Version, hex32(m.Layout), fmt.Sprintf("%x", m.Build), m.Size, m.Memory, hex32(m.CRC)}
}

func (i imageJSON) text() string {
	from := i.File
	if from == "" {
		from = "in this program"
	}
	return fmt.Sprintf("image    %s, version %d, layout %s, CRC %s\n         build %s, %d bytes, %d bytes of memory\n",
		from, i.Version, i.Layout, i.CRC, i.Build, i.Size, i.Memory)
}

func hex32(v uint32) string { return fmt.Sprintf("0x%08x", v) }

// mcuJSON describes the microcontroller of a board, and its program.
type mcuJSON struct {
	Board       string `json:"board"`
	Memory      uint32 `json:"memory"`
	Windows     uint32 `json:"windows"`
	Breakpoints uint32 `json:"breakpoints"`
	State       string `json:"state"` // reset, running, asleep, halted, hung
	Stage       string `json:"stage"`
	Result      string `json:"result"`
	Build       string `json:"build"` // its first 4 bytes
}

func (m mcuJSON) text() string {
	return fmt.Sprintf("board    %s, %d bytes of memory, %d windows, %d breakpoints\nprogram  %s, stage %s, result %s, build %s\n",
		m.Board, m.Memory, m.Windows, m.Breakpoints, m.State, m.Stage, m.Result, m.Build)
}

// infoJSON is the output of firmware info --json.
type infoJSON struct {
	Image imageJSON `json:"image"`
	MCU   *mcuJSON  `json:"mcu"` // nil: the board has none, or failed
}

func (i infoJSON) text(board string) string {
	if i.MCU == nil {
		return fmt.Sprintf("%sboard    %s, the board has no microcontroller\n", i.Image.text(), board)
	}
	return i.Image.text() + i.MCU.text()
}

func newFirmwareInfo(f *firmwareFlags) *cobra.Command {
	return &cobra.Command{
		Use:   "info",
		Short: "Print the image and what the microcontroller has and does",
		Long: `Info prints the image, which needs no board, and what the microcontroller of the board has
and does, if the board has one. It reads registers and changes nothing.`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return f.info() },
	}
}

func (f *firmwareFlags) info() error {
	m, _, err := f.checked()
	if err != nil {
		return err
	}
	all := infoJSON{Image: f.describe(m)}
	all.MCU, err = f.look()
	text := all.text(f.board)
	if exit.Code(err) == exit.Usage {
		return err
	} else if err != nil {
		text = all.Image.text() // it needs no board
	}
	if f.app.Document(all) {
		return err
	}
	_, werr := io.WriteString(f.app.Out, text)
	return cmp.Or(err, werr)
}

// look reads the registers of the microcontroller, and returns nil if the board has none.
func (f *firmwareFlags) look() (found *mcuJSON, err error) {
	opt, err := f.app.Links.Options()
	if err != nil {
		return nil, err
	}
	err = boards.WithRegisters(f.board, opt, regs.Options{}, func(fn *regs.Function) error {
		r := mcu.Over(fn.Link())
		if err := mcu.Check(r); err != nil {
			return err
		}
		m, err := look(r, f.board)
		found = &m
		return err
	})
	if err != nil {
		found = nil
	}
	if f.app.Links.Gdb == "" && errors.Is(err, mcu.ErrMissing) {
		err = nil
	}
	return found, err
}

// look reads the registers of a microcontroller.
func look(r mcu.Registers, board string) (mcuJSON, error) {
	var info, ctl, status, stage, result, build uint32
	for _, reg := range [...]struct {
		off uint32
		v   *uint32
	}{
		{mcureg.Info, &info}, {mcureg.Ctl, &ctl}, {mcureg.Status, &status}, {mcureg.Mail + 4*fwabi.MailCheckpoint, &stage},
		{mcureg.Mail + 4*fwabi.MailResult, &result}, {mcureg.Mail + 4*fwabi.MailBuild, &build},
	} {
		var err error
		if *reg.v, err = r.Read(mcureg.Base + reg.off); err != nil {
			return mcuJSON{}, err
		}
	}
	boot := firmware.Boot{Checkpoint: stage, Result: result}
	return mcuJSON{
		Board: board, Memory: info & mcureg.InfoMemory << 10, Windows: info & mcureg.InfoWindows >> 8, Breakpoints: info & mcureg.InfoBreakpoints >> 12,
		State: stateOf(ctl, status), Stage: boot.Stage(), Result: boot.Outcome(), Build: firmware.BuildText(build),
	}, nil
}

// stateOf names what a processor does.
func stateOf(ctl, status uint32) string {
	switch {
	case ctl&mcureg.CtlRun == 0:
		return "reset"
	case status&mcureg.StatusHung != 0:
		return "hung"
	case status&mcureg.StatusHalted != 0:
		return "halted"
	case status&mcureg.StatusAsleep != 0:
		return "asleep"
	}
	return "running"
}

// bootJSON is the output of firmware load --json.
type bootJSON struct {
	Stage  string `json:"stage"`
	Result string `json:"result"`
	Build  string `json:"build"`
	Clocks uint64 `json:"clocks"` // from the start to ready
}

func newFirmwareLoad(f *firmwareFlags) *cobra.Command {
	return &cobra.Command{
		Use:   "load",
		Short: "Load the firmware and start it",
		Long: `Load stops what runs, loads the image, starts it and waits until it is ready. The
self-test of the boot overwrites the last 4 KiB of VRAM. On a board at the end of a wire the
firmware runs on afterwards.`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return f.load() },
	}
}

func (f *firmwareFlags) load() error {
	b, err := f.boot(func(mcu.Registers) error { return nil })
	if err != nil {
		return err
	}
	out := bootJSON{b.Stage(), b.Outcome(), firmware.BuildText(b.Build), b.Clocks}
	if f.app.Document(out) {
		return nil
	}
	_, err = fmt.Fprintf(f.app.Out, "program  stage %s, result %s, build %s, ready after %d clocks\n", out.Stage, out.Result, out.Build, out.Clocks)
	return err
}

// stageJSON is a stage in the output of firmware selftest --json.
type stageJSON struct {
	Stage  string `json:"stage"`
	Doc    string `json:"doc"`
	Result string `json:"result"` // ok, not run, or the name of the result
}

// selftestJSON is the output of firmware selftest --json.
type selftestJSON struct {
	Stages []stageJSON `json:"stages"`
	Again  stageJSON   `json:"again"` // the message SELFTEST
}

func newFirmwareSelftest(f *firmwareFlags) *cobra.Command {
	return &cobra.Command{
		Use:   "selftest",
		Short: "Run the self-test of the boot, and print each stage",
		Long: `Selftest loads the image and starts it, and prints the result of each stage of the boot.
Then it sends the message SELFTEST, which repeats the tests but that of the data memory,
prints its result as AGAIN, and stops the firmware. It overwrites the last 4 KiB of VRAM.`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return f.selftest() },
	}
}

func (f *firmwareFlags) selftest() error {
	again := stageJSON{"AGAIN", "the tests again, by a message", "not run"}
	b, err := f.serve(0, func(c serving) error {
		found, err := c.Selftest(0)
		if err != nil {
			return err
		}
		if again.Result = "ok"; found.Result != fwabi.ResultReady {
			again.Result = found.ResultName()
			err = &firmware.BootError{Kind: firmware.ErrFailed, Boot: firmware.Boot{Checkpoint: found.Stage, Result: found.Result, Detail: found.Detail}}
		}
		return err
	})
	if b.Polls == 0 {
		return err
	}
	out := selftestJSON{bootStages(b, err), again}
	if f.app.Document(out) {
		return err
	}
	var text strings.Builder
	for _, s := range append(out.Stages, again) {
		fmt.Fprintf(&text, "%-7s  %-8s  %s\n", s.Stage, s.Result, s.Doc)
	}
	if _, werr := io.WriteString(f.app.Out, text.String()); err == nil {
		err = werr
	}
	return err
}

// bootStages returns the results of the stages of a boot. err matters if it did not end with READY.
func bootStages(b firmware.Boot, err error) []stageJSON {
	if b.Result == fwabi.ResultReady {
		err = nil
	}
	all := []stageJSON{}
	for _, c := range fwabi.Stages {
		s := stageJSON{c.Name, c.Doc, "ok"}
		switch {
		case c.Value == fwabi.StageNone:
			continue
		case err != nil && c.Value > b.Checkpoint:
			s.Result = "not run"
		case err != nil && c.Value == b.Checkpoint && errors.Is(err, firmware.ErrHung):
			s.Result = "hangs"
		case err != nil && c.Value == b.Checkpoint:
			s.Result = b.Outcome()
		}
		all = append(all, s)
	}
	return all
}
