package testbench

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const module = "github.com/hilgpu/hilgpu/"

// starter lists what both drivers of testbench/drivertest/starter may import, which
// their users copy: what a driver outside this module may rely on.
var starter = []string{"rtl/abi/...", "runtime/ddi/...", "testbench/drivertest/starter/module/privdata"}

// rules lists which of our packages a tree may import. The first rule whose tree
// contains the package applies. A path that ends in /... stands for its tree.
var rules = []struct {
	tree  string
	allow []string
}{
	{"rtl/abi", []string{"rtl/abi/..."}},
	{"rtl/refmodel", []string{"rtl/abi/...", "rtl/refmodel/..."}},
	{"rtl", []string{"rtl/..."}},
	{"bus", []string{"bus/...", "rtl/abi/port", "rtl/abi/pcicfg"}},
	{"runtime/ddi", []string{"runtime/ddi/..."}},
	{"runtime/hal", []string{"runtime/...", "bus/...", "rtl/abi/pcicfg"}},
	{"runtime", []string{"runtime/..."}},
	{"firmware/fwtest", []string{"firmware", "firmware/message", "firmware/log", "firmware/mcu", "firmware/corefile", "firmware/gdbtest", "rtl/..."}},
	{"firmware/mcu", []string{"firmware/mcu", "rtl/abi/...", "rtl/mcu/..."}},
	{"firmware/corefile", []string{"firmware/corefile", "firmware/mcu", "rtl/abi/...", "rtl/mcu/..."}},
	{"firmware/gdbtest", []string{"firmware", "rtl/verilog/tool/..."}},
	{"firmware/build", []string{"firmware", "rtl/abi/...", "rtl/verilog/tool/..."}},
	{"firmware/log", []string{"rtl/abi/..."}},
	{"firmware/message", []string{"rtl/abi/..."}},
	{"firmware", []string{"rtl/abi/..."}},
	{"hostdriver/umd", []string{"rtl/abi/...", "runtime/ddi/...", "hostdriver/privdata", "hostdriver/umd/..."}},
	{"hostdriver/miniport", []string{"rtl/abi/...", "runtime/ddi/...", "hostdriver/privdata", "hostdriver/ring", "hostdriver/miniport/...", "firmware", "firmware/message", "firmware/mcu", "firmware/corefile", "firmware/log"}},
	{"hostdriver", []string{"rtl/abi/...", "runtime/ddi/...", "hostdriver/privdata", "hostdriver/ring"}},
	{"boards", []string{"boards/...", "bus/...", "rtl/...", "firmware", "firmware/mcu", "firmware/gdbtest"}},
	{"testbench/drivertest/starter/module/miniport", append([]string{"hostdriver/ring"}, starter...)},
	{"testbench/drivertest/starter/module/umd", starter},
	{"testbench/drivertest/starter/module/privdata", nil},
	{"testbench", []string{"rtl/...", "bus/...", "runtime/...", "hostdriver/...", "boards/...", "testbench/...", "firmware", "firmware/mcu", "firmware/message", "firmware/log"}},
	{"cmd", []string{"..."}},
}

func matches(pattern, path string) bool {
	tree, ok := strings.CutSuffix(pattern, "...")
	if !ok {
		return pattern == path
	}
	tree = strings.TrimSuffix(tree, "/")
	return tree == "" || path == tree || strings.HasPrefix(path, tree+"/")
}

// allowed reports whether package from may import package to, both of this module.
func allowed(from, to string) bool {
	for _, r := range rules {
		if !matches(r.tree+"/...", from) {
			continue
		}
		for _, a := range r.allow {
			if matches(a, to) {
				return true
			}
		}
		return false
	}
	return false
}

// eachSource calls do with every Go file of the module, as eachFile does.
func eachSource(t *testing.T, do func(name string, src []byte)) {
	t.Helper()
	eachFile(t, ".go", do)
}

// eachFile calls do with every file of the module that has the extension, by its name
// from the root with slashes.
func eachFile(t *testing.T, extension string, do func(name string, src []byte)) {
	t.Helper()
	root := os.DirFS("..")
	require.NoError(t, fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		require.NoError(t, err)
		if d.IsDir() && strings.HasPrefix(d.Name(), ".") && name != "." {
			return fs.SkipDir
		}
		if d.IsDir() || path.Ext(name) != extension {
			return nil
		}
		src, err := fs.ReadFile(root, name)
		require.NoError(t, err)
		do(name, src)
		return nil
	}))
}

func TestImports(t *testing.T) {
	n := 0
	eachSource(t, func(name string, src []byte) {
		file, err := parser.ParseFile(token.NewFileSet(), name, src, parser.ImportsOnly)
		require.NoError(t, err)
		for _, imp := range file.Imports {
			to, err := strconv.Unquote(imp.Path.Value)
			require.NoError(t, err)
			assert.NotEqual(t, "C", to, "%s uses cgo", name)
			if ours, ok := strings.CutPrefix(to, module); ok {
				n++
				assert.True(t, allowed(path.Dir(name), ours), "%s may not import %s", name, ours)
			}
		}
	})
	assert.Positive(t, n)
}

func TestAllowed(t *testing.T) {
	for _, tt := range []struct {
		from, to string
		want     bool
	}{
		{"rtl/abi/pkt", "rtl/abi/reg", true},
		{"rtl/abi/pkt", "rtl/hdl", false},
		{"rtl/cp", "rtl/dma", true},
		{"rtl/cp", "bus", false},
		{"rtl/refmodel", "rtl/abi/pkt", true},
		{"rtl/refmodel/vectors", "rtl/gpu", false},
		{"rtl/hostbfm", "rtl/gpu", true},
		{"rtl/hostbfm", "testbench/device/bare", false},
		{"bus/inproc", "rtl/abi/port", true},
		{"bus/inproc", "rtl/gpu", false},
		{"runtime/dxgkrnl", "bus", false},
		{"runtime/hal", "bus", true},
		{"runtime/ddi/umddi", "runtime/hal", false},
		{"hostdriver/umd", "hostdriver/miniport", false},
		{"hostdriver/miniport", "hostdriver/umd", false},
		{"hostdriver/miniport", "bus", false},
		{"hostdriver/ring", "rtl/abi/pkt", true},
		{"boards", "hostdriver/umd", false},
		{"firmware", "rtl/abi/fwabi", true},
		{"firmware", "rtl/mcu", false},
		{"firmware/mcu", "rtl/gpu", false},
		{"firmware/fwtest", "rtl/mcu", true},
		{"testbench/compose", "runtime/d3d11", true},
		{"testbench/drivertest/starter/module/umd", "hostdriver/umd", false},
		{"testbench/drivertest/starter/module/umd", "hostdriver/ring", false},
		{"testbench/drivertest/starter/module/miniport", "hostdriver/ring", true},
		{"testbench/command", "cmd/hilgpu/version", false},
		{"elsewhere", "bus", false},
	} {
		assert.Equal(t, tt.want, allowed(tt.from, tt.to), "%s -> %s", tt.from, tt.to)
	}
}
