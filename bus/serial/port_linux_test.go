package serial

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// soon is the longest acceptable wait for an error, on a busy machine.
const soon = 900 * time.Millisecond

func listen(t *testing.T, path string) *Pty {
	p, err := ListenPty(path)
	require.NoError(t, err)
	t.Cleanup(func() { p.Close() })
	return p
}

// each runs a test with both libraries.
func each(t *testing.T, test func(t *testing.T, opt Options)) {
	for _, driver := range []string{BugSt, Tarm} {
		t.Run(driver, func(t *testing.T) { test(t, Options{Driver: driver}) })
	}
}

// fill reads until p is full.
func fill(r io.Reader, p []byte) error {
	end := time.Now().Add(5 * time.Second)
	for n := 0; n < len(p); {
		m, err := r.Read(p[n:])
		if n += m; err != nil {
			return err
		}
		if time.Now().After(end) {
			return os.ErrDeadlineExceeded
		}
	}
	return nil
}

// Every byte passes unchanged, in both directions at once.
func TestBytes(t *testing.T) {
	each(t, func(t *testing.T, opt Options) {
		board := listen(t, "")
		host, err := Open(board.Path(), opt)
		require.NoError(t, err)
		defer host.Close()
		sent := make([]byte, 64<<10)
		rng := rand.New(rand.NewPCG(1, 2))
		for i := range sent {
			sent[i] = byte(rng.Uint32())
		}
		done := make(chan error, 3)
		var got [2][]byte
		for i, end := range []io.ReadWriter{host, board} {
			got[i] = make([]byte, len(sent))
			go func() { done <- fill(end, got[i]) }()
		}
		go func() {
			_, err := board.Write(sent)
			done <- err
		}()
		n, err := host.Write(sent)
		require.NoError(t, err)
		assert.Equal(t, len(sent), n)
		for range 3 {
			require.NoError(t, <-done)
		}
		assert.True(t, bytes.Equal(sent, got[0]), "to the host")
		assert.True(t, bytes.Equal(sent, got[1]), "to the board")
	})
}

func TestReadTimesOut(t *testing.T) {
	each(t, func(t *testing.T, opt Options) {
		board := listen(t, "")
		host, err := Open(board.Path(), opt)
		require.NoError(t, err)
		defer host.Close()
		start := time.Now()
		n, err := host.Read(make([]byte, 10))
		assert.Zero(t, n)
		assert.NoError(t, err)
		assert.GreaterOrEqual(t, time.Since(start), readTime*9/10)
		assert.Less(t, time.Since(start), soon)
		n, err = host.Read(nil)
		assert.Zero(t, n)
		assert.NoError(t, err)
	})
}

// Unplugging the adapter makes Read and Write fail in well under a second, and
// not with a time-out.
func TestUnplug(t *testing.T) {
	each(t, func(t *testing.T, opt Options) {
		board := listen(t, "")
		host, err := Open(board.Path(), opt)
		require.NoError(t, err)
		defer host.Close()
		failed := make(chan error)
		go func() {
			for {
				if _, err := host.Read(make([]byte, 10)); err != nil {
					failed <- err
					return
				}
			}
		}()
		time.Sleep(150 * time.Millisecond)
		start := time.Now()
		require.NoError(t, board.Close())
		assert.ErrorIs(t, <-failed, ErrUnplugged)
		assert.Less(t, time.Since(start), soon)
		_, err = host.Read(make([]byte, 10))
		assert.ErrorIs(t, err, ErrUnplugged, "also for a later Read")
		_, err = host.Write([]byte{1})
		assert.ErrorIs(t, err, ErrUnplugged)
		assert.ErrorIs(t, host.SetBaud(9600), ErrUnplugged)
		assert.NoError(t, host.Close())
	})
}

func TestCloseEndsReadAndWrite(t *testing.T) {
	each(t, func(t *testing.T, opt Options) {
		board := listen(t, "")
		host, err := Open(board.Path(), opt)
		require.NoError(t, err)
		failed := make(chan error)
		go func() {
			for {
				if _, err := host.Read(make([]byte, 10)); err != nil {
					failed <- err
					return
				}
			}
		}()
		go func() {
			_, err := host.Write(make([]byte, 1<<20)) // not read by the other side
			failed <- err
		}()
		time.Sleep(50 * time.Millisecond)
		start := time.Now()
		require.NoError(t, host.Close())
		for range 2 {
			assert.ErrorIs(t, <-failed, os.ErrClosed)
		}
		assert.Less(t, time.Since(start), soon)
		assert.NoError(t, host.Close())
		assert.ErrorIs(t, host.SetBaud(9600), os.ErrClosed)
	})
}

