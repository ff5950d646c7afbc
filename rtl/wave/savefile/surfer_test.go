package savefile_test

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/gpu"
	"github.com/hilgpu/hilgpu/rtl/hdl/vcd/vcdtest"
	"github.com/hilgpu/hilgpu/rtl/wave/savefile"
)

// A surfer does what Surfer does with a command file (docs.surfer-project.org/book/commands). Its
// rows are dividers and variables. A row has its number as its name, in letters from a to p.
type surfer struct {
	dump     *vcdtest.Dump
	mappings map[string]mapping
	rows     []row
	focus    int // -1: none
	missing  []string
}

type row struct {
	divider, variable, format string
}

// A mapping is a translator that a mapping file makes (docs.surfer-project.org/book/plugins/mapping).
type mapping struct {
	bits  int
	names map[int]string
}

// parseMapping reads a mapping file.
func parseMapping(t *testing.T, text string) (name string, m mapping) {
	t.Helper()
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	require.Regexp(t, `^Name = \w+$`, lines[0])
	require.Regexp(t, `^Bits = \d+$`, lines[1])
	m = mapping{names: map[int]string{}}
	m.bits, _ = strconv.Atoi(lines[1][len("Bits = "):])
	entry := regexp.MustCompile(`^(\d+)(?:\[error\])? (\w+)$`)
	for _, line := range lines[2:] {
		f := entry.FindStringSubmatch(line)
		require.NotNil(t, f, line)
		v, err := strconv.Atoi(f[1])
		require.NoError(t, err)
		require.Less(t, v, 1<<m.bits)
		require.NotContains(t, m.names, v)
		m.names[v] = f[2]
	}
	return lines[0][len("Name = "):], m
}

// do executes a command.
func (s *surfer) do(t *testing.T, command, rest string) {
	t.Helper()
	switch command {
	case "divider_add":
		require.Regexp(t, `^\w+$`, rest, "one word")
		s.rows = append(s.rows, row{divider: rest})
	case "variable_add":
		if _, ok := s.dump.Vars[rest]; !ok {
			s.missing = append(s.missing, rest)
			return
		}
		s.rows = append(s.rows, row{variable: rest})
	case "item_unfocus":
		s.focus = -1
	case "item_focus":
		letters, _, _ := strings.Cut(rest, "_")
		n := 0
		for _, c := range letters {
			require.True(t, c >= 'a' && c <= 'p', rest)
			n = n<<4 | int(c-'a')
		}
		if n < len(s.rows) {
			s.focus = n
		}
	case "item_set_format":
		require.True(t, rest == "Unsigned" || s.mappings[rest].bits > 0, rest)
		if s.focus >= 0 && s.rows[s.focus].variable != "" {
			s.rows[s.focus].format = rest
		}
	case "zoom_fit":
	default:
		t.Fatalf("command %s", command)
	}
}

// opened returns a Surfer that has a dump of a GPU open and has run the command file.
func opened(t *testing.T, c gpu.Config) *surfer {
	t.Helper()
	s := &surfer{mappings: map[string]mapping{}, focus: -1}
	_, s.dump = dumped(t, c)
	files, main := folder(t, savefile.Surfer(), ".sucl")
	for name, text := range files {
		if strings.HasPrefix(name, ".surfer/mappings/") {
			key, m := parseMapping(t, text)
			require.NotContains(t, s.mappings, key)
			s.mappings[key] = m
		}
	}
	require.Len(t, files, len(s.mappings)+1)
	for _, line := range strings.Split(main, "\n") {
		line, _, _ = strings.Cut(line, "#")
		if command, rest, _ := strings.Cut(line, " "); command != "" {
			s.do(t, command, rest)
		}
	}
	return s
}

// TestSurfer: Surfer shows the groups of GTKWave, the names of the codes, and the decimal numbers
// as such. A GPU with one node lacks only the signals of the second.
func TestSurfer(t *testing.T) {
	_, main := folder(t, savefile.GTKWave(), ".gtkw")
	want, all := gtkw(t, main), codes(t)
	for _, c := range []gpu.Config{gpu.Default(), gpu.Small()} {
		s := opened(t, c)
		for _, name := range s.missing {
			assert.Equal(t, 1, c.Nodes)
			assert.Contains(t, want[name].group, "node1_", name)
		}
		group, shown := "", map[string]bool{}
		for _, r := range s.rows {
			if r.variable == "" {
				group = r.divider
				continue
			}
			shown[r.variable] = true
			assert.Equal(t, want[r.variable].group, group, r.variable)
			assert.Equal(t, want[r.variable].base == "24", r.format == "Unsigned", r.variable)
			s.checkCodes(t, r, all)
		}
		assert.Len(t, slices.Collect(maps.Keys(want)), len(shown)+len(s.missing))
	}
}

// checkCodes checks that a row shows the names of its values if it is one of the codes.
func (s *surfer) checkCodes(t *testing.T, r row, all map[string][]string) {
	t.Helper()
	m, mapped := s.mappings[r.format]
	names, coded := all[r.variable]
	require.Equal(t, coded, mapped, r.variable)
	if !coded {
		return
	}
	assert.Equal(t, s.dump.Vars[r.variable].Width, m.bits, r.variable)
	for v, name := range names {
		assert.Equal(t, name, m.names[v], fmt.Sprint(r.variable, v))
	}
}
