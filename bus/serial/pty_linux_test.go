package serial

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/bus/channel"
	"github.com/hilgpu/hilgpu/bus/datalink"
	"github.com/hilgpu/hilgpu/bus/frame"
)

// A pseudo-terminal outlives its hosts and does not spin between them. Bytes
// written without a host are lost.
func TestPtyWaits(t *testing.T) {
	board := listen(t, "")
	host, err := Open(board.Path(), Options{})
	require.NoError(t, err)
	require.NoError(t, host.Close())
	for range 3 {
		start := time.Now()
		n, err := board.Read(make([]byte, 10))
		require.NoError(t, err)
		require.Zero(t, n)
		assert.GreaterOrEqual(t, time.Since(start), idle)
	}
	n, err := board.Write(make([]byte, 1<<20))
	require.NoError(t, err)
	assert.Equal(t, 1<<20, n)
	host, err = Open(board.Path(), Options{})
	require.NoError(t, err)
	defer host.Close()
	_, err = host.Write([]byte("again"))
	require.NoError(t, err)
	got := make([]byte, 5)
	require.NoError(t, fill(board, got))
	assert.Equal(t, "again", string(got))
}

func TestPtyClose(t *testing.T) {
	board := listen(t, "")
	for _, opened := range []bool{false, true} {
		if opened {
			board = listen(t, "")
			host, err := Open(board.Path(), Options{})
			require.NoError(t, err)
			require.NoError(t, host.Close())
		}
		failed := make(chan error)
		go func() {
			for {
				if _, err := board.Read(make([]byte, 10)); err != nil {
					failed <- err
					return
				}
			}
		}()
		time.Sleep(30 * time.Millisecond)
		require.NoError(t, board.Close())
		assert.ErrorIs(t, <-failed, os.ErrClosed)
		require.NoError(t, board.Close())
		assert.NoError(t, board.SetBaud(1))
	}
}

// A host that has the port open but does not read stalls the board's Write,
// until a deadline or Close.
func TestPtyWriteEnds(t *testing.T) {
	board := listen(t, "")
	host, err := Open(board.Path(), Options{})
	require.NoError(t, err)
	defer host.Close()
	require.NoError(t, board.SetWriteDeadline(time.Now().Add(50*time.Millisecond)))
	start := time.Now()
	n, err := board.Write(make([]byte, 1<<20))
	assert.ErrorIs(t, err, os.ErrDeadlineExceeded)
	assert.Less(t, n, 1<<20)
	assert.Less(t, time.Since(start), soon)
	require.NoError(t, board.SetWriteDeadline(time.Time{}))
	failed := make(chan error)
	go func() {
		_, err := board.Write(make([]byte, 1<<20))
		failed <- err
	}()
	time.Sleep(30 * time.Millisecond)
	require.NoError(t, board.Close())
	assert.ErrorIs(t, <-failed, os.ErrClosed)
	_, err = board.Write([]byte{1})
	assert.ErrorIs(t, err, os.ErrClosed)
}

func TestPtyLink(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "board")
	p, err := ListenPty(path)
	require.NoError(t, err)
	target, err := os.Readlink(path)
	require.NoError(t, err)
	assert.Regexp(t, `^/dev/pts/[0-9]+$`, target)
	_, err = ListenPty(path)
	require.ErrorContains(t, err, "in use")
	require.NoError(t, p.Close())
	_, err = os.Lstat(path)
	require.ErrorIs(t, err, os.ErrNotExist)

	require.NoError(t, os.Symlink("/dev/pts/none", path))
	p, err = ListenPty(path)
	require.NoError(t, err, "a dangling link is replaced")
	require.NoError(t, linkTo(path, p.slave), "and so is our own")
	require.NoError(t, os.Remove(path))
	require.NoError(t, os.WriteFile(path, []byte("kept"), 0o600))
	require.NoError(t, p.Close())
	_, err = ListenPty(path)
	require.ErrorContains(t, err, "not a link")
	kept, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, "kept", string(kept))
	_, err = ListenPty(filepath.Join(dir, "no", "board"))
	require.ErrorIs(t, err, os.ErrNotExist)
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, entries, 1)
}

// The link layer runs over a port and a pseudo-terminal, host after host, and
// detects that the board is unplugged.
func TestLink(t *testing.T) {
	each(t, func(t *testing.T, opt Options) {
		terminal := listen(t, "")
		board, err := channel.Open(terminal, channel.Config{Link: datalink.Config{Role: datalink.Board}})
		require.NoError(t, err)
		defer board.Close()
		packet := append([]byte{0x40, 0, 0, 1, 0, 0, 0, 15, 0xfe, 0, 0x10}, make([]byte, 5)...)
		for i := range 3 {
			port, err := Open(terminal.Path(), opt)
			require.NoError(t, err)
			host, err := channel.Open(port, channel.Config{})
			require.NoError(t, err)
			_, err = board.Receive(time.Second)
			if i > 0 && err == nil {
				_, err = board.Receive(time.Second) // the first reported the end of the session before
			}
			require.Equal(t, channel.ErrSession, err)
			require.NoError(t, host.Send(packet))
			got, err := board.Receive(time.Second)
			require.NoError(t, err)
			require.Equal(t, packet, got)
			if i < 2 {
				require.NoError(t, host.Close())
				continue
			}
			start := time.Now()
			require.NoError(t, board.Close())
			_, err = host.Receive(time.Second)
			assert.Error(t, err)
			assert.Less(t, time.Since(start), soon)
			require.NoError(t, host.Close())
		}
	})
}

// The protocol runs over a real pseudo-terminal, whose rate has no effect.
func TestBaudPty(t *testing.T) {
	each(t, func(t *testing.T, opt Options) {
		board := listen(t, "")
		host, err := Open(board.Path(), opt)
		require.NoError(t, err)
		defer host.Close()
		done := make(chan int)
		go func() {
			b, err := AnswerBaud(board, DefaultBaud, all, nil)
			assert.NoError(t, err)
			done <- b
		}()
		h, err := RaiseBaud(host, DefaultBaud, all, 0, nil)
		require.NoError(t, err)
		assert.Equal(t, 3_000_000, h)
		hello := append([]byte{0x50, 2}, make([]byte, 44)...)
		_, err = host.Write(new(frame.Encoder).Append(nil, hello))
		require.NoError(t, err)
		assert.Equal(t, 3_000_000, <-done)
	})
}
