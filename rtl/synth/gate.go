package synth

import (
	"fmt"
	"regexp"
	"sort"
	"strings"
)

// A Kind is a kind of Finding.
type Kind string

// The kinds of Finding.
const (
	Latch    Kind = "latch"    // a latch was inferred
	Undriven Kind = "undriven" // a net is used but not driven
	Drivers  Kind = "drivers"  // a net is driven more than once
	Loop     Kind = "loop"     // a combinational loop
	Warning  Kind = "warning"  // a warning that is not allowed
	RAM      Kind = "ram"      // a memory or the number of block RAMs is not as expected
	Size     Kind = "size"     // a block or the whole takes more LUTs or cells than its budget
	Clock    Kind = "clock"    // the clock after routing is too slow
)

// A Finding is a reason to refuse a design.
type Finding struct {
	Kind Kind   `json:"kind"`
	Text string `json:"text"`
}

// String returns the kind and the text.
func (f Finding) String() string { return fmt.Sprintf("%s: %s", f.Kind, f.Text) }

// rules returns the patterns of log lines and their kinds of finding. The first
// match counts.
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

// allowed returns the warnings that do not concern the design, and why.
func allowed() []struct{ text, reason string } {
	return []struct{ text, reason string }{
		{`ABC: Warning: The network is combinational`, "ABC does not get the flip-flops"},
		{`ABC: Warning: AIG with boxes has internal fanout`, "ABC counts the carries and flip-flops whose output it uses twice"},
		{`ABC: Warning: Cannot meet the target required times`, "timing is not judged here: nextpnr measures it for small"},
	}
}

// findings returns the findings in the logs, each line once, sorted by kind and
// text.
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
