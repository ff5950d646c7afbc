package main

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"sync"

	"github.com/hilgpu/hilgpu/runtime/verifier"
)

// ddiFile is the file of --ddi. Each line is in the file as soon as it is written, so
// a run that hangs or is killed leaves what it did so far, in order of arrival. Finish
// puts the lines in the order of verifier.Merge. A pipe or a device keeps them in
// order of arrival. A nil ddiFile is none.
type ddiFile struct {
	out *output // where the lines in order go

	mu    sync.Mutex
	lines *os.File // the file itself, from the first line on
	ended bool
}

// ddi returns the file of a path, which is not touched before the first line, or nil
// without a path.
func (l *links) ddi(path string) (*ddiFile, error) {
	out, err := l.output(path)
	if out == nil {
		return nil, err
	}
	l.trace = &ddiFile{out: out}
	return l.trace, nil
}

// Write implements io.Writer. It fails with errInput, and after Finish.
func (d *ddiFile) Write(p []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ended {
		return 0, d.out.failed(fs.ErrClosed)
	}
	w, err := d.file()
	if err != nil {
		return 0, d.out.failed(err)
	}
	n, err := w.Write(p)
	if err != nil {
		err = d.out.failed(err)
	}
	return n, err
}

// file returns what the lines go to.
func (d *ddiFile) file() (io.Writer, error) {
	if d.out.special {
		return d.out.tmp, nil
	}
	if d.lines == nil {
		f, err := os.OpenFile(d.out.place, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o666)
		if err != nil {
			return nil, err
		}
		d.lines = f
	}
	return d.lines, nil
}

// finish puts the lines in order. Without a line the path stays as it was. If it
// fails, the file has the lines in order of arrival.
func (d *ddiFile) finish() error {
	if d == nil {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ended {
		return nil
	}
	d.ended = true
	if d.out.special {
		return d.out.commit()
	}
	defer d.out.discard()
	if d.lines == nil {
		return nil
	}
	_, err := d.lines.Seek(0, io.SeekStart)
	if err == nil {
		err = verifier.Merge(d.lines, d.out)
	}
	if err = errors.Join(err, d.lines.Close()); err != nil {
		return d.out.failed(err)
	}
	return d.out.commit()
}
