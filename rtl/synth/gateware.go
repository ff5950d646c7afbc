package synth

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"regexp"
	"strings"

	"github.com/hilgpu/hilgpu/rtl/verilog"
)

// A Gateware is what a bitstream is made of.
//
//	Name      of the board, and of the bitstream
//	Source    with the shell as its top; files without the suffix .v are included ones
//	Manifest  of the design in the shell
//	Instance  of the design in the shell
//	Pins      constraints, the text of Part.PinsFile
//	Seed      of nextpnr
type Gateware struct {
	Name     string
	Part     Part
	Source   Source
	Manifest verilog.Manifest
	Instance string
	Pins     []byte
	Seed     int
}

// Hash returns the first four bytes, big-endian, of the SHA-256 of all that the tools read
// and of their options, without the seed. It is never 0. Comments and positions in the Go
// source do not count: the tools do not get them. The seed does not count, because it only
// moves cells: all placements of a netlist have one hash.
func (g *Gateware) Hash() uint32 {
	h := sha256.New()
	for _, f := range g.files() {
		fmt.Fprintf(h, "%s %d\n%s", f.Name, len(f.Text), f.Text)
	}
	fmt.Fprintf(h, "%q %q", g.routing(0), g.Part.backend().args)
	if v := binary.BigEndian.Uint32(h.Sum(nil)); v != 0 {
		return v
	}
	return 1
}

// scriptFile is the file with the commands of yosys.
const scriptFile = "run.ys"

// files returns what the tools read.
func (g *Gateware) files() []verilog.File {
	s := g.Source
	s.Files = bare(s.Files)
	files := append(s.Files[:len(s.Files):len(s.Files)], verilog.File{Name: g.Part.PinsFile(), Text: g.Pins})
	return append(files, verilog.File{Name: scriptFile, Text: []byte(script(s, g.Part.Target, false, mapping(g.Part.Target)))})
}

// routing returns the arguments of nextpnr with a seed. A clock that is too slow is a
// finding, not an error of the tool.
func (g *Gateware) routing(seed int) []string {
	b := g.Part.backend()
	return append(g.Part.netlist(seed, g.Source.MHz), b.pinsOpt, b.pins, b.outOpt, b.routed,
		"--report", reportFile, "--timing-allow-fail")
}

// positions are the comments and the attributes that point into the Go source.
var positions = regexp.MustCompile(`//[^\n]*|\(\* src = "[^"]*" \*\)`)

// bare returns the files without comments, positions and blank lines.
func bare(files []verilog.File) []verilog.File {
	var out []verilog.File
	for _, f := range files {
		var b strings.Builder
		for line := range strings.Lines(positions.ReplaceAllString(string(f.Text), "")) {
			if line = strings.TrimRight(line, " \t\n"); line != "" {
				b.WriteString(line + "\n")
			}
		}
		out = append(out, verilog.File{Name: f.Name, Text: []byte(b.String())})
	}
	return out
}
