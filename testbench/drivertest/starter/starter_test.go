package starter

import (
	"go/format"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/mod/modfile"

	"github.com/hilgpu/hilgpu/testbench/output"
)

// root is the source tree of hilgpu.
const root = "../../.."

// tree returns the names of all files and folders below dir.
func tree(t *testing.T, dir string) (names []string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		names = append(names, path)
		return err
	}))
	return names
}

func read(t *testing.T, dir, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
	require.NoError(t, err)
	return string(data)
}

// A module of a development build uses the source tree, and needs neither a network nor
// go mod tidy.
func TestWriteWithSource(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "mine")
	s, err := Write(Options{Dir: dir, Version: "v9.9.9", Source: root})
	require.NoError(t, err)
	source, err := filepath.Abs(root)
	require.NoError(t, err)
	assert.Equal(t, "example.com/mine", s.Module)
	assert.Equal(t, source, s.Replace)
	assert.Equal(t, []string{
		".github/workflows/test.yml", ".gitignore", ".gitlab-ci.yml", "Makefile", "README.md", "main.go", "main_test.go",
		"miniport/miniport.go", "privdata/privdata.go", "umd/umd.go", "go.mod", "go.sum",
	}, s.Files)
	for _, name := range s.Files {
		text := read(t, dir, name)
		assert.NotContains(t, text, template, name)
		if filepath.Ext(name) == ".go" {
			formatted, err := format.Source([]byte(text))
			require.NoError(t, err)
			assert.Equal(t, string(formatted), text, name)
		}
	}
	assert.Contains(t, read(t, dir, "main.go"), `"example.com/mine/umd"`)
	mod, err := modfile.Parse("go.mod", []byte(read(t, dir, "go.mod")), nil)
	require.NoError(t, err)
	require.Len(t, mod.Replace, 1)
	assert.Equal(t, Hilgpu, mod.Replace[0].Old.Path)
	assert.Equal(t, source, mod.Replace[0].New.Path)
	assert.Equal(t, read(t, root, "go.sum"), read(t, dir, "go.sum"))

	vet := exec.Command("go", "vet", "-mod=readonly", "./...")
	vet.Dir, vet.Env = dir, append(os.Environ(), "GOPROXY=off", "GOFLAGS=")
	out, err := vet.CombinedOutput()
	assert.NoError(t, err, "%s", out)
}

// A module of a release requires that version and nothing else.
func TestWriteWithVersion(t *testing.T) {
	dir := t.TempDir() // empty
	s, err := Write(Options{Dir: dir, Module: "example.org/a/b", Version: "v1.2.3"})
	require.NoError(t, err)
	assert.Equal(t, "v1.2.3", s.Version)
	assert.NotContains(t, s.Files, "go.sum")
	assert.Equal(t, "module example.org/a/b\n\ngo 1.26.0\n\nrequire github.com/hilgpu/hilgpu v1.2.3\n", read(t, dir, "go.mod"))
}

// go.mod has the version of Go that this module has.
func TestGoVersion(t *testing.T) {
	assert.Contains(t, read(t, root, "go.mod"), "\ngo "+goVersion+"\n")
}

// Bad input changes nothing.
func TestRefusals(t *testing.T) {
	dir := t.TempDir()
	full, empty, plain := filepath.Join(dir, "full"), filepath.Join(dir, "empty"), filepath.Join(dir, "plain")
	require.NoError(t, os.MkdirAll(full, 0o777))
	require.NoError(t, os.WriteFile(filepath.Join(full, ".git"), nil, 0o666))
	require.NoError(t, os.MkdirAll(empty, 0o777))
	require.NoError(t, os.WriteFile(plain, nil, 0o666))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module "+Hilgpu+"\nnonsense\n"), 0o666))
	before := tree(t, dir)
	for _, tt := range []struct {
		name string
		o    Options
		kind error
		says string
	}{
		{"a folder that is not empty", Options{Dir: full}, ErrInput, "is not empty, it has .git; want a new or an empty folder"},
		{"a file", Options{Dir: plain}, ErrInput, "want a new or an empty folder"},
		{"no parent", Options{Dir: filepath.Join(dir, "no", "such")}, output.ErrWrite, "cannot write"},
		{"below a file", Options{Dir: filepath.Join(plain, "x")}, ErrInput, "plain"},
		{"a name that is no path", Options{Dir: filepath.Join(dir, "my driver")}, ErrInput, `"example.com/my driver"`},
		{"the root folder", Options{Dir: "/"}, ErrInput, `"example.com//"`},
		{"a path of the standard library", Options{Dir: empty, Module: "net"}, ErrInput, "want a path as in example.com/driver"},
		{"a path with a space", Options{Dir: empty, Module: "example.com/a b"}, ErrInput, "want a path"},
		{"hilgpu itself", Options{Dir: empty, Module: Hilgpu}, ErrInput, "is in hilgpu itself"},
		{"a path in hilgpu", Options{Dir: empty, Module: Hilgpu + "/mine"}, ErrInput, "is in hilgpu itself"},
		{"a source that does not exist", Options{Dir: empty, Source: filepath.Join(dir, "none")}, ErrInput, "is not the root of"},
		{"another source", Options{Dir: empty, Source: full}, ErrInput, "is not the root of"},
		{"a source with a bad go.mod", Options{Dir: empty, Source: dir}, ErrInput, "unknown directive: nonsense"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.o.Version = "v1.2.3"
			_, err := Write(tt.o)
			require.ErrorIs(t, err, tt.kind)
			assert.ErrorContains(t, err, tt.says)
			assert.Equal(t, before, tree(t, dir))
		})
	}
}

// A failure in the middle removes the files and keeps what was there before.
func TestFailureInTheMiddle(t *testing.T) {
	files := []file{{"a/b", nil}, {"c", nil}, {"c/d", nil}}
	dir := t.TempDir()
	require.ErrorIs(t, write(dir, files, new(Summary)), output.ErrWrite)
	assert.Equal(t, []string{dir}, tree(t, dir))
	made := filepath.Join(dir, "made")
	require.ErrorIs(t, write(made, files, new(Summary)), output.ErrWrite)
	assert.NoDirExists(t, made)
}

// Each driver has less than 300 lines of code: lines other than imports, comments and
// empty ones.
func TestDriversAreSmall(t *testing.T) {
	for _, driver := range []string{"miniport", "umd"} {
		n := 0
		files, err := filepath.Glob(filepath.Join("module", driver, "*.go"))
		require.NoError(t, err)
		for _, name := range files {
			text := regexp.MustCompile(`(?s)import \(.*?\n\)\n`).ReplaceAllString(read(t, ".", name), "")
			for line := range strings.Lines(text) {
				if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "//") {
					n++
				}
			}
		}
		assert.Less(t, n, 300, driver)
		assert.Greater(t, n, 100, driver)
	}
}
