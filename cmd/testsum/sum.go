package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/hilgpu/hilgpu/rtl/verilog/tool"
)

// An event is one line of go test -json (go doc test2json).
type event struct {
	Action  string
	Package string
	Test    string
	Output  string
}

// A test is a test of a running package.
type test struct {
	output []string
	over   bool // passed or skipped
}

// A pkg is a running package: its tests in the order in which they began.
// Output outside tests is stored under the empty name.
type pkg struct {
	order []string
	tests map[string]*test
}

// A sum prints packages as they end and counts skipped tests.
type sum struct {
	out     io.Writer
	err     error // first write error
	running map[string]*pkg
	skips   map[string]int // by reason
	skipped []string       // see note
	failed  bool           // a package has failed
	missing bool           // skipLine found a test that this system could not run
}

func newSum(out io.Writer) *sum {
	return &sum{out: out, running: map[string]*pkg{}, skips: map[string]int{}}
}

// read processes events until the end of r. It prints a line that is not an
// event. It fails if r or the output fails.
func (s *sum) read(r io.Reader) error {
	for b := bufio.NewReader(r); ; {
		line, err := b.ReadBytes('\n')
		var e event
		if len(line) > 0 && json.Unmarshal(line, &e) == nil {
			s.take(e)
		} else {
			s.print(string(line))
		}
		if errors.Is(err, io.EOF) {
			return s.err
		}
		if err != nil {
			return err
		}
	}
}

func (s *sum) print(text string) {
	if _, err := io.WriteString(s.out, text); err != nil && s.err == nil {
		s.err = err
	}
}

func (s *sum) take(e event) {
	if e.Action == "build-output" {
		s.print(e.Output)
	}
	if e.Package == "" {
		return
	}
	p := s.running[e.Package]
	if p == nil {
		p = &pkg{tests: map[string]*test{}}
		s.running[e.Package] = p
	}
	t := p.tests[e.Test]
	if t == nil {
		t = &test{}
		p.tests[e.Test] = t
		p.order = append(p.order, e.Test)
	}
	switch e.Action {
	case "output":
		t.output = append(t.output, e.Output)
		return
	case "pass":
		t.over = true
	case "skip":
		t.over = true
		if e.Test != "" {
			reason := t.reason()
			s.skips[reason]++
			s.note(e, reason)
		}
	case "fail":
	default:
		return
	}
	if t.over {
		t.output = t.result()
	}
	if e.Test == "" {
		s.failed = s.failed || !t.over
		s.end(p, !t.over)
		delete(s.running, e.Package)
	}
}

// result returns the output to print for a package or test that passed: the
// result line of go test.
func (t *test) result() []string {
	return slices.DeleteFunc(t.output, func(line string) bool {
		return !strings.HasPrefix(line, "ok  \t") && !strings.HasPrefix(line, "?   \t")
	})
}

// end prints a package. A test without a result was running when the process
// ended, so its output shows the cause.
func (s *sum) end(p *pkg, failed bool) {
	for _, name := range p.order {
		if t := p.tests[name]; name != "" && failed && !t.over {
			for _, line := range t.failure() {
				s.print(line)
			}
		}
	}
	for _, line := range p.tests[""].output {
		if line != "PASS\n" {
			s.print(line)
		}
	}
}

// failure returns the output of a test, with its result line first.
func (t *test) failure() []string {
	var result, rest []string
	for _, line := range t.output {
		switch {
		case strings.HasPrefix(line, "=== "):
		case strings.HasPrefix(strings.TrimLeft(line, " "), "--- FAIL: "):
			result = append(result, line)
		default:
			rest = append(rest, line)
		}
	}
	return append(result, rest...)
}

var logLine = regexp.MustCompile(`^\s*\S+\.go:\d+: (.*)`)

// reason returns why a test was skipped: its last log line.
func (t *test) reason() string {
	for _, line := range slices.Backward(t.output) {
		if m := logLine.FindStringSubmatch(line); m != nil && m[1] != "" {
			return m[1]
		}
	}
	return "no reason given"
}

// notApplicable begins the reason of a skipped case of testbench/drivertest, which asks
// for what the driver under test does not have.
const notApplicable = "not applicable: "

// skipLine returns the line that counts the skipped tests, or "" if there are
// none.
func (s *sum) skipLine() string {
	tools, others, unsuited := map[string]int{}, map[string]int{}, map[string]int{}
	for reason, n := range s.skips {
		if reason == tool.LongReason {
			continue
		}
		if what, ok := strings.CutPrefix(reason, notApplicable); ok {
			unsuited[what] += n
		} else if program, ok := strings.CutPrefix(reason, tool.SkipReason); ok {
			name, _, _ := strings.Cut(program, " ")
			tools[name] += n
		} else {
			others[reason] += n
		}
	}
	var parts []string
	if len(tools) > 0 {
		parts = append(parts, counts(tools)+" for missing tools, which make tools installs")
	}
	if len(others) > 0 {
		parts = append(parts, counts(others)+" for other reasons")
	}
	s.missing = len(parts) > 0
	if len(unsuited) > 0 {
		parts = append(parts, counts(unsuited)+" not applicable to a driver")
	}
	if n := s.skips[tool.LongReason]; n > 0 {
		parts = append(parts, fmt.Sprintf("%d long, which make test-long runs", n))
	}
	if len(parts) == 0 {
		return ""
	}
	return "skipped tests: " + strings.Join(parts, "; ")
}

// counts returns "TOTAL (NAME N, ...)", with the largest number first.
func counts(m map[string]int) string {
	names := slices.SortedFunc(maps.Keys(m), func(a, b string) int {
		return cmp.Or(cmp.Compare(m[b], m[a]), cmp.Compare(a, b))
	})
	total := 0
	for i, name := range names {
		total += m[name]
		names[i] = fmt.Sprintf("%s %d", name, m[name])
	}
	return fmt.Sprintf("%d (%s)", total, strings.Join(names, ", "))
}
