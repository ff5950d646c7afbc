// Package simtest has helpers for tests of simulated Verilog.
package simtest

import (
	_ "embed"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/verilog"
)

//go:embed twin.v
var twin string

// TwinDesign returns the hand-written twin.v. oldNew lists pairs of an old text
// and its replacement.
func TwinDesign(t *testing.T, oldNew ...string) *verilog.Design {
	t.Helper()
	for i := 0; i < len(oldNew); i += 2 {
		require.Equal(t, 1, strings.Count(twin, oldNew[i]), oldNew[i])
	}
	return &verilog.Design{
		Files: []verilog.File{{Name: "twin.v", Text: []byte(strings.NewReplacer(oldNew...).Replace(twin))}},
		Manifest: verilog.Manifest{
			Top: "twin",
			Ports: []verilog.Port{
				{Name: "clk", Input: true, Width: 1}, {Name: "rst", Input: true, Width: 1},
				{Name: "en", Input: true, Width: 1, Go: "en"}, {Name: "data", Input: true, Width: 64, Go: "data"},
				{Name: "sum", Width: 64, Go: "Sum"}, {Name: "odd", Width: 1, Go: "Odd"},
			},
			Registers: []verilog.Register{
				{Name: "acc", Width: 64, Verilog: "acc", Go: "acc", Pos: "twin.go:3", Elem: -1},
				{Name: "flag_0", Width: 1, Verilog: "flag_0", Go: "flag[0]", Pos: "twin.go:4"},
				{Name: "flag_1", Width: 1, Verilog: "flag_1", Go: "flag[1]", Pos: "twin.go:4", Elem: 1},
				{Instance: "child", Name: "count", Width: 12, Verilog: "child.count", Go: "child.count", Pos: "twin.go:9", Elem: -1},
			},
			Memories: []verilog.Memory{
				{Verilog: "ram", Go: "ram", Width: 64, Words: 16},
				{Verilog: "pairs", Go: "pairs", Width: 70, Words: 4},
			},
		},
	}
}

// Cache returns the directory that keeps models between test runs.
func Cache() string { return filepath.Join(os.TempDir(), "hilgpu-lockstep-test") }
