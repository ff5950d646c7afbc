// Package conform writes the conformance report of drivers: what was tested, where,
// with which result, and what the drivers were made to do.
package conform

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"html/template"
	"io"
	"maps"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hilgpu/hilgpu/runtime/verifier"
	"github.com/hilgpu/hilgpu/testbench/junit"
	"github.com/hilgpu/hilgpu/testbench/suite"
)

// hilgpu is the path of this module.
const hilgpu = "github.com/hilgpu/hilgpu"

// A Module is a module of the program that was tested.
type Module struct {
	Path     string `json:"path"`
	Version  string `json:"version"`            // "(devel)" if it was built from a source tree
	Revision string `json:"revision,omitempty"` // of its source, if it is known
}

// A Report is the result of a run of the suite. It is the same for each run of the
// same program with the same arguments, apart from Date and the times.
type Report struct {
	Drivers Module `json:"drivers"` // module with the drivers
	Hilgpu  Module `json:"hilgpu"`
	Go      string `json:"go"`
	Date    string `json:"date"` // RFC 3339
	Board   string `json:"board"`
	Seed    uint64 `json:"seed"` // first seed
	Passed  int    `json:"passed"`
	Failed  int    `json:"failed"`
	Skipped int    `json:"skipped"`
	Tiers   []Tier `json:"tiers"` // those with a case

	Findings []verifier.Finding `json:"findings,omitempty"` // warnings and waived violations, one for each rule

	Calls        []Count  `json:"calls"`         // DDI functions and callbacks that were called, by name
	Uncalled     []string `json:"uncalled"`      // DDI functions of drivers that no case called, by name
	Packets      []Count  `json:"packets"`       // packets of submitted DMA buffers, by name
	NotDecodable uint64   `json:"not_decodable"` // submissions with anything except packets of this GPU
}

// A Tier has the results of a tier.
type Tier struct {
	Name    suite.Tier `json:"name"`
	Doc     string     `json:"doc"`
	Passed  int        `json:"passed"`
	Failed  int        `json:"failed"`
	Skipped int        `json:"skipped"`
	Cases   []Case     `json:"cases"`
}

// A Case is the result of a case.
type Case struct {
	suite.Result
	Repeat string `json:"repeat"` // command that runs it again
}

// A Count is a number of uses.
type Count struct {
	Name  string `json:"name"`
	Count uint64 `json:"count"`
}

// New returns the report of results. info describes the program; it may be nil.
func New(r *suite.Report, seed uint64, info *debug.BuildInfo, now time.Time) *Report {
	out := &Report{
		Date: now.UTC().Format(time.RFC3339), Board: r.Board, Seed: seed,
		Passed: r.Passed, Failed: r.Failed, Skipped: r.Skipped, Findings: r.Findings,
	}
	out.modules(info)
	var all suite.Coverage
	for _, name := range suite.Tiers() {
		t := Tier{Name: name, Doc: name.Doc()}
		for _, res := range r.Results {
			if res.Tier == name {
				t.add(res, r.Board)
				all.Add(res.Coverage)
			}
		}
		if len(t.Cases) > 0 {
			out.Tiers = append(out.Tiers, t)
		}
	}
	out.Uncalled = uncalled(all.Calls)
	out.Calls, out.Packets, out.NotDecodable = counts(all.Calls), counts(all.Packets), all.NotDecodable
	return out
}

// modules finds the modules of the drivers and of hilgpu.
func (r *Report) modules(info *debug.BuildInfo) {
	unknown := Module{Path: "unknown", Version: "unknown"}
	r.Drivers, r.Hilgpu = unknown, unknown
	if info == nil {
		return
	}
	r.Go = info.GoVersion
	r.Drivers = moduleOf(info.Main)
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			r.Drivers.Revision = s.Value
		}
	}
	if info.Main.Path == hilgpu {
		r.Hilgpu = r.Drivers
	}
	for _, d := range info.Deps {
		if d.Path == hilgpu {
			r.Hilgpu = moduleOf(*d)
		}
	}
}

// moduleOf describes a module. One that another folder replaces has no version.
func moduleOf(m debug.Module) Module {
	if m.Replace != nil {
		m.Version = cmp.Or(m.Replace.Version, "(devel)")
	}
	return Module{Path: m.Path, Version: cmp.Or(m.Version, "(devel)")}
}

// add adds a result.
func (t *Tier) add(r suite.Result, board string) {
	switch r.Outcome {
	case suite.Passed:
		t.Passed++
	case suite.Failed:
		t.Failed++
	default:
		t.Skipped++
	}
	t.Cases = append(t.Cases, Case{r, r.Replay(board)})
}

// Violations returns the broken rules of the cases.
func (t Tier) Violations() (all []*verifier.Violation) {
	for _, c := range t.Cases {
		if c.Violation != nil {
			all = append(all, c.Violation)
		}
	}
	return all
}

// counts returns counts in the order of the names.
func counts(m map[string]uint64) []Count {
	out := []Count{}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		out = append(out, Count{name, m[name]})
	}
	return out
}

// Properties returns the properties of a JUnit suite with this report: the module of the
// drivers, its version, the seeds of the cases, and the number of DDI calls.
func (r *Report) Properties() []junit.Property {
	var seeds []string
	for _, t := range r.Tiers {
		for _, c := range t.Cases {
			if s := strconv.FormatUint(c.Seed, 10); !slices.Contains(seeds, s) {
				seeds = append(seeds, s)
			}
		}
	}
	var calls uint64
	for _, c := range r.Calls {
		calls += c.Count
	}
	return []junit.Property{
		{Name: "driver", Value: r.Drivers.Path}, {Name: "version", Value: strings.TrimSpace(r.Drivers.Version + " " + r.Drivers.Revision)},
		{Name: "seeds", Value: strings.Join(seeds, " ")}, {Name: "calls", Value: strconv.FormatUint(calls, 10)},
	}
}

//go:embed report.html
var page string

// WriteHTML writes the report as a page that needs no other file.
func (r *Report) WriteHTML(w io.Writer) error {
	t, err := template.New("report").Parse(page)
	if err != nil {
		return err
	}
	return t.Execute(w, r)
}

// WriteJSON writes the report as one object.
func (r *Report) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(r)
}
