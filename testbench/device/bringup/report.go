package bringup

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/hilgpu/hilgpu/boards"
)

// Status is the outcome of a stage.
type Status string

// The outcomes. The summary of a skipped stage is the reason. It is skipped because an earlier
// stage failed, the run was interrupted, or the board does not have what it tests. A stage with
// a warning has passed, but may have missed a fault: its details tell which.
const (
	OK   Status = "ok"
	Warn Status = "warn"
	Fail Status = "FAIL"
	Skip Status = "skip"
)

// A Result is the outcome of one stage.
type Result struct {
	Stage   string   `json:"stage"`
	Title   string   `json:"title"` // purpose of the stage
	Status  Status   `json:"status"`
	Summary string   `json:"summary"` // finding, one line
	Details []string `json:"details,omitempty"`
	Likely  string   `json:"likely,omitempty"` // likely cause of a failure
	Error   string   `json:"error,omitempty"`  // error of the access that ended the stage
	Link    bool     `json:"link,omitempty"`   // the link itself failed
	Bits    []int    `json:"bits,omitempty"`   // words in which D0, D1 … were wrong
	Seconds float64  `json:"seconds"`          // on the board's clock
	Replay  string   `json:"replay,omitempty"` // command that repeats a failed stage
	Absent  bool     `json:"absent,omitempty"` // skipped because the board does not have what the stage tests
}

// A Device is the identity of the board. A field that was not read is 0.
type Device struct {
	Vendor   uint32 `json:"vendor"`
	Product  uint32 `json:"device"`
	Version  uint32 `json:"version"` // major 31..16, minor 15..0
	MapHash  uint32 `json:"map_hash"`
	Nodes    int    `json:"nodes"`
	VRAM     uint64 `json:"vram"` // bytes; the size of BAR 2 if there is one
	ClockHz  uint32 `json:"clock_hz"`
	HostBits uint32 `json:"host_bits"`
}

// A Count is the number of times that an event happened.
type Count struct {
	Name  string `json:"name"`
	Count uint64 `json:"count"`
}

// A Report is the result of a run. Except over a link on the wall clock, it depends
// on the board and the options alone.
type Report struct {
	Board   string   `json:"board"`
	Seed    uint64   `json:"seed"`
	Device  Device   `json:"device"`
	Passed  int      `json:"passed"`           // with a warning or without
	Warned  int      `json:"warned,omitempty"` // of these, with a warning
	Failed  int      `json:"failed"`
	Skipped int      `json:"skipped"`
	Results []Result `json:"results"`

	// LinkErrors counts the errors that the link recovered from, by counter name.
	LinkErrors []Count `json:"link_errors,omitempty"`

	cause error
}

// Cause returns the error of the first access without an answer, or nil.
func (r *Report) Cause() error { return r.cause }

// LinkNote explains LinkErrors that a good line has too, or is empty.
func (r *Report) LinkNote() string { return repeatedNote(r.LinkErrors) }

// OK reports whether every selected stage that applies to the board was run and passed.
func (r *Report) OK() bool {
	return !slices.ContainsFunc(r.Results, func(res Result) bool {
		return res.Status == Fail || res.Status == Skip && !res.Absent
	})
}

// LinkFailed reports whether the board could not be reached or its link failed. A
// device that stops answering in a later stage is a failed check.
func (r *Report) LinkFailed() bool {
	for _, res := range r.Results {
		if res.Link || res.Stage == stages()[0].name && res.Status == Fail {
			return true
		}
	}
	return false
}

// count adds a result.
func (r *Report) count(res Result, o Options) {
	switch res.Status {
	case OK, Warn:
		r.Passed++
		if res.Status == Warn {
			r.Warned++
		}
	case Fail:
		r.Failed++
		res.Replay = replay(res.Stage, o)
	case Skip:
		r.Skipped++
	}
	r.Results = append(r.Results, res)
}

// replay returns the command that repeats a stage.
func replay(stage string, o Options) string {
	c := fmt.Sprintf("%s bringup --board %s --only %s --seed %d", cmp.Or(o.Program, "hilgpu"), boards.Quote(o.Board), stage, o.Seed)
	if o.Bytes != DefaultBytes {
		c += fmt.Sprintf(" --bytes %d", o.Bytes)
	}
	if o.Poke != 0 {
		c += " --poke " + o.Poke.String()
	}
	return c
}

// bitsPerLine is the number of data lines in a line of the histogram.
const bitsPerLine = 16

// Line returns the result as text: a line, and the indented details, a line each.
func (r Result) Line() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-14s %-70s %-4s", r.Stage, r.Summary, r.Status)
	if r.Status != Skip {
		fmt.Fprintf(&b, " %s", seconds(r.Seconds))
	}
	b.WriteByte('\n')
	for _, l := range r.lines() {
		fmt.Fprintf(&b, "%-14s   %s\n", "", l)
	}
	return b.String()
}

// lines returns the lines after the summary.
func (r Result) lines() []string {
	lines := slices.Clone(r.Details)
	for i := 0; i+bitsPerLine <= len(r.Bits); i += bitsPerLine {
		lines = append(lines, fmt.Sprintf("words with D%d to D%d wrong: %d", i, i+bitsPerLine-1, r.Bits[i:i+bitsPerLine]))
	}
	if r.Error != "" {
		lines = append(lines, "error: "+r.Error)
	}
	if r.Likely != "" {
		lines = append(lines, "likely: "+r.Likely)
	}
	return lines
}

// seconds formats a time with a suitable unit.
func seconds(s float64) string {
	switch {
	case s < 1e-3:
		return fmt.Sprintf("%.1f us", s*1e6)
	case s < 1:
		return fmt.Sprintf("%.1f ms", s*1e3)
	}
	return fmt.Sprintf("%.1f s", s)
}

// Summary returns the last lines of a report as text: the counts, and the commands
// that repeat failed stages.
func (r *Report) Summary() string {
	var b strings.Builder
	fmt.Fprintf(&b, "-------- %d failed, %d passed, %d not run\n", r.Failed, r.Passed, r.Skipped)
	for _, res := range r.Results {
		if res.Status == Warn {
			fmt.Fprintf(&b, "warning        %s: %s\n", res.Stage, res.Likely)
		}
	}
	if len(r.LinkErrors) > 0 {
		fmt.Fprintf(&b, "link           recovered from %s%s\n", list(r.LinkErrors), r.LinkNote())
	}
	for _, res := range r.Results {
		if res.Replay != "" {
			fmt.Fprintf(&b, "replay         %s\n", res.Replay)
		}
	}
	return b.String()
}
