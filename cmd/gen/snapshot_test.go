package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// tree writes the Go files of a module to a new directory.
func tree(t *testing.T, files map[string]string) string {
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o777))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o666))
	}
	return root
}

const fakeHDL = "package hdl\ntype RAM struct{ q uint64 }\ntype ROM struct{ q uint64 }\ntype FIFO[T any] struct{ slots []T }\ntype Nap bool\n"

// A package is read even if its generated file is stale or uses removed fields.
// Constants of other packages count as array lengths.
func TestSnapshotFile(t *testing.T) {
	root := tree(t, map[string]string{
		"rtl/hdl/hdl.go":    fakeHDL,
		"rtl/n/n.go":        "package n\nconst N = 2\ntype Kind uint8\nconst (\nKindNone Kind = iota\nKindSome\n)\ntype Open struct { A bool; K Kind }\ntype Shut struct { a bool }\n",
		"rtl/b/snapshot.go": "package b\nfunc (m *Module) Snapshot() { m.gone = 1 }\n",
		"rtl/b/b.go": `package b
import (
	"math"
	"github.com/hilgpu/hilgpu/rtl/hdl"
	"github.com/hilgpu/hilgpu/rtl/n"
)
const top = math.MaxUint8
type Config struct { Size int }
type part struct { x uint16 ` + "`w:\"9\"`" + ` }
type Module struct {
	config Config
	part
	list [n.N]part
	open n.Open
	shut n.Shut ` + "`slept:\"nap\"`" + `
	ram  hdl.RAM
	fifo hdl.FIFO[n.Open]
	rom  hdl.ROM
	nap  hdl.Nap
}
`})
	got, err := snapshot(root, "rtl/b", []string{"Module"})
	require.NoError(t, err)
	for _, want := range []string{
		"const ModuleWords = 5 + n.ShutWords + hdl.RAMWords + hdl.FIFOWords + hdl.ROMWords\n",
		"\ts[0] = uint64(m.x)\n\ts[1] = uint64(m.list[0].x)\n\ts[2] = uint64(m.list[1].x)\n\ts[3] = hdl.Bit(m.open.A)\n\ts[4] = uint64(m.open.K)\n\ts = s[5:]\n\tm.shut.Snapshot(s)\n",
		"\treturn []int{5, n.ShutWords, hdl.RAMWords, hdl.FIFOWords, hdl.ROMWords}\n",
		"\tstored = 1\n\ts = s[5:]\n\tif !m.nap {\n\t\tm.shut.Snapshot(s)\n\t\tstored |= 1 << 1\n\t}\n\ts = s[n.ShutWords:]\n\tm.ram.Snapshot(s)\n\tstored |= 1 << 2\n",
		"\tm.list[1].x = uint16(s[2])\n\tm.open.A = s[3] != 0\n\tm.open.K = n.Kind(s[4])\n\tm.nap = false\n",
		`hdl.Signal{Name: at + ".list_1_x", Width: 9},`,
		`hdl.Signal{Name: at + ".open_K", Width: 8, Names: nKindNames()},`,
		"\ts = m.rom.Signals(at+\".rom\", s)\n",
		"\tv.Words(m.ram.Words())\n",
		"x, w := &m.fifo.Slots()[i], v.Room(2)\n\t\tw[0] = hdl.Bit(x.A)\n\t\tw[1] = uint64(x.K)\n\t\tv.Words(w)\n\t\tx.A = w[0] != 0\n\t\tx.K = n.Kind(w[1])\n",
		"func nKindNames() []string {\n\treturn []string{\n\t\t\"None\",\n\t\t\"Some\",\n",
	} {
		assert.Contains(t, string(got), want)
	}
	assert.NotContains(t, string(got), "m.rom.Words()", "its words are no state")
}

// A type without a width, or of unknown length, is not state.
func TestSnapshotRefuses(t *testing.T) {
	for _, field := range []string{"int", "*uint8", "map[uint8]bool", "[]uint8", "func()", "string", "float64", "unknown.Type"} {
		root := tree(t, map[string]string{
			"rtl/hdl/hdl.go": fakeHDL,
			"rtl/b/b.go":     "package b\ntype Module struct { inner struct { f " + field + " } }\n",
		})
		_, err := snapshot(root, "rtl/b", []string{"Module"})
		require.ErrorIs(t, err, errState, field)
		assert.Contains(t, err.Error(), "inner.f", field)
	}
	root := tree(t, map[string]string{
		"rtl/hdl/hdl.go": fakeHDL,
		"rtl/n/n.go":     "package n\ntype Shut struct { a bool }\n",
		"rtl/b/b.go":     "package b\nimport \"github.com/hilgpu/hilgpu/rtl/n\"\ntype Module struct { shut n.Shut `slept:\"gone\"`; gone bool }\n",
	})
	_, err := snapshot(root, "rtl/b", []string{"Module"})
	require.ErrorIs(t, err, errState)
	assert.Contains(t, err.Error(), "gone")
	root = tree(t, map[string]string{"rtl/b/b.go": "package b\n"})
	_, err = snapshot(root, "rtl/b", []string{"Module"})
	assert.ErrorIs(t, err, errState)
	_, err = snapshot(root, "rtl/c", []string{"Module"})
	assert.ErrorIs(t, err, os.ErrNotExist)
}

// The common prefix of names is removed, in whole words only.
func TestPrefix(t *testing.T) {
	for _, tt := range []struct{ names, want string }{
		{"stateRead stateRetire stateNext", "state"},
		{"stateRead stateRetire", "state"},
		{"None Copy Fill", ""},
		{"CplNone CplSuccess", "Cpl"},
		{"Fence FenceEnd", ""},
		{"Only", ""},
	} {
		assert.Equal(t, tt.want, prefix(strings.Fields(tt.names)), tt.names)
	}
}
