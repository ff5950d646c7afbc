package output

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// names returns the names of the files in a folder.
func names(t *testing.T, dir string) (all []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

// read returns the text of a file.
func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(b)
}

func TestFile(t *testing.T) {
	for _, tt := range []struct {
		name string
		end  func(*File) error
		want string
	}{
		{"a commit replaces", (*File).Commit, "new"},
		{"a discard keeps the earlier file", func(o *File) error { o.Discard(); return o.Commit() }, "old"},
		{"a discard after the commit does nothing", func(o *File) error { err := o.Commit(); o.Discard(); return err }, "new"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "f")
			require.NoError(t, os.WriteFile(path, []byte("old"), 0o600))
			o := mustCreate(t, path)
			_, err := io.WriteString(o, "new")
			require.NoError(t, err)
			assert.Equal(t, "old", read(t, path), "unchanged before the commit")
			require.NoError(t, tt.end(o))
			assert.Equal(t, tt.want, read(t, path))
			assert.Equal(t, []string{"f"}, names(t, dir))
			info, err := os.Stat(path)
			require.NoError(t, err)
			assert.Equal(t, os.FileMode(0o600), info.Mode().Perm())
		})
	}
}

func TestNoFile(t *testing.T) {
	o, err := Create("")
	require.NoError(t, err)
	assert.Nil(t, o)
	assert.NoError(t, o.Commit())
	o.Discard()
	assert.NoError(t, (*Live)(nil).Finish())
}

func TestCheck(t *testing.T) {
	dir := t.TempDir()
	assert.NoError(t, Check(filepath.Join(dir, "f")))
	assert.Empty(t, names(t, dir))
	err := Check(dir)
	require.ErrorIs(t, err, ErrWrite)
	assert.EqualError(t, err, "bad input: cannot write "+dir+": it is a directory")
	assert.EqualError(t, Check("/nowhere/f"), "bad input: cannot write /nowhere/f: no such file or directory", "the given path, not the temporary one")
}

func TestSet(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Symlink("a", filepath.Join(dir, "link")))
	var s Set
	for _, path := range []string{"", "", "/dev/null", "/dev/null", filepath.Join(dir, "a"), filepath.Join(dir, "b")} {
		o, err := s.Create(path)
		require.NoError(t, err, path)
		defer o.Discard()
	}
	_, err := s.Create(filepath.Join(dir, ".", "x", "..", "a"))
	require.ErrorIs(t, err, ErrWrite)
	assert.ErrorContains(t, err, "a: it is used for two outputs")
	assert.Len(t, names(t, dir), 3, "the link and two temporary files")
}

func TestReplace(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "dir")
	require.NoError(t, Replace(dir, []Entry{{"a", []byte("1")}, {"b", []byte("2")}}, nil))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "mine"), nil, 0o600))
	require.NoError(t, Replace(dir, []Entry{{"b", []byte("3")}, {"c", nil}}, []string{"a", "b", "gone"}))
	assert.Equal(t, []string{"b", "c", "mine"}, names(t, dir))
	assert.Equal(t, "3", read(t, filepath.Join(dir, "b")))

	require.NoError(t, os.Mkdir(filepath.Join(dir, "d"), 0o700))
	require.ErrorIs(t, Replace(dir, []Entry{{"b", []byte("4")}, {"d", nil}}, []string{"c"}), ErrWrite)
	assert.Equal(t, []string{"b", "c", "d", "mine"}, names(t, dir))
	assert.Equal(t, "3", read(t, filepath.Join(dir, "b")), "all or none")
}

// backwards is an order that reverses the bytes.
func backwards(r io.Reader, w io.Writer) error {
	b, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	for i := range b {
		if _, err := w.Write(b[len(b)-1-i:][:1]); err != nil {
			return err
		}
	}
	return nil
}

func TestLive(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	require.NoError(t, os.WriteFile(path, []byte("old"), 0o666))
	require.NoError(t, NewLive(mustCreate(t, path), backwards).Finish())
	assert.Equal(t, "old", read(t, path), "nothing was written")

	l := NewLive(mustCreate(t, path), backwards)
	for _, s := range []string{"ab", "c"} {
		_, err := io.WriteString(l, s)
		require.NoError(t, err)
	}
	assert.Equal(t, "abc", read(t, path), "visible at once")
	require.NoError(t, l.Finish())
	assert.Equal(t, "cba", read(t, path))
	require.NoError(t, l.Finish())
	_, err := l.Write([]byte("d"))
	assert.ErrorIs(t, err, ErrWrite, "a write after Finish")

	l = NewLive(mustCreate(t, path), func(io.Reader, io.Writer) error { return io.ErrUnexpectedEOF })
	_, err = io.Copy(l, bytes.NewReader([]byte("xy")))
	require.NoError(t, err)
	err = l.Finish()
	require.ErrorIs(t, err, ErrWrite)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	assert.Equal(t, "xy", read(t, path), "in order of arrival")
	assert.Equal(t, []string{"f"}, names(t, dir))
}

func mustCreate(t *testing.T, path string) *File {
	t.Helper()
	o, err := Create(path)
	require.NoError(t, err)
	return o
}
