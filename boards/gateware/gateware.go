// Package gateware is the table of the boards that have gateware: the part, the clocks, the
// pins, the configuration and the links of each. The bitstream, the constraints, the
// selector pins and docs/boards.md are made from it.
package gateware

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hilgpu/hilgpu/boards/pins"
	"github.com/hilgpu/hilgpu/rtl/eth/ip"
	"github.com/hilgpu/hilgpu/rtl/synth"
	"github.com/hilgpu/hilgpu/rtl/verilog"
)

// ErrBoard is wrapped by the error for a name that is not in the table.
var ErrBoard = errors.New("gateware: unknown board")

// A Top is the design below the shell of a board, at the pins of its UART.
type Top interface {
	// Line returns the level that the board sends.
	Line() bool

	// Tick advances one clock. rx is the level that the board receives.
	Tick(rx bool)
}

// A Pin is a port of the shell and the ball of the package that it is connected to.
type Pin struct {
	Port string // such as led[0]
	Ball string
	Use  string
}

// A PinClock is a clock that comes in at a port of the shell.
type PinClock struct {
	Port string
	MHz  float64
}

// A Board is a row of the table.
//
//	Name      in selectors and commands
//	Title     the name that its maker gives it
//	PinHz     clock of the board
//	Hz        clock of the design
//	Rates     of the UART, bits per second, in ascending order; the first one is that of a
//	          board without a session. None of a board on Ethernet
//	Address   at the Ethernet, see At
//	Config    of the GPU, in words
//	Pins      all pins in use
//	Source    document that the pins are from
//	Tried     what was tried on hardware
//	Programs  name of the board for openFPGALoader
//	Iceprog   whether iceprog can write its flash too
//	Seed      of nextpnr
//	Shell     Verilog around the design, with the module shell as its top
//	Parts     of the shell, further files of Verilog
//	Clocks    of the shell, that come in at a pin, besides that of the design
//	Macros    of the shell, in its file board.vh, which also has the ports of the design
//	Outputs   methods of the design that are ports
//	New       returns the design after reset of a board with a UART; build is the value of
//	          ID.BUILD
//	NewEther  that of a board on Ethernet with its addresses, which has no New
type Board struct {
	Name, Title string
	Part        synth.Part
	PinHz, Hz   uint64
	Rates       []int
	Address     ip.Params
	Config      string
	Pins        []Pin
	Source      string
	Tried       string
	Programs    string
	Iceprog     bool
	Seed        int
	Shell       []byte
	Parts       []verilog.File
	Clocks      []PinClock
	Macros      [][2]string
	Outputs     []string
	New         func(build uint32) (Top, error)
	NewEther    func(at ip.Params, build uint32) (pins.EtherTop, error)

	usual ip.Params // addresses of a build that chooses none
}

// Design returns the design after reset, a Top or a pins.EtherTop.
func (b *Board) Design(build uint32) (any, error) {
	if b.New != nil {
		return b.New(build)
	}
	return b.NewEther(b.Address, build)
}

// All returns the table.
func All() []*Board {
	return []*Board{
		hx8k(),
		ulx3sOf("", 85, 2, 256<<10, false), ulx3sOf("-mcu", 85, 2, 256<<10, true), ulx3sOf("-25f", 25, 1, 64<<10, false), ulx3sOf("-12f", 12, 1, 64<<10, false),
		colorlight(),
	}
}

// lights returns what the LEDs of a board with a UART show, by the bits of the port LEDs of
// its design.
func lights() [8]string {
	return [8]string{"bytes arrive", "a session", "a node works", "a node has stopped on a fault since the session began", "off", "off", "off", "off"}
}

// config describes a configuration with other nodes and VRAM.
func config(name string, nodes int, vram uint64) string {
	with := ""
	if nodes == 1 {
		with = "one node and "
	}
	return fmt.Sprintf("%s with %s%d KiB of VRAM", name, with, vram>>10)
}

// Names returns the names of the boards.
func Names() []string {
	var names []string
	for _, b := range All() {
		names = append(names, b.Name)
	}
	return names
}

// Find returns a board by its name. It fails with ErrBoard.
func Find(name string) (*Board, error) {
	for _, b := range All() {
		if b.Name == name {
			return b, nil
		}
	}
	return nil, fmt.Errorf("%w: %q, want %s", ErrBoard, name, strings.Join(Names(), " or "))
}

// Build returns the value of ID.BUILD that the bitstream has which is built from the source
// of this program.
func (b *Board) Build() uint32 { return b.with(builds()[b.Name]) }

// ByBuild returns the name of the board whose gateware has a value of ID.BUILD in this
// program, or "" if there is none. at has the addresses of a board on Ethernet, as far as
// they are known, as At takes them.
func ByBuild(build uint32, at Addresses) string {
	for _, b := range All() {
		if build != 0 && b.Build() == build {
			return b.Name
		}
		if other, err := b.At(at); build != 0 && err == nil && other.Build() == build {
			return b.Name
		}
	}
	return ""
}

// Make translates the board, and returns what its bitstream is made of and the value of
// ID.BUILD in it. root is the root of the source tree. It fails with an error of
// verilog.TranslateModule.
func (b *Board) Make(root string) (*synth.Gateware, uint32, error) {
	build, err := b.Hash(root)
	if err != nil {
		return nil, 0, err
	}
	g, err := b.translate(root, build)
	return g, build, err
}

// Hash returns the value of ID.BUILD of the source at root, as Make does.
func (b *Board) Hash(root string) (uint32, error) {
	usual := *b
	usual.Address = b.usual
	g, err := usual.translate(root, 0)
	if err != nil {
		return 0, err
	}
	return b.with(g.Hash()), nil
}

// translate returns what the bitstream is made of, with a value of ID.BUILD.
func (b *Board) translate(root string, build uint32) (*synth.Gateware, error) {
	top, err := b.Design(build)
	if err != nil {
		return nil, err
	}
	d, err := verilog.TranslateModule(root, top, b.Outputs...)
	if err != nil {
		return nil, err
	}
	return b.around(d), nil
}

// around returns a design in the shell of the board. Its file board.vh has the macros of the
// board, and TOP_x for the port of the design that is x in Go.
func (b *Board) around(d *verilog.Design) *synth.Gateware {
	var macros strings.Builder
	for _, m := range b.Macros {
		fmt.Fprintf(&macros, "`define %s %s\n", m[0], m[1])
	}
	for _, p := range d.Manifest.Ports {
		if p.Go != "" {
			fmt.Fprintf(&macros, "`define TOP_%s %s\n", strings.ReplaceAll(p.Go, ".", "_"), p.Name)
		}
	}
	return &synth.Gateware{
		Name: b.Name,
		Part: b.Part,
		Source: synth.Source{
			Files: slices.Concat(d.Files, b.Parts, []verilog.File{{Name: "shell.v", Text: b.Shell}, {Name: "board.vh", Text: []byte(macros.String())}}),
			Top:   "shell", Cells: true, MHz: float64(b.Hz) / 1e6,
		},
		Manifest: d.Manifest,
		Instance: "top",
		Pins:     b.Constraints(),
		Seed:     b.Seed,
	}
}

// Constraints returns the constraints of the pins, as the tools of the part read them.
func (b *Board) Constraints() []byte {
	var pins [][2]string
	for _, p := range b.Pins {
		pins = append(pins, [2]string{p.Port, p.Ball})
	}
	text := b.Part.Constraints(pins)
	for _, c := range b.Clocks {
		text = append(text, synth.ClockConstraint(c.Port, c.MHz)...)
	}
	return text
}
