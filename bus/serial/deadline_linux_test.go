package serial

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A deadline ends a Read, also one in progress, at both ends of a pseudo-terminal. Bytes
// that arrive before it are read.
func TestReadDeadline(t *testing.T) {
	pty, err := ListenPty("")
	require.NoError(t, err)
	defer pty.Close()
	port, err := Open(pty.Path(), Options{})
	require.NoError(t, err)
	defer port.Close()
	type end interface {
		Read(p []byte) (int, error)
		Write(p []byte) (int, error)
		SetReadDeadline(t time.Time) error
	}
	for _, tt := range []struct{ near, far end }{{port, pty}, {pty, port}} {
		p := make([]byte, 8)
		n, err := tt.near.Read(p)
		require.NoError(t, err, "a tenth of a second without a deadline")
		require.Zero(t, n)
		require.NoError(t, tt.near.SetReadDeadline(time.Now().Add(time.Hour)))
		_, err = tt.far.Write([]byte("ready"))
		require.NoError(t, err)
		n, err = tt.near.Read(p)
		require.NoError(t, err)
		assert.Equal(t, "ready", string(p[:n]))
		ended := make(chan error)
		go func() {
			_, err := tt.near.Read(make([]byte, 8))
			ended <- err
		}()
		select {
		case err := <-ended:
			t.Fatalf("ended before the deadline: %v", err)
		case <-time.After(2 * readTime):
		}
		require.NoError(t, tt.near.SetReadDeadline(time.Unix(1, 0)))
		require.ErrorIs(t, <-ended, os.ErrDeadlineExceeded)
	}
	require.NoError(t, pty.SetReadDeadline(time.Time{}))
	_, err = pty.Read(make([]byte, 8))
	assert.NoError(t, err, "times out again")
}
