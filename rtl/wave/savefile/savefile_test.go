package savefile_test

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/abi/regmap"
	"github.com/hilgpu/hilgpu/rtl/gpu"
	"github.com/hilgpu/hilgpu/rtl/hdl/vcd/vcdtest"
	"github.com/hilgpu/hilgpu/rtl/wave"
	"github.com/hilgpu/hilgpu/rtl/wave/savefile"
)

// dumped returns the dump of some clocks of a GPU, as bytes and parsed.
func dumped(t *testing.T, c gpu.Config) ([]byte, *vcdtest.Dump) {
	t.Helper()
	var b bytes.Buffer
	r, err := wave.New(&b, wave.Options{})
	require.NoError(t, err)
	g, err := gpu.New(c)
	require.NoError(t, err)
	d := r.Attach(g)
	for range 20 {
		d.Tick(port.Request{}, port.Beat{}, true, port.Completion{}, true, true)
	}
	require.NoError(t, r.Close())
	parsed, err := vcdtest.Parse(bytes.NewReader(b.Bytes()))
	require.NoError(t, err)
	return b.Bytes(), parsed
}

// folder returns files by name, and the only one with a suffix.
func folder(t *testing.T, files []savefile.File, suffix string) (map[string]string, string) {
	t.Helper()
	all, main := map[string]string{}, ""
	for _, f := range files {
		require.NotContains(t, all, f.Name)
		all[f.Name] = string(f.Data)
		if strings.HasSuffix(f.Name, suffix) {
			require.Empty(t, main)
			main = string(f.Data)
		}
	}
	require.NotEmpty(t, main)
	return all, main
}

// named returns the names of a register's field, from the map of BAR0.
func named(t *testing.T, register, field string) []string {
	t.Helper()
	for _, e := range regmap.New().Entries() {
		for _, f := range e.Reg.Fields {
			if e.Name() == register && f.Name == field {
				return f.Enum
			}
		}
	}
	t.Fatalf("no field %s.%s", register, field)
	return nil
}

// codes returns the names of the values of the signals that are codes, "" for a value without.
func codes(t *testing.T) map[string][]string {
	t.Helper()
	all := map[string][]string{
		"gpu.pcie.cause":                  named(t, "ID.ERR_INFO", "CAUSE")[:4],
		"gpu.initiator.owners_cur_Source": {"DMA", "FENCE0", "FENCE1", "MESSAGE"},
	}
	opcodes := make([]string, 256)
	for op := range opcodes {
		if l, ok := pkt.Lookup(uint8(op)); ok {
			opcodes[op] = l.Name
		}
	}
	formats := append([]string{"FORMAT8", "FORMAT16", "FORMAT32", "FORMAT64", "FORMAT128"}, make([]string, 3)...)
	for n := range 2 {
		cp := fmt.Sprintf("gpu.cp%d.", n)
		all[cp+"decode_opcode"] = opcodes
		all[cp+"file_src_format"], all[cp+"file_dst_format"] = formats, formats
		all[cp+"decode_cause"] = append(named(t, fmt.Sprintf("CP%d.FAULT_INFO", n), "CAUSE"), "")
	}
	return all
}

// A trace is a signal of a save file.
type trace struct {
	group, base, filter string
	width               int // 1 if the name has no range of bits
}

// gtkw reads a save file of GTKWave (GTKWave 3.3 Wave Analyzer User's Guide, "Save Files").
func gtkw(t *testing.T, text string) map[string]trace {
	t.Helper()
	all := map[string]trace{}
	flags, group, filter := "", "", ""
	for _, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		switch line[0] {
		case '[':
			require.Regexp(t, `^\[(\*|timestart|size|sst_expanded|signals_width)\] \S`, line)
		case '@':
			flags = line[1:]
		case '^':
			_, name, found := strings.Cut(line, " ")
			require.True(t, found)
			filter = name
		case '-':
			begins := flags == "800200"
			require.Equal(t, begins, group == "", line)
			require.True(t, begins || flags == "1000200" && group == line[1:], line)
			group = ""
			if begins {
				group = line[1:]
			}
		default:
			name, bits, ranged := strings.Cut(strings.TrimSuffix(line, ":0]"), "[")
			x := trace{group, flags, filter, 1}
			if ranged {
				high, err := strconv.Atoi(bits)
				require.NoError(t, err)
				x.width = high + 1
			}
			require.NotContains(t, all, name)
			require.Equal(t, flags == "2022", filter != "", line)
			all[name], filter = x, ""
		}
	}
	return all
}

// TestGroups: each signal of the save file is in the dump with that width, and each text of the
// dump, which is a state or a kind, is in the save file. A GPU with one node lacks only those of
// the second.
func TestGroups(t *testing.T) {
	files, main := folder(t, savefile.GTKWave(), ".gtkw")
	shown := gtkw(t, main)
	_, dump := dumped(t, gpu.Default())
	for name, x := range shown {
		v, ok := dump.Vars[name]
		require.True(t, ok, name)
		assert.Equal(t, v.Width, x.width, name)
		if x.filter != "" {
			assert.Contains(t, files, x.filter, name)
		}
	}
	for name, v := range dump.Vars {
		if v.Kind == "string" {
			assert.Contains(t, shown, name, "a text")
		}
	}
	_, dump = dumped(t, gpu.Small())
	for name, x := range shown {
		if _, ok := dump.Vars[name]; !ok {
			assert.Contains(t, x.group, "node1_", name)
		}
	}
}
