package main

import (
	"bufio"
	"fmt"
	"image"
	"image/png"
	"os"
	"path/filepath"

	"github.com/hilgpu/hilgpu/testbench/compose"
)

// output is a file that appears whole or not at all: it is written beside its
// place and moved there by commit. A nil output swallows nothing and does
// nothing.
type output struct {
	path string
	tmp  *os.File
	buf  *bufio.Writer
}

// newOutput makes sure now that path can be written. An empty path gives nil.
func newOutput(path string) (*output, error) {
	if path == "" {
		return nil, nil
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return openSpecial(path, info)
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return nil, fmt.Errorf("%w: cannot write %s: %w", compose.ErrInput, path, err)
	}
	return &output{path: path, tmp: tmp, buf: bufio.NewWriter(tmp)}, nil
}

// openSpecial opens a pipe or a device, which nothing can be moved over.
func openSpecial(path string, info os.FileInfo) (*output, error) {
	if info.IsDir() {
		return nil, fmt.Errorf("%w: cannot write %s: it is a directory", compose.ErrInput, path)
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return nil, fmt.Errorf("%w: cannot write %s: %w", compose.ErrInput, path, err)
	}
	return &output{tmp: f, buf: bufio.NewWriter(f)}, nil
}

// Write implements io.Writer.
func (o *output) Write(p []byte) (int, error) { return o.buf.Write(p) }

// writePNG encodes img and commits.
func (o *output) writePNG(img image.Image) error {
	if o == nil {
		return nil
	}
	if err := png.Encode(o.buf, img); err != nil {
		return fmt.Errorf("%w: cannot write %s: %w", compose.ErrInput, o.path, err)
	}
	return o.commit()
}

// commit flushes and moves the file to its place.
func (o *output) commit() error {
	if o == nil || o.tmp == nil {
		return nil
	}
	err := o.buf.Flush()
	if cerr := o.tmp.Close(); err == nil {
		err = cerr
	}
	name := o.tmp.Name()
	o.tmp = nil
	if err == nil && o.path != "" {
		if err = os.Chmod(name, 0o644); err == nil {
			err = os.Rename(name, o.path)
		}
	}
	if err != nil {
		if o.path != "" {
			os.Remove(name)
		}
		return fmt.Errorf("%w: cannot write %s: %w", compose.ErrInput, o.path, err)
	}
	return nil
}

// discard removes what was not committed.
func (o *output) discard() {
	if o == nil || o.tmp == nil {
		return
	}
	o.tmp.Close()
	if o.path != "" {
		os.Remove(o.tmp.Name())
	}
	o.tmp = nil
}
