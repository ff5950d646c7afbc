package boards

import (
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

// titled returns the section whose title contains words.
func titled(t *testing.T, words string) Section {
	t.Helper()
	i := slices.IndexFunc(Manual(), func(s Section) bool { return strings.HasPrefix(s.Title, words) })
	if !assert.GreaterOrEqual(t, i, 0, words) {
		return Section{}
	}
	return Manual()[i]
}

func names(s Section) (all []string) {
	for _, e := range s.Entries {
		all = append(all, e.Name)
	}
	return all
}

// The manual matches Open: each scheme listed with an option refuses an invalid
// value of it, and no other scheme knows the option.
func TestManualIsWhatOpenTakes(t *testing.T) {
	tooltest.Long(t)
	assert.Equal(t, []string{"emu", "verilated", "serial", "tcp", "udp", "eth", "nettlp", "line", "pins", "snap", "capture", "inspect"}, Schemes())
	assert.Equal(t, []string{"emu", "verilated", "serial:PORT", "tcp:HOST:PORT", "udp:HOST:PORT", "eth:IFACE/MAC", "nettlp:HOST", "line", "pins:NAME", "snap:FILE", "capture:FILE", "inspect:ADDR"}, names(titled(t, "Schemes")))
	places := map[string]string{"serial": ":x", "tcp": ":x:1", "udp": ":x:1", "eth": ":x/02:00:00:00:00:01", "nettlp": ":127.0.0.1", "snap": ":x", "capture": ":x", "inspect": ":1", "pins": ":ice40-hx8k"}
	taken := map[string][]string{} // schemes listed in the manual, by option
	for _, s := range Manual() {
		who, ok := strings.CutPrefix(s.Title, "Options of ")
		if !ok {
			continue
		}
		for _, e := range s.Entries {
			for scheme := range strings.SplitSeq(strings.ReplaceAll(who, " and ", ", "), ", ") {
				assert.NotContains(t, taken[e.Name], scheme, "once")
				taken[e.Name] = append(taken[e.Name], scheme)
			}
		}
	}
	assert.Len(t, taken, 49)
	for option, schemes := range taken {
		for _, scheme := range Schemes() {
			if (scheme == "eth" || scheme == "nettlp") && runtime.GOOS != "linux" {
				continue
			}
			_, _, err := Open(scheme+places[scheme]+"?"+option+"=-", new(pc))
			switch {
			case !slices.Contains(schemes, scheme):
				assert.ErrorContains(t, err, "unknown \""+option+"\"")
			case option != "source":
				assert.ErrorContains(t, err, ", want ")
				assert.ErrorContains(t, err, option+"=-")
			}
		}
	}
}

// The manual lists every injected fault with the schemes that support it.
func TestManualHasTheFaults(t *testing.T) {
	assert.Equal(t, []string{"lost-interrupt", "lost-doorbell", "dead", "dead-request", "lost-answer", "late-answer", "ignore-preempt", "ignore-reset"},
		names(titled(t, "Device faults to inject: fault= of emu, verilated and line")))
	assert.Equal(t, []string{
		"stuck-address:A<n>=<0|1>", "short-address:A<n>-A<m>[=<0|1>]", "dead-lane:<n>", "stuck-enable:<n>", "stuck-data:D<n>=<0|1>",
		"short-data:D<n>-D<m>[=<0|1>]", "bit-flip:<rate>[@<seed>]", "stuck-register:D<n>=<0|1>", "stuck-mcu:W<n>.D<m>=<0|1>",
	}, names(titled(t, "Hardware faults to inject: fault= of emu and line")))
	assert.Equal(t, []string{"loss", "dup", "flip", "truncate", "reorder", "stall", "cut", "seed"},
		names(titled(t, "Line faults to inject: faults= of line and pins, and --link-faults")))
	for _, s := range Manual() {
		for _, e := range s.Entries {
			assert.NotEmpty(t, e.Doc, e.Name)
		}
	}
}
