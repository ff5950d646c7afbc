package main

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

// calls of the source of tree, by weight.
func calls() []weighted {
	const p = modulePath + "a/b."
	return []weighted{
		{call{p + "Long", p + "(*T).M", 3}, 50},
		{call{p + "Long", p + "V.N", 4}, 30},
		{call{p + "(*T).M", p + "G[go.shape.struct { " + modulePath + "a/c.x uint8 }]", 1}, 20},
	}
}

// tree writes a module and its profile, and returns its root.
func tree(t *testing.T, source string, profile []weighted) string {
	root := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(root, "a/b"), 0o755))
	require.NoError(t, os.MkdirAll(filepath.Join(root, "cmd/hilgpu"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(root, "a/b/b.go"), []byte(source), 0o600))
	text, err := encode(profile)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(root, profileFile), text, 0o600))
	return root
}

const before = `package b

type T struct{ v V }
type V uint8

func Long(t *T) int {
	a := 1

	a += t.M()
	a += t.v.N()
	return a
}
func (t *T) M() int {
	return G(7)
}
func (v V) N() int { return int(v) }
func G[X any](x X) X { return x }
`

// The compiler's reader of profiles understands what encode writes.
func TestEncode(t *testing.T) {
	got, err := read(filepath.Join(tree(t, before, calls()), profileFile))
	require.NoError(t, err)
	assert.Equal(t, calls(), got)
	one, err := encode(calls())
	require.NoError(t, err)
	two, err := encode(calls())
	require.NoError(t, err)
	assert.Equal(t, one, two)
}

// The profile is too old if the source no longer has enough of its calls, each in its
// line, whatever is before the function.
func TestAge(t *testing.T) {
	for _, tt := range []struct {
		name, from, to string
		share          string
		missing        string
	}{
		{"the same", "", "", "100.0 %", ""},
		{"other functions", "package b\n", "package b\n\nfunc New() {}\n", "100.0 %", ""},
		{"a call is gone", "return G(7)", "return 7", "80.0 %", ""},
		{"a function has another name", "V) N() int", "V) O() int", "70.0 %", ""},
		{"a line is new", "\ta := 1\n", "\ta := 1\n\ta++\n", "20.0 %", "a/b.(*T).M by " + modulePath + "a/b.Long, line +3"},
		{"another type", "type T struct{ v V }", "type T = U\ntype U struct{ v V }", "100.0 %", ""},
		{"another receiver", "(t *T) M", "(t *U) M", "30.0 %", "a/b.(*T).M"},
	} {
		root := tree(t, strings.Replace(before, tt.from, tt.to, 1), calls())
		var out, errs bytes.Buffer
		code := run([]string{"-root", root, "-check"}, &out, &errs)
		assert.Contains(t, out.String(), " "+tt.share+" of the profile is in the source", tt.name)
		if tt.missing == "" {
			assert.Equal(t, 0, code, "%s: %s", tt.name, &errs)
		} else {
			assert.Equal(t, 1, code, tt.name)
			assert.Contains(t, errs.String(), "run make pgo", tt.name)
			assert.Contains(t, errs.String(), tt.missing, tt.name)
		}
	}
}

func TestErrors(t *testing.T) {
	var out, errs bytes.Buffer
	assert.Equal(t, 1, run([]string{"-root", t.TempDir(), "-check"}, &out, &errs), "no profile")
	root := tree(t, before, nil)
	assert.Equal(t, 1, run([]string{"-root", root, "-check"}, &out, &errs), "an empty profile")
	require.NoError(t, os.WriteFile(filepath.Join(root, profileFile), []byte("no profile"), 0o600))
	assert.Equal(t, 1, run([]string{"-root", root, "-check"}, &out, &errs), "another format")
	for _, args := range [][]string{{"-none"}, {"more"}, {"-seconds", "0"}} {
		assert.Equal(t, 2, run(args, &out, &errs), args)
	}
}

// Only named functions of this module are kept, each workload has the same weight, and
// small calls are left out.
func TestAdd(t *testing.T) {
	const a, b = modulePath + "p.A", modulePath + "p.B"
	sum := map[call]int64{}
	add(sum, []weighted{
		{call{a, b, 1}, 999_990}, {call{b, a, 2}, 10},
		{call{"main.main", a, 1}, 500}, {call{a, "fmt.Println", 1}, 500}, {call{a, b + ".func1", 1}, 500}, {call{a + ".func2", b, 1}, 500},
	})
	add(sum, []weighted{{call{a, b, 1}, 1}, {call{b, a, 3}, 1}})
	assert.Equal(t, []weighted{{call{a, b, 1}, 1_499_990}, {call{b, a, 3}, 500_000}}, sorted(sum))
}

// The profile of this repository is not too old, and has no file names.
func TestProfile(t *testing.T) {
	var out, errs bytes.Buffer
	assert.Equal(t, 0, run([]string{"-root", "../..", "-check"}, &out, &errs), "%s", &errs)
	t.Log(out.String())
	f, err := os.Open("../../" + profileFile)
	require.NoError(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	require.NoError(t, err)
	text, err := io.ReadAll(z)
	require.NoError(t, err)
	for _, path := range []string{".go", "/home", "/root", "/tmp", "/usr"} {
		assert.False(t, bytes.Contains(text, []byte(path)), path)
	}
	assert.Less(t, len(text), 100_000)
}

// The workloads are profiled: the clock of the GPU is most of the time.
func TestMeasure(t *testing.T) {
	tooltest.Long(t)
	all, err := measure(300_000_000)
	require.NoError(t, err)
	share := int64(0)
	for _, c := range all {
		if strings.HasSuffix(c.callee, "gpu.(*GPU).Tick") {
			share += c.weight
		}
	}
	assert.Greater(t, share, int64(each/10))
}
