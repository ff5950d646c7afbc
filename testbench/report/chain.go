package report

import (
	"github.com/hilgpu/hilgpu/rtl/abi/regmap"
	"github.com/hilgpu/hilgpu/testbench/eventlog"
	"github.com/hilgpu/hilgpu/testbench/why"
)

// chains returns what explains an event by the answers of package why: the first incident by
// that about the run, others by that about their fence. Each answer is given once. It returns
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
	given := map[string]bool{"": true}
	once := func(text string) string {
		if given[text] {
			return ""
		}
		given[text] = true
		return text
	}
	first := true
	return func(e eventlog.Event) string {
		if first {
			first = false
			return once(run.Fault().Text())
		}
		at := e.Fields[:]
		if e.Kind == eventlog.Reset {
			at = at[1:]
		}
		if e.Kind != eventlog.Fault && e.Kind != eventlog.Stop && e.Kind != eventlog.Reset || at[1] == 0 {
			return ""
		}
		a, err := run.Fence(int(at[0]), uint32(at[1]))
		if err != nil {
			return "" // the submission is not in the log
		}
		return once(a.Text())
	}, nil
}
