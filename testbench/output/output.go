// Package output writes files that appear whole or not at all, and files that grow
// in sight and are put in order at the end.
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

// ErrWrite is wrapped by every error of this package. What cannot be written was a
// wrong choice of the user, so the text says that the input is bad.
var ErrWrite = errors.New("bad input")

// Failed returns err as an ErrWrite that names path. A file that err itself names is
// left out.
func Failed(path string, err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		err = at.Err
	}
	return fmt.Errorf("%w: cannot write %s: %w", ErrWrite, path, err)
}

// A File appears whole or not at all: it is written beside its place and moved there
// by Commit. Commit and Discard may be called from several goroutines, and of a nil
// File, where they do nothing; nobody writes to a nil File.
type File struct {
	path    string // as it was given
	place   string // where the file belongs, links followed
	special bool   // a pipe or a device, which nothing can be moved over
	buf     *bufio.Writer

	mu  sync.Mutex
	tmp *os.File // nil once committed or discarded
}

// Create opens a File for path, so that one that cannot be written fails at once,
// with ErrWrite. An existing file keeps its mode, a link is followed, and a pipe or a
// device is written in place. An empty path gives nil.
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
		if o.tmp, err = beside(o.place, perm); err == nil {
			err = o.tmp.Chmod(perm)
		}
	default:
		o.tmp, err = beside(o.place, perm)
	}
	if err != nil {
		o.Discard()
		return nil, o.Failed(err)
	}
	o.buf = bufio.NewWriter(o.tmp)
	return o, nil
}

// Check fails with ErrWrite if path cannot be written, and leaves nothing there.
func Check(path string) error {
	o, err := Create(path)
	o.Discard()
	return err
}

// deviceFolder reports whether path is a name in /dev, such as /dev/stdout, which
// leads to whatever is open and is not to be moved over.
func deviceFolder(path string) bool { return filepath.Dir(filepath.Clean(path)) == "/dev" }

// beside creates a file in the folder of place, under a name of its own.
func beside(place string, perm fs.FileMode) (*os.File, error) {
	for {
		name := filepath.Join(filepath.Dir(place), fmt.Sprintf(".%s.%08x", filepath.Base(place), rand.Uint32()))
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
		if !errors.Is(err, fs.ErrExist) {
			return f, err
		}
	}
}

// Failed returns err as an ErrWrite that names the file as it was given.
func (o *File) Failed(err error) error { return Failed(o.path, err) }

// Write implements io.Writer. It fails with ErrWrite.
func (o *File) Write(p []byte) (int, error) {
	n, err := o.buf.Write(p)
	if err != nil {
		err = o.Failed(err)
	}
	return n, err
}

// Commit moves the file to its place, with all that was written. It fails with
// ErrWrite, and then leaves what was there. After the first Commit or Discard it does
// nothing.
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

// Discard leaves what was there before, unless the file is committed.
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
