package main

import (
	"bufio"
	"errors"
	"fmt"
	"image"
	"image/png"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
)

// output is a file that appears whole or not at all: it is written beside its
// place and moved there by commit. A nil output swallows nothing and does
// nothing.
type output struct {
	path    string // as it was given
	place   string // where the file belongs, links followed
	special bool   // a pipe or a device, which nothing can be moved over
	buf     *bufio.Writer

	mu  sync.Mutex
	tmp *os.File // nil once committed or discarded
}

// output is newOutput for a file that is none of the command's others.
func (l *links) output(path string) (*output, error) {
	o, err := newOutput(path)
	if err != nil || o == nil {
		return nil, err
	}
	for _, other := range l.outputs {
		if err := distinct(other, o); err != nil {
			o.discard()
			return nil, err
		}
	}
	l.outputs = append(l.outputs, o)
	return o, nil
}

// newOutput makes sure now that path can be written. An empty path gives nil.
func newOutput(path string) (*output, error) {
	if path == "" {
		return nil, nil
	}
	o := &output{path: path, place: path}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		o.place = real
	}
	perm := fs.FileMode(0o666)
	var err error
	switch info, serr := os.Stat(path); {
	case serr == nil && info.IsDir():
		return nil, o.failed(errors.New("it is a directory"))
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
		o.discard()
		return nil, o.failed(err)
	}
	o.buf = bufio.NewWriter(o.tmp)
	return o, nil
}

// writable fails if path cannot be written, and leaves nothing behind.
func writable(path string) error {
	o, err := newOutput(path)
	o.discard()
	return err
}

// deviceFolder says whether path is a name in /dev, such as /dev/stdout, which
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

// failed wraps an error of writing, which may name the file beside the place.
func (o *output) failed(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		err = at.Err
	}
	return fmt.Errorf("%w: cannot write %s: %w", errInput, o.path, err)
}

// Write implements io.Writer.
func (o *output) Write(p []byte) (int, error) {
	n, err := o.buf.Write(p)
	if err != nil {
		err = o.failed(err)
	}
	return n, err
}

// writePNG encodes img and commits.
func (o *output) writePNG(img image.Image) error {
	if o == nil {
		return nil
	}
	if err := png.Encode(o.buf, img); err != nil {
		return o.failed(err)
	}
	return o.commit()
}

// commit flushes and moves the file to its place.
func (o *output) commit() error {
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
	return o.failed(err)
}

// discard removes what was not committed.
func (o *output) discard() {
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

// distinct fails if two outputs are one file.
func distinct(a, b *output) error {
	if a.special || b.special || absolute(a.place) != absolute(b.place) {
		return nil
	}
	return b.failed(errors.New("it is given for two outputs"))
}

func absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	if folder, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		path = filepath.Join(folder, filepath.Base(path))
	}
	return path
}
