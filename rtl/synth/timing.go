package synth

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/hilgpu/hilgpu/rtl/verilog/sim"
)

// A Path is a path from register to register.
type Path struct {
	From        End     `json:"from"`
	To          End     `json:"to"`
	Nanoseconds float64 `json:"nanoseconds"`
	Cells       int     `json:"cells"` // that the path passes between its ends
}

// An End is where a path begins or ends. Without a register or memory of the design, Go and
// Pos are empty.
type End struct {
	Cell string `json:"cell"`          // in the netlist
	Go   string `json:"go,omitempty"`  // path of the field, with the bit of a register
	Pos  string `json:"pos,omitempty"` // file:line of its declaration; memories have none
}

// String returns what a reader of the Go source looks for.
func (e End) String() string {
	if e.Go == "" {
		return e.Cell
	}
	return strings.TrimSpace(e.Go + "  " + e.Pos)
}

// String returns the path as lines of text.
func (p Path) String() string {
	if p.Nanoseconds == 0 {
		return ""
	}
	return fmt.Sprintf("critical path: %.2f ns through %d cells\n  from %s\n  to   %s\n", p.Nanoseconds, p.Cells, p.From, p.To)
}

// resources returns those of a report of nextpnr that are in use, by name.
func resources(report []byte) ([]Resource, error) {
	var r struct {
		Utilization map[string]struct {
			Used      int `json:"used"`
			Available int `json:"available"`
		} `json:"utilization"`
	}
	if err := json.Unmarshal(report, &r); err != nil {
		return nil, fmt.Errorf("%w: report: %w", ErrPlace, err)
	}
	all := []Resource{}
	for name, u := range r.Utilization {
		if u.Used != 0 {
			all = append(all, Resource{name, u.Used, u.Available})
		}
	}
	slices.SortFunc(all, func(a, b Resource) int { return cmp.Compare(a.Name, b.Name) })
	return all, nil
}

// critical returns the longest path of a report of nextpnr whose ends have the same clock.
// owners are the registers and memories by cell.
func critical(report []byte, owners map[string]End) (Path, error) {
	var r struct {
		Paths []struct {
			From, To string
			Path     []struct {
				Delay    float64
				Type     string
				From, To struct{ Cell string }
			}
		} `json:"critical_paths"`
	}
	if err := json.Unmarshal(report, &r); err != nil {
		return Path{}, fmt.Errorf("%w: report: %w", ErrPlace, err)
	}
	var longest Path
	for _, p := range r.Paths {
		if p.From != p.To || len(p.Path) == 0 {
			continue
		}
		// The first step is that of the first cell, from its clock to its output.
		at := Path{From: owner(owners, p.Path[0].To.Cell), To: owner(owners, p.Path[len(p.Path)-1].To.Cell)}
		for _, s := range p.Path {
			at.Nanoseconds += s.Delay
			if s.Type == "logic" {
				at.Cells++
			}
		}
		if at.Nanoseconds > longest.Nanoseconds {
			longest = at
		}
	}
	return longest, nil
}

func owner(owners map[string]End, cell string) End {
	e := owners[cell]
	e.Cell = cell
	return e
}

// timed adds the clock by icetime, for the families that it knows.
func (g *Gateware) timed(dir string, out *Bitstream) error {
	if len(g.Part.Timing) == 0 {
		return nil
	}
	base, err := chipBase("")
	if err != nil {
		return err
	}
	b := g.Part.backend()
	args := append(g.Part.Timing[:len(g.Part.Timing):len(g.Part.Timing)], "-C", base, "-p", b.pins, "-t", "-r", "icetime.txt", b.routed)
	text, err := command(dir, "icetime", args...)
	if err != nil {
		return fmt.Errorf("%w: icetime: %w\n%s", ErrPlace, err, tail(text))
	}
	if out.StaticMHz, err = static(text); err != nil {
		return err
	}
	out.slow("icetime", out.StaticMHz)
	return nil
}

// estimate is the line of icetime with the result.
var estimate = regexp.MustCompile(`Timing estimate: [\d.]+ ns \(([\d.]+) MHz\)`)

// static returns the clock that icetime prints, in MHz.
func static(text string) (float64, error) {
	m := estimate.FindStringSubmatch(text)
	if m == nil {
		return 0, fmt.Errorf("%w: icetime reports no path\n%s", ErrPlace, tail(text))
	}
	return strconv.ParseFloat(m[1], 64)
}

// chipBase returns the file that icetime reads for the 8k. It is in the Debian package
// fpga-icestorm-chipdb, which fpga-icestorm only recommends. Without it, icebox_chipdb
// makes it once, in sim.CacheDir(cache).
func chipBase(cache string) (string, error) {
	if at, err := exec.LookPath("icetime"); err == nil {
		installed := filepath.Join(filepath.Dir(at), "../share/fpga-icestorm/chipdb/chipdb-8k.txt")
		if _, err := os.Stat(installed); err == nil {
			return filepath.Abs(installed)
		}
	}
	cache, err := sim.CacheDir(cache)
	if err != nil {
		return "", err
	}
	place := filepath.Join(cache, "chipdb-8k.txt")
	if _, err := os.Stat(place); err == nil {
		return filepath.Abs(place)
	}
	text, err := exec.Command("icebox_chipdb", "-8").Output()
	if err != nil {
		return "", fmt.Errorf("%w: icebox_chipdb: %w", ErrPlace, err)
	}
	return place, keep(place, text)
}
