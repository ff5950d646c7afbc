package synth

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// ErrDir is wrapped by the error for a directory that cannot be written.
var ErrDir = errors.New("synth: bad directory")

// reportFile is the report of nextpnr.
const reportFile = "report.json"

// A Resource is a kind of cell of a part, with the number of those in use.
type Resource struct {
	Name  string `json:"name"`
	Used  int    `json:"used"`
	Total int    `json:"total"`
}

// A Bitstream is the result of building a Gateware.
//
//	Build      ID.BUILD, eight hexadecimal digits
//	Resources  of the part, by nextpnr, or by yosys if the design was not placed
//	WantMHz    slowest clock allowed
//	MHz        highest clock by nextpnr; 0 if the design was not placed
//	StaticMHz  highest clock by icetime, which times the routed design; 0 if not measured
//	Path       the path that limits MHz
//	Tools      versions
//	Findings   reasons to refuse it
//	File       the bitstream, "" if it was refused
//	SHA256     of the bitstream
type Bitstream struct {
	Board     string     `json:"board"`
	Device    string     `json:"device"`
	Build     string     `json:"build"`
	Resources []Resource `json:"resources"`
	WantMHz   float64    `json:"want_mhz"`
	MHz       float64    `json:"mhz"`
	StaticMHz float64    `json:"static_mhz,omitempty"`
	Path      Path       `json:"critical_path"`
	Tools     []string   `json:"tools"`
	Findings  []Finding  `json:"findings"`
	File      string     `json:"file"`
	Bytes     int        `json:"bytes"`
	SHA256    string     `json:"sha256"`
}

// Check fails with ErrTool if a tool that must be installed is missing. The tools for ECP5
// that Debian does not have are looked for after the synthesis.
func (p Part) Check() error {
	if p.Target == ICE40 {
		return Tools("yosys", "nextpnr-ice40", "icepack", "icetime", "icebox_chipdb")
	}
	return Tools("yosys")
}

// Build makes the bitstream in dir, which it creates, and leaves all that the tools read
// and write there. build is the value of ID.BUILD that the source has, for the report.
// step, if not nil, is called with the name of each step as it begins. A clock that is too
// slow and findings of the synthesis are Findings; there is then no bitstream. Build fails
// with ErrTool, ErrDir, ErrYosys or ErrPlace.
func (g *Gateware) Build(dir string, build uint32, step func(name string)) (*Bitstream, error) {
	if err := errors.Join(g.Part.Target.Check(), g.Part.Check()); err != nil {
		return nil, err
	}
	if step == nil {
		step = func(string) {}
	}
	back := g.Part.backend()
	out := &Bitstream{Board: g.Name, Device: g.Part.Name, Build: fmt.Sprintf("%08x", build), WantMHz: g.Source.MHz}
	file := g.Name + back.bits
	if err := g.prepare(dir, file, back.routed); err != nil {
		return nil, err
	}
	step("synthesis")
	s := g.Source
	s.Files = bare(s.Files)
	n, err := synthesiseIn(dir, s, g.Part.Target, false)
	if err != nil {
		return nil, err
	}
	if err := g.synthesised(n, out); err != nil {
		return nil, err
	}
	if err := Tools(back.place, back.pack); err != nil {
		return out, err
	}
	step("placing and routing")
	if err := g.route(dir, n, out); err != nil {
		return nil, err
	}
	step("timing")
	if err := g.timed(dir, out); err != nil {
		return nil, err
	}
	if len(out.Findings) > 0 {
		return out, nil
	}
	step("packing")
	if text, err := command(dir, back.pack, append(back.args, back.routed, file)...); err != nil {
		return nil, fmt.Errorf("%w: %s: %w\n%s", ErrPlace, back.pack, err, tail(text))
	}
	return out, out.sum(dir, file)
}

// synthesised adds what the synthesis has found.
func (g *Gateware) synthesised(n *netlist, out *Bitstream) error {
	all, err := blocks(n.stat, g.Source.Top)
	if err != nil {
		return err
	}
	var full []Finding
	out.Resources, full = g.Part.counted(all[0].Cells)
	out.Findings, out.Tools = append(findings(n.log), full...), versions("yosys")
	return nil
}