func TestWriteDeadline(t *testing.T) {
	each(t, func(t *testing.T, opt Options) {
		board := listen(t, "")
		host, err := Open(board.Path(), opt)
		require.NoError(t, err)
		defer host.Close()
		require.NoError(t, host.SetWriteDeadline(time.Now().Add(50*time.Millisecond)))
		start := time.Now()
		n, err := host.Write(make([]byte, 1<<20))
		assert.ErrorIs(t, err, os.ErrDeadlineExceeded)
		assert.Less(t, time.Since(start), soon)
		assert.Positive(t, n)
		require.NoError(t, host.SetWriteDeadline(time.Time{}))
		require.NoError(t, fill(board, make([]byte, n)))
		_, err = host.Write([]byte("x"))
		assert.NoError(t, err)
	})
}

func TestSetBaud(t *testing.T) {
	each(t, func(t *testing.T, opt Options) {
		board := listen(t, "")
		opt.Baud = 9600
		host, err := Open(board.Path(), opt)
		require.NoError(t, err)
		defer host.Close()
		speed := func() uint32 {
			s, err := unix.IoctlGetTermios(host.fd, unix.TCGETS2)
			require.NoError(t, err)
			return s.Ospeed
		}
		assert.Equal(t, uint32(9600), speed())
		require.NoError(t, host.SetBaud(3_000_000))
		assert.Equal(t, uint32(3_000_000), speed())
		_, err = host.Write([]byte("after"))
		require.NoError(t, err)
		got := make([]byte, 5)
		require.NoError(t, fill(board, got))
		assert.Equal(t, "after", string(got))
		_, err = board.Write([]byte("ok"))
		require.NoError(t, err)
		require.NoError(t, fill(host, got[:2]))

		assert.ErrorIs(t, host.SetBaud(12), ErrRate)
		err = host.SetBaud(1_234_567)
		if opt.Driver == Tarm {
			assert.ErrorIs(t, err, ErrRate, "tarm supports only the standard rates")
			assert.Equal(t, uint32(3_000_000), speed())
		} else {
			assert.NoError(t, err)
			assert.Equal(t, uint32(1_234_567), speed())
		}
	})
}

func TestOpenErrors(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	for _, tt := range []struct {
		name, path string
		opt        Options
		want       error
		text       string
	}{
		{"missing", filepath.Join(dir, "none"), Options{}, ErrMissing, filepath.Join(dir, "none") + ": plug the board in"},
		{"a file", file, Options{}, ErrNotPort, file},
		{"no terminal", "/dev/null", Options{}, ErrNotPort, "/dev/null"},
		{"no driver", file, Options{Driver: "x"}, ErrOption, `"x", want bugst or tarm`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Open(tt.path, tt.opt)
			require.ErrorIs(t, err, tt.want)
			assert.ErrorContains(t, err, tt.text)
			assert.NotContains(t, err.Error(), "\n")
		})
	}
	each(t, func(t *testing.T, opt Options) {
		opt.Baud = 7
		_, err := Open(listen(t, "").Path(), opt)
		assert.ErrorIs(t, err, ErrRate)
	})
	assert.ErrorIs(t, claimError("/dev/ttyS9", unix.EIO), ErrMissing)
	assert.ErrorIs(t, claimError("/dev/ttyS9", unix.EBUSY), errMarked)
	assert.ErrorIs(t, claimError("/dev/ttyS9", unix.EACCES), ErrForbidden)
	assert.ErrorContains(t, forbidden(filepath.Join(dir, "none")), "none: add your user to group dialout")
	for _, err := range []error{unix.EACCES, unix.EBUSY} {
		err = openError(file, 9600, err)
		assert.True(t, errors.Is(err, ErrForbidden) || errors.Is(err, ErrBusy), err)
	}
}

// Input left by the previous host is not read by the next one.
func TestStaleInput(t *testing.T) {
	each(t, func(t *testing.T, opt Options) {
		board := listen(t, "")
		host, err := Open(board.Path(), opt)
		require.NoError(t, err)
		_, err = board.Write([]byte("stale"))
		require.NoError(t, err)
		require.NoError(t, host.Close())
		host, err = Open(board.Path(), opt)
		require.NoError(t, err)
		defer host.Close()
		_, err = board.Write([]byte("fresh"))
		require.NoError(t, err)
		got := make([]byte, 5)
		require.NoError(t, fill(host, got))
		assert.Equal(t, "fresh", string(got))
	})
}
