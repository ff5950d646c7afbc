package synth

import (
	"fmt"
	"regexp"
	"sort"
	"strings"
)

// A Kind says what is wrong with a design.
type Kind string

// The kinds of Finding.
const (
	Latch    Kind = "latch"    // a latch was inferred
	Undriven Kind = "undriven" // a net is used and not driven
	Drivers  Kind = "drivers"  // a net is driven more than once
	Loop     Kind = "loop"     // a combinational loop
	Warning  Kind = "warning"  // a warning that is not allowed
	RAM      Kind = "ram"      // a memory or a count of block RAMs that is not as expected
)

// A Finding is a reason to refuse a design.
type Finding struct {
	Kind Kind   `json:"kind"`
	Text string `json:"text"`
}

// String returns kind and text.
func (f Finding) String() string { return fmt.Sprintf("%s: %s", f.Kind, f.Text) }

// rules says which lines of the log are a finding of which kind. The first one
// that matches counts.
func rules() []struct {
	kind Kind
	line *regexp.Regexp
} {
	return []struct {
		kind Kind
		line *regexp.Regexp
	}{
		{Latch, regexp.MustCompile(`Latch inferred for signal`)},
		{Drivers, regexp.MustCompile(`Warning: (multiple conflicting drivers|Driver-driver conflict)`)},
		{Undriven, regexp.MustCompile(`Warning: Wire .* is used but has no driver`)},
		{Loop, regexp.MustCompile(`Warning: found logic loop`)},
		{Warning, regexp.MustCompile(`(^|: )Warning: `)},
	}
}

// allowed returns the warnings that say nothing about the design, with the
// reason of each.
func allowed() []struct{ text, reason string } {
	return []struct{ text, reason string }{
		{`ABC: Warning: The network is combinational`, "the flip-flops are outside of what ABC is given"},
		{`ABC: Warning: AIG with boxes has internal fanout`, "ABC counts the carries and flip-flops whose output it uses twice"},
		{`ABC: Warning: Cannot meet the target required times`, "time is no finding: nextpnr says what it is, of small"},
	}
}

// findings returns what the logs say, each line once, by kind and text.
func findings(logs ...string) []Finding {
	rules, allowed := rules(), allowed()
	seen := map[Finding]bool{}
	for _, line := range strings.Split(strings.Join(logs, "\n"), "\n") {
		skip := false
		for _, a := range allowed {
			skip = skip || strings.Contains(line, a.text)
		}
		if skip {
			continue
		}
		for _, r := range rules {
			if r.line.MatchString(line) {
				seen[Finding{r.kind, strings.TrimSpace(line)}] = true
				break
			}
		}
	}
	out := make([]Finding, 0, len(seen))
	for f := range seen {
		out = append(out, f)
	}
	sort.Slice(out, func(i, j int) bool {
		if out[i].Kind != out[j].Kind {
			return out[i].Kind < out[j].Kind
		}
		return out[i].Text < out[j].Text
	})
	return out
}
