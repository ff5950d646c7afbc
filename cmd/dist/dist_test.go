package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

var noon = time.Date(2025, 6, 1, 12, 0, 0, 0, time.UTC)

// An archive depends only on the files and the time: files have no owner and
// are sorted.
func TestArchives(t *testing.T) {
	files := []file{{"d/program", 0o755, []byte("run")}, {"d/LICENSE", 0o644, []byte("may")}}
	other := slices.Clone(files)
	slices.Reverse(other)
	for name, write := range map[string]func(io.Writer, []file, time.Time) error{"tar": writeTar, "zip": writeZip} {
		var a, b, c bytes.Buffer
		require.NoError(t, write(&a, files, noon))
		require.NoError(t, write(&b, other, noon.In(time.FixedZone("east", 3600))))
		assert.True(t, bytes.Equal(a.Bytes(), b.Bytes()), name)
		require.NoError(t, write(&c, files, noon.Add(time.Minute)))
		assert.False(t, bytes.Equal(a.Bytes(), c.Bytes()), name)
	}
	var b bytes.Buffer
	require.NoError(t, writeTar(&b, files, noon))
	g, err := gzip.NewReader(&b)
	require.NoError(t, err)
	assert.True(t, g.ModTime.IsZero())
	assert.Empty(t, g.Name)
	r := tar.NewReader(g)
	for _, want := range []file{files[1], files[0]} {
		h, err := r.Next()
		require.NoError(t, err)
		data, err := io.ReadAll(r)
		require.NoError(t, err)
		assert.Equal(t, want, file{h.Name, fs.FileMode(h.Mode), data})
		assert.True(t, h.ModTime.Equal(noon))
		assert.Equal(t, []any{0, 0, "", ""}, []any{h.Uid, h.Gid, h.Uname, h.Gname})
	}
	b.Reset()
	require.NoError(t, writeZip(&b, files, noon))
	z, err := zip.NewReader(bytes.NewReader(b.Bytes()), int64(b.Len()))
	require.NoError(t, err)
	require.Len(t, z.File, 2)
	assert.Equal(t, "d/LICENSE", z.File[0].Name)
	assert.Equal(t, fs.FileMode(0o755), z.File[1].Mode())
	assert.True(t, z.File[1].Modified.Equal(noon))
}

// Windows gets a zip archive with an .exe program; the other systems get tar
// archives.
func TestWriteArchive(t *testing.T) {
	dir := t.TempDir()
	s := &source{version: "v1.2.3", time: noon}
	var names []string
	for _, target := range targets() {
		name, err := writeArchive(dir, s, target, []file{{target.program(), 0o755, nil}})
		require.NoError(t, err)
		names = append(names, name)
	}
	assert.Equal(t, []string{
		"hilgpu_v1.2.3_linux_amd64.tar.gz", "hilgpu_v1.2.3_linux_arm64.tar.gz",
		"hilgpu_v1.2.3_darwin_amd64.tar.gz", "hilgpu_v1.2.3_darwin_arm64.tar.gz",
		"hilgpu_v1.2.3_windows_amd64.zip", "hilgpu_v1.2.3_windows_arm64.zip",
	}, names)
	z, err := zip.OpenReader(filepath.Join(dir, names[4]))
	require.NoError(t, err)
	defer z.Close()
	assert.Equal(t, "hilgpu_v1.2.3_windows_amd64/hilgpu.exe", z.File[0].Name)
	require.NoError(t, writeSums(dir))
	sums, err := os.ReadFile(filepath.Join(dir, "SHA256SUMS"))
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSpace(string(sums)), "\n")
	require.Len(t, lines, 6)
	for _, line := range lines {
		sum, name, _ := strings.Cut(line, "  ")
		data, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		want := sha256.Sum256(data)
		assert.Equal(t, hex.EncodeToString(want[:]), sum)
	}
}

// repository creates a repository with one commit at noon.
func repository(t *testing.T, files map[string]string) string {
	t.Helper()
	tooltest.Need(t, "git")
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	inRepository(t, dir, "init", "-q")
	inRepository(t, dir, "add", "-A")
	inRepository(t, dir, "commit", "-q", "-m", "first")
	return dir
}

func inRepository(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=c", "GIT_COMMITTER_EMAIL=c@example.com",
		"GIT_AUTHOR_DATE=2025-06-01T12:00:00Z", "GIT_COMMITTER_DATE=2025-06-01T14:00:00+02:00")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	return strings.TrimSpace(string(out))
}

