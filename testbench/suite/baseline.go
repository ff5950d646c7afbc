package suite

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/hilgpu/hilgpu/boards"
)

// ErrBaseline is wrapped by the error of a baseline with a mistake.
var ErrBaseline = errors.New("suite: bad baseline")

// A Mark is what a baseline expects of a case.
type Mark string

// The marks, as they are in a file. Fail: the case fails, and a pass is a mistake of the
// baseline. Skip: it does not run. Flake: it may fail.
const (
	Fail  Mark = "Fail"
	Skip  Mark = "Skip"
	Flake Mark = "Flake"
)

// A Baseline lists cases that do not pass. Nil lists none.
type Baseline struct{ marks map[string]Mark }

// ReadBaseline reads a baseline. A line is the name of an instance, or that of a case for all
// its seeds, a comma, and a Mark, as in the lists of failures of Mesa's deqp-runner. Empty
// lines and those that begin with # are ignored. The instances of a run tell which names
// exist. It fails with ErrBaseline and the number of the line, or an error of r.
func ReadBaseline(r io.Reader, of []Instance) (*Baseline, error) {
	known := map[string]bool{}
	for _, i := range of {
		known[i.Name], known[group(i.Name)] = true, true
	}
	b := &Baseline{map[string]Mark{}}
	in := bufio.NewScanner(r)
	for n := 1; in.Scan(); n++ {
		line := strings.TrimSpace(in.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		at := strings.LastIndexByte(line, ',')
		name, mark := line, Mark("")
		if at >= 0 {
			name, mark = strings.TrimSpace(line[:at]), Mark(strings.TrimSpace(line[at+1:]))
		}
		switch {
		case !slices.Contains([]Mark{Fail, Skip, Flake}, mark):
			return nil, fmt.Errorf("%w: line %d: %q, want NAME,Fail or NAME,Skip or NAME,Flake", ErrBaseline, n, line)
		case !known[name]:
			return nil, fmt.Errorf("%w: line %d: no case %q", ErrBaseline, n, name)
		case b.marks[name] != "":
			return nil, fmt.Errorf("%w: line %d: %q is listed twice", ErrBaseline, n, name)
		}
		b.marks[name] = mark
	}
	return b, in.Err()
}

// group returns the name of a case with its options, without the seed.
func group(name string) string {
	name, _, _ = strings.Cut(name, "/")
	return name
}

// of returns the mark of an instance, or "".
func (b *Baseline) of(name string) Mark {
	if b == nil {
		return ""
	}
	if m := b.marks[name]; m != "" {
		return m
	}
	return b.marks[group(name)]
}

// Unexpected reports whether a result fails a run: a failure that the baseline does not list,
// or a pass of a case that it lists as Fail.
func (r Result) Unexpected() bool { return r.Outcome == Failed && !r.Known }

// Word returns the outcome in a word: "known" for a failure that the baseline lists, and
// "flaky" for a case that failed and then passed.
func (r Result) Word() string {
	switch {
	case r.Known:
		return "known"
	case r.Flaky:
		return "flaky"
	}
	return string(r.Outcome)
}

// judge runs an instance and compares the result with the baseline, or with that of a second
// run.
func (o Options) judge(i Instance, exec func(Instance) Result) Result {
	r := exec(i)
	mark := o.Baseline.of(i.Name)
	switch {
	case r.Outcome == Failed && mark != "":
		r.Known = true
	case r.Outcome == Passed && mark == Fail:
		r.Outcome, r.Messages = Failed, []string{"unexpected pass: the baseline lists it as Fail"}
	case r.Outcome == Failed && o.Again && !i.Case.threads && !r.byHost():
		r.again(exec(i), boards.Virtual(i.Selector))
	}
	return r
}

// byHost reports whether the host's time, or the end of a process, decided the result, which
// then may differ in each run.
func (r *Result) byHost() bool {
	return r.Hung || r.Violation != nil && slices.Contains([]string{"call-hang", "driver-exit"}, r.Violation.Rule.Name)
}

// again compares a failure with the result of a second run. On a board with virtual time both
// must be the same.
func (r *Result) again(second Result, virtual bool) {
	switch {
	case virtual && (second.Outcome != Failed || !slices.Equal(r.heads(), second.heads())):
		says := "it passed"
		if second.Outcome == Failed {
			says = "it failed with: " + strings.Join(second.heads(), "; ")
		}
		r.Messages = append(r.Messages, "not deterministic: run again, "+says)
	case !virtual && second.Outcome == Passed:
		r.Outcome, r.Flaky = Passed, true
	}
}

// heads returns each message in a line: of a check its requirement and what was found, of
// others the first line, since further lines may have stacks.
func (r *Result) heads() (out []string) {
	for _, m := range r.Messages {
		head, _, _ := strings.Cut(m, "\n")
		if found, ok := strings.CutPrefix(strings.Join(strings.Fields(m), " "), "Error: "); ok {
			head = found
			if before, required, ok := strings.Cut(found, " Messages: "); ok {
				head = required + ": " + before
			}
		}
		out = append(out, head)
	}
	return out
}

// head returns the first message in a line, and the number of others.
func (r *Result) head() string {
	all := r.heads()
	switch len(all) {
	case 0:
		return ""
	case 1:
		return all[0]
	}
	return fmt.Sprintf("%s (and %d more)", all[0], len(all)-1)
}
