package report

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/hilgpu/hilgpu/rtl/abi/regmap"
	"github.com/hilgpu/hilgpu/testbench/eventlog"
	"github.com/hilgpu/hilgpu/testbench/why"
)

// chains returns what explains an event by the answers of package why: the first event that may end a run, and the error of the command, by that
// about the run, others by that about their fence. Each answer is given once. It returns
// nil for a log of another register map, which package why does not read.
func (s *Source) chains() (func(e eventlog.Event) string, error) {
	var run *why.Run
	err := s.withLog(func(l *eventlog.Reader) (err error) {
		if l.Header.Map == regmap.Hash() {
			run, err = why.Read(l)
		}
		return err
	})
	if err != nil || run == nil {
		return nil, err
	}
	given := map[string]bool{}
	once := func(a *why.Answer) string {
		text := a.Text()
		if given[text] {
			return ""
		}
		given[text] = true
		return text
	}
	first := true
	return func(e eventlog.Event) string {
		if first && ends(e) || e.Kind == eventlog.End {
			first = false
			if a := run.Fault(); a.Missing != "" {
				return once(a)
			}
		}
		node, fence, ok := fenceOf(e)
		if !ok {
			return ""
		}
		a, err := run.Fence(node, fence)
		if err != nil {
			return "" // the submission is not in the log
		}
		return once(a)
	}, nil
}

// ends reports whether an event may end a run.
func ends(e eventlog.Event) bool {
	switch e.Kind {
	case eventlog.Fault, eventlog.Stop, eventlog.Reset:
		return true
	case eventlog.Broken:
		return e.Fields[0] != 0
	}
	return e.Kind == eventlog.Link && strings.HasPrefix(e.Text(), eventlog.LinkDown)
}

// fenceText is how the text of a rule names a fence.
var fenceText = regexp.MustCompile(`\bnode (\d+): fence (\d+)\b`)

// fenceOf returns the fence that an event is about, and whether there is one.
func fenceOf(e eventlog.Event) (node int, fence uint32, ok bool) {
	switch e.Kind {
	case eventlog.Fault, eventlog.Stop:
		return int(e.Fields[0]), uint32(e.Fields[1]), e.Fields[1] != 0
	case eventlog.Reset:
		return int(e.Fields[1]), uint32(e.Fields[2]), e.Fields[2] != 0
	case eventlog.Broken:
		m := fenceText.FindStringSubmatch(e.Text())
		if m == nil {
			return 0, 0, false
		}
		n, nerr := strconv.Atoi(m[1])
		f, ferr := strconv.ParseUint(m[2], 10, 32)
		return n, uint32(f), nerr == nil && ferr == nil
	}
	return 0, 0, false
}
