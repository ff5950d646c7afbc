package output

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"sync"
)

// A Live file has each write as soon as it is made, so a run that hangs or is killed
// leaves what it did so far. Finish puts it in order. A pipe or a device keeps the
// order of arrival. Its methods may be called from several goroutines.
type Live struct {
	out   *File // where the text in order goes
	order func(r io.Reader, w io.Writer) error

	mu    sync.Mutex
	text  *os.File // the file itself, from the first write on
	ended bool
}

// NewLive returns a live file at the place of out, which it owns. Nothing is touched
// before the first write. Order copies what was written from r to w, in order.
func NewLive(out *File, order func(r io.Reader, w io.Writer) error) *Live {
	if !out.special {
		out.Discard() // until Finish makes it again, so that a run that is killed leaves one file
	}
	return &Live{out: out, order: order}
}

// Write implements io.Writer. It fails with ErrWrite, and after Finish.
func (l *Live) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return 0, l.out.Failed(fs.ErrClosed)
	}
	w, err := l.file()
	if err != nil {
		return 0, l.out.Failed(err)
	}
	n, err := w.Write(p)
	if err != nil {
		err = l.out.Failed(err)
	}
	return n, err
}

// file returns what the text goes to.
func (l *Live) file() (io.Writer, error) {
	if l.out.special {
		return l.out.tmp, nil
	}
	if l.text == nil {
		f, err := os.OpenFile(l.out.place, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o666)
		if err != nil {
			return nil, err
		}
		l.text = f
	}
	return l.text, nil
}

// Finish puts the text in order; only the first call does anything, and none of a nil
// Live does. Without a write the path stays as it was. If it fails, with ErrWrite, the
// file has the text in order of arrival.
func (l *Live) Finish() error {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return nil
	}
	l.ended = true
	if l.out.special {
		return l.out.Commit()
	}
	if l.text == nil {
		return nil
	}
	ordered, err := Create(l.out.path)
	if err != nil {
		return errors.Join(err, l.text.Close())
	}
	defer ordered.Discard()
	if _, err = l.text.Seek(0, io.SeekStart); err == nil {
		err = l.order(l.text, ordered)
	}
	if err = errors.Join(err, l.text.Close()); err != nil {
		return l.out.Failed(err)
	}
	return ordered.Commit()
}
