// Package output writes files that appear complete or not at all, and live files
// that are sorted at the end.
package output

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
)

// ErrWrite is wrapped by every error of this package. Its text is "bad input",
// because the user chose the path that cannot be written.
var ErrWrite = errors.New("bad input")

// Failed returns err as an ErrWrite that names path, and not the file that err
// names itself.
func Failed(path string, err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		err = at.Err
	}
	return fmt.Errorf("%w: cannot write %s: %w", ErrWrite, path, err)
}

// A File appears complete or not at all: it is written to a temporary file in the
// same folder, which Commit renames. Commit and Discard may be called from several
// goroutines. On a nil File they do nothing; a nil File must not be written to.
type File struct {
	path    string // path as given
	place   string // final path, links resolved
	special bool   // a pipe or a device, which cannot be replaced
	buf     *bufio.Writer

	mu  sync.Mutex
	tmp *os.File // nil once committed or discarded
}

// Create opens a File for path. It fails with ErrWrite if the path cannot be
// written. An existing file keeps its mode, a link is followed, and a pipe or a
// device is written directly. For an empty path Create returns nil.
func Create(path string) (*File, error) {
	if path == "" {
		return nil, nil
	}
	o := &File{path: path, place: path}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		o.place = real
	}
	perm := fs.FileMode(0o666)
	var err error
	switch info, serr := os.Stat(path); {
	case serr == nil && info.IsDir():
		return nil, o.Failed(errors.New("it is a directory"))
	case serr == nil && (!info.Mode().IsRegular() || deviceFolder(path)):
		o.special = true
		o.tmp, err = os.OpenFile(path, os.O_WRONLY, 0)
	case serr == nil:
		perm = info.Mode().Perm()
		if o.tmp, err = createTemp(o.place, perm); err == nil {
			err = o.tmp.Chmod(perm)
		}
	default:
		o.tmp, err = createTemp(o.place, perm)
	}
	if err != nil {
		o.Discard()
		return nil, o.Failed(err)
	}
	o.buf = bufio.NewWriter(o.tmp)
	return o, nil
}

// Check fails with ErrWrite if path cannot be written. It leaves no file.
func Check(path string) error {
	o, err := Create(path)
	o.Discard()
	return err
}

// deviceFolder reports whether path is in /dev, such as /dev/stdout, which may lead
// to any open file and must not be replaced.
func deviceFolder(path string) bool { return filepath.Dir(filepath.Clean(path)) == "/dev" }

// createTemp creates a temporary file in the folder of place.
func createTemp(place string, perm fs.FileMode) (*os.File, error) {
	for {
		name := filepath.Join(filepath.Dir(place), fmt.Sprintf(".%s.%08x", filepath.Base(place), rand.Uint32()))
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
		if !errors.Is(err, fs.ErrExist) {
			return f, err
		}
	}
}

// Failed returns err as an ErrWrite that names the path as given.
func (o *File) Failed(err error) error { return Failed(o.path, err) }

// Write implements io.Writer. It fails with ErrWrite.
func (o *File) Write(p []byte) (int, error) {
	n, err := o.buf.Write(p)
	if err != nil {
		err = o.Failed(err)
	}
	return n, err
}

// Commit renames the file to its final path. It fails with ErrWrite, and then the
// earlier file is unchanged. Only the first Commit or Discard has an effect.
func (o *File) Commit() error {
	if o == nil {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.tmp == nil {
		return nil
	}
	err := o.buf.Flush()
	if cerr := o.tmp.Close(); err == nil {
		err = cerr
	}
	name := o.tmp.Name()
	o.tmp = nil
	if o.special {
		name = ""
	} else if err == nil {
		err = os.Rename(name, o.place)
	}
	if err == nil {
		return nil
	}
	if name != "" {
		os.Remove(name)
	}
	return o.Failed(err)
}

// Discard keeps the earlier file, unless Commit was called.
func (o *File) Discard() {
	if o == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.tmp == nil {
		return
	}
	o.tmp.Close()
	if !o.special {
		os.Remove(o.tmp.Name())
	}
	o.tmp = nil
}