// MakeDir creates a directory unless it exists. It fails with ErrDir if it cannot be
// written.
func MakeDir(dir string) error {
	err := os.MkdirAll(dir, 0o777)
	if err == nil {
		var f *os.File
		if f, err = os.CreateTemp(dir, ".new-*"); err == nil {
			err = errors.Join(f.Close(), os.Remove(f.Name()))
		}
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrDir, err)
	}
	return nil
}

// prepare creates the directory and writes what the tools read. It removes the files of an
// earlier build that are its results.
func (g *Gateware) prepare(dir string, results ...string) error {
	if err := MakeDir(dir); err != nil {
		return err
	}
	for _, name := range results {
		if err := os.Remove(filepath.Join(dir, name)); err != nil && !os.IsNotExist(err) {
			return fmt.Errorf("%w: %w", ErrDir, err)
		}
	}
	for _, f := range g.files() {
		if err := os.WriteFile(filepath.Join(dir, f.Name), f.Text, 0o666); err != nil {
			return fmt.Errorf("%w: %w", ErrDir, err)
		}
	}
	return nil
}

// route places and routes the netlist, and adds resources, clock and path.
func (g *Gateware) route(dir string, n *netlist, out *Bitstream) error {
	tool := g.Part.backend().place
	text, err := command(dir, tool, g.routing(g.Seed)...)
	if again := os.WriteFile(filepath.Join(dir, "nextpnr.log"), []byte(text), 0o666); again != nil {
		return fmt.Errorf("%w: %w", ErrDir, again)
	}
	if err != nil {
		return fmt.Errorf("%w: %w\n%s", ErrPlace, err, tail(text))
	}
	report, err := os.ReadFile(filepath.Join(dir, reportFile))
	if err != nil {
		return err
	}
	if out.MHz, err = slowest(report); err != nil {
		return err
	}
	if out.Resources, err = resources(report); err != nil {
		return err
	}
	found, err := owners(n.json, g.Source.Top, g.Instance, &g.Manifest)
	if err != nil {
		return err
	}
	if out.Path, err = critical(report, found); err != nil {
		return err
	}
	out.Tools = append(out.Tools, versions(tool)...)
	late, err := missed(report, out.WantMHz)
	out.Findings = append(out.Findings, late...)
	return err
}

// slow adds a finding if a clock is too slow.
func (out *Bitstream) slow(tool string, mhz float64) {
	if mhz < out.WantMHz {
		out.Findings = append(out.Findings, Finding{Clock, fmt.Sprintf("%.2f MHz by %s, want %.5g MHz", mhz, tool, out.WantMHz)})
	}
}

// sum adds the file and its hash.
func (out *Bitstream) sum(dir, file string) error {
	text, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil {
		return err
	}
	sum := sha256.Sum256(text)
	out.File, out.Bytes, out.SHA256 = filepath.Join(dir, file), len(text), hex.EncodeToString(sum[:])
	return nil
}

// versions returns what the tools print as their version.
func versions(names ...string) []string {
	var all []string
	for _, name := range names {
		if text, err := command(".", name, "--version"); err == nil {
			all = append(all, strings.TrimSpace(text))
		}
	}
	return all
}

// String returns the report as text.
func (out *Bitstream) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s on %s, build %s\n", out.Board, out.Device, out.Build)
	for _, r := range out.Resources {
		fmt.Fprintf(&b, "%5d of %5d %s\n", r.Used, r.Total, r.Name)
	}
	if out.MHz != 0 {
		fmt.Fprintf(&b, "clock: %.2f MHz by nextpnr", out.MHz)
		if out.StaticMHz != 0 {
			fmt.Fprintf(&b, ", %.2f MHz by icetime", out.StaticMHz)
		}
		fmt.Fprintf(&b, ", want %.5g MHz\n%s", out.WantMHz, out.Path)
	}
	for _, f := range out.Findings {
		fmt.Fprintf(&b, "REFUSED %s\n", f)
	}
	for _, v := range out.Tools {
		fmt.Fprintf(&b, "made by %s\n", v)
	}
	if out.File != "" {
		fmt.Fprintf(&b, "%s: %d bytes, SHA-256 %s\n", out.File, out.Bytes, out.SHA256)
	}
	return b.String()
}