// The version is the tag of the commit, or else its pseudo-version
// (go.dev/ref/mod, "Pseudo-versions").
func TestVersion(t *testing.T) {
	dir := repository(t, map[string]string{"go.mod": "module m.example/m\n"})
	rev := inRepository(t, dir, "rev-parse", "HEAD")
	get := func() string {
		s, err := checkout(dir, t.TempDir())
		require.NoError(t, err)
		assert.True(t, s.time.Equal(noon))
		return s.version
	}
	assert.Equal(t, "v0.0.0-20250601120000-"+rev[:12], get())
	inRepository(t, dir, "tag", "other")
	inRepository(t, dir, "tag", "v0.3.1")
	assert.Equal(t, "v0.3.1", get())
	inRepository(t, dir, "commit", "-q", "--allow-empty", "-m", "second")
	rev = inRepository(t, dir, "rev-parse", "HEAD")
	assert.Equal(t, "v0.3.2-0.20250601120000-"+rev[:12], get())
}

// The proxy has the files of the commit, regardless of other files in the
// working directory.
func TestProxy(t *testing.T) {
	const mod = "module m.example/Upper\n\ngo 1.26\n"
	dir := repository(t, map[string]string{"go.mod": mod, "a.go": "package a\n", "LICENSE": "may\n", "sub/go.mod": "module m.example/sub\n", "sub/b.go": "package b\n"})
	inRepository(t, dir, "tag", "v1.0.0")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.go"), []byte("package dirty\n"), 0o644))
	s, err := checkout(dir, t.TempDir())
	require.NoError(t, err)
	assert.True(t, s.dirty)
	proxy := t.TempDir()
	require.NoError(t, s.writeProxy(proxy))
	at := filepath.Join(proxy, "m.example", "!upper", "@v")
	read := func(name string) string {
		data, err := os.ReadFile(filepath.Join(at, name))
		require.NoError(t, err)
		return string(data)
	}
	assert.Equal(t, "v1.0.0\n", read("list"))
	assert.Equal(t, mod, read("v1.0.0.mod"))
	var info struct{ Version, Time string }
	require.NoError(t, json.Unmarshal([]byte(read("v1.0.0.info")), &info))
	assert.Equal(t, "v1.0.0", info.Version)
	assert.Equal(t, "2025-06-01T12:00:00Z", info.Time)
	z, err := zip.OpenReader(filepath.Join(at, "v1.0.0.zip"))
	require.NoError(t, err)
	defer z.Close()
	texts := map[string]string{}
	for _, f := range z.File {
		r, err := f.Open()
		require.NoError(t, err)
		data, err := io.ReadAll(r)
		require.NoError(t, err)
		texts[f.Name] = string(data)
	}
	const root = "m.example/Upper@v1.0.0/"
	assert.Equal(t, map[string]string{root + "go.mod": mod, root + "a.go": "package a\n", root + "LICENSE": "may\n"}, texts)
}

// A link is refused, because a module cannot contain it.
func TestLink(t *testing.T) {
	dir := repository(t, map[string]string{"go.mod": "module m.example/m\n"})
	require.NoError(t, os.Symlink("go.mod", filepath.Join(dir, "link")))
	inRepository(t, dir, "add", "-A")
	inRepository(t, dir, "commit", "-q", "-m", "link")
	_, err := checkout(dir, t.TempDir())
	assert.ErrorContains(t, err, "link is not a regular file")
}

// A missing file is an error, except the change log.
func TestDocuments(t *testing.T) {
	tree := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(tree, "docs", "sub"), 0o755))
	for _, name := range []string{"LICENSE", "CONTRIBUTING.md", "docs/a.md", "docs/sub/b.lua", "go.mod"} {
		require.NoError(t, os.WriteFile(filepath.Join(tree, name), []byte(name), 0o644))
	}
	_, err := documents(tree)
	assert.ErrorContains(t, err, "README.md")
	for _, name := range []string{"README.md", "CHANGELOG.md"} {
		require.NoError(t, os.WriteFile(filepath.Join(tree, name), nil, 0o644))
		_, err = documents(tree)
		require.NoError(t, err)
	}
	files, err := documents(tree)
	require.NoError(t, err)
	var names []string
	for _, f := range files {
		names = append(names, f.name)
	}
	assert.Equal(t, []string{"LICENSE", "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "docs/a.md", "docs/sub/b.lua"}, names)
}

func TestNoRepository(t *testing.T) {
	tooltest.Need(t, "git")
	t.Setenv("GIT_CEILING_DIRECTORIES", os.TempDir())
	_, err := checkout(t.TempDir(), t.TempDir())
	assert.ErrorContains(t, err, "git log")
	assert.NotContains(t, err.Error(), "\n")
}
