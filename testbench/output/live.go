package output

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"sync"
)

// A Live file is written immediately, so that a run that hangs or is killed leaves
// its output so far. Finish sorts the text. A pipe or a device keeps the order of
// arrival. Its methods may be called from several goroutines.
type Live struct {
	out   *File // destination of the sorted text
	order func(r io.Reader, w io.Writer) error

	mu    sync.Mutex
	text  *os.File // the live file, nil before the first write
	ended bool
}

// NewLive returns a live file in place of out, which it owns. It creates the file
// at the first write. order must copy the written text from r to w, sorted; nil: the
// order of arrival is kept.
func NewLive(out *File, order func(r io.Reader, w io.Writer) error) *Live {
	if !out.special {
		out.Discard() // Finish creates it again, so that a killed run leaves only one file
	}
	return &Live{out: out, order: order}
}

// Write implements io.Writer. It fails with ErrWrite, also after Finish.
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

// file returns the destination of the text.
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

// Finish sorts the text. Only the first call has an effect, and none on a nil Live.
// Without a write, the file at the path is unchanged. If Finish fails, with
// ErrWrite, the file holds the text in order of arrival.
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
	if l.order == nil {
		return l.text.Close()
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
