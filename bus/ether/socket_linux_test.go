package ether_test

import (
	"bytes"
	"net"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/hilgpu/hilgpu/bus/ether"
	"github.com/hilgpu/hilgpu/bus/ether/ethertest"
)

// TestSocket: datagrams of all sizes cross, the padding of short frames does not. The
// bytes on the line are those that the package comment describes.
func TestSocket(t *testing.T) {
	ethertest.Run(t, func(t *testing.T, n *ethertest.Net) {
		host, board := sockets(t, n, 0)
		assert.Equal(t, ethertest.HostMAC, host.MAC().String())
		assert.Equal(t, 1498, host.Largest())
		buf := make([]byte, 2000)
		for _, size := range []int{0, 1, 43, 44, 45, 59, 60, 1498} {
			p := bytes.Repeat([]byte{0xa5}, size)
			require.NoError(t, host.WriteTo(p, board.MAC()))
			got, from, err := board.ReadFrom(buf)
			require.NoError(t, err)
			assert.Equal(t, p, append([]byte{}, buf[:got]...))
			assert.Equal(t, host.MAC(), from)
		}
		require.Error(t, host.WriteTo(make([]byte, 1499), board.MAC()), "larger than the MTU")

		raw := rawSocket(t)
		require.NoError(t, unix.Sendto(raw, append([]byte("\x02\x00\x00\x00\x00\x02\x02\x00\x00\x00\x00\x01\x88\xb5\x00\x03abc"), make([]byte, 41)...), 0, address(t)))
		got, _, err := board.ReadFrom(buf)
		require.NoError(t, err)
		assert.Equal(t, "abc", string(buf[:got]))
		for _, bad := range []string{"\x88\xb5", "\x88\xb5\x00", "\x88\xb5\x00\x04abc", "\x88\xb5\xff\xffabc", "\x88\xb6\x00\x03abc", "\x08\x00\x00\x03abc"} {
			require.NoError(t, unix.Sendto(raw, []byte("\x02\x00\x00\x00\x00\x02\x02\x00\x00\x00\x00\x01"+bad), 0, address(t)))
		}
		require.NoError(t, host.WriteTo([]byte("next"), board.MAC()))
		got, _, err = board.ReadFrom(buf)
		require.NoError(t, err)
		assert.Equal(t, "next", string(buf[:got]), "frames without a datagram are skipped")
		require.NoError(t, board.SetReadDeadline(time.Now().Add(10*time.Millisecond)))
		_, _, err = board.ReadFrom(buf)
		assert.ErrorIs(t, err, os.ErrDeadlineExceeded)
		require.NoError(t, host.Close())
		assert.ErrorIs(t, host.WriteTo([]byte("late"), board.MAC()), net.ErrClosed)
	})
}

// TestInterfaceState: an interface that goes down loses frames, and works again when it
// is up. One that is down, and an MTU that it does not have, are refused.
func TestInterfaceState(t *testing.T) {
	ethertest.Run(t, func(t *testing.T, n *ethertest.Net) {
		host, board := sockets(t, n, 600)
		assert.Equal(t, 598, host.Largest())
		waiting := make(chan error, 1)
		go func() {
			_, _, err := board.ReadFrom(make([]byte, 10))
			waiting <- err
		}()
		n.SetUp(t, false)
		require.NoError(t, host.WriteTo([]byte("lost"), board.MAC()))
		_, err := ether.Open(ethertest.HostInterface, ether.Link, 0, 1<<16)
		assert.ErrorIs(t, err, ether.ErrDown)
		assert.ErrorContains(t, err, "ip link set host0 up")
		n.SetUp(t, true)
		require.Eventually(t, func() bool {
			require.NoError(t, host.WriteTo([]byte("again"), board.MAC()))
			select {
			case err := <-waiting:
				assert.NoError(t, err, "a read that began before")
				return true
			case <-time.After(10 * time.Millisecond):
				return false
			}
		}, 20*time.Second, time.Millisecond)
		buf := make([]byte, 2000)
		var got int
		require.Eventually(t, func() bool {
			require.NoError(t, host.WriteTo([]byte("there"), board.MAC()))
			require.NoError(t, board.SetReadDeadline(time.Now().Add(100*time.Millisecond)))
			got, _, err = board.ReadFrom(buf)
			return err == nil
		}, 20*time.Second, time.Millisecond)
		assert.Contains(t, []string{"there", "again"}, string(buf[:got]))
		for _, mtu := range []int{1501, 575} {
			_, err = ether.Open(ethertest.HostInterface, ether.Link, mtu, 1<<16)
			assert.ErrorIs(t, err, ether.ErrMTU)
			assert.ErrorContains(t, err, "want 576 to 1500, which host0 carries")
		}
	})
}

// sockets opens a socket at each end.
func sockets(t *testing.T, n *ethertest.Net, mtu int) (host, board *ether.Socket) {
	t.Helper()
	host, err := ether.Open(ethertest.HostInterface, ether.Link, mtu, 1<<16)
	require.NoError(t, err)
	t.Cleanup(func() { host.Close() })
	n.Board(t, func() { board, err = ether.Open(ethertest.BoardInterface, ether.Link, mtu, 1<<16) })
	require.NoError(t, err)
	t.Cleanup(func() { board.Close() })
	return host, board
}

// rawSocket returns a socket that sends frames with their header.
func rawSocket(t *testing.T) int {
	t.Helper()
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW, 0)
	require.NoError(t, err)
	t.Cleanup(func() { unix.Close(fd) })
	return fd
}

// address is that of the host's interface.
func address(t *testing.T) unix.Sockaddr {
	t.Helper()
	i, err := net.InterfaceByName(ethertest.HostInterface)
	require.NoError(t, err)
	return &unix.SockaddrLinklayer{Ifindex: i.Index}
}

// TestToUs: an interface in promiscuous mode receives frames for others; the socket does
// not.
func TestToUs(t *testing.T) {
	ethertest.Run(t, func(t *testing.T, n *ethertest.Net) {
		host, board := sockets(t, n, 0)
		n.SetPromiscuous(t)
		other := ether.MAC{2, 0, 0, 0, 0, 9}
		require.NoError(t, host.WriteTo([]byte("other"), other))
		require.NoError(t, host.WriteTo([]byte("all"), ether.Broadcast))
		require.NoError(t, host.WriteTo([]byte("us"), board.MAC()))
		for _, want := range []string{"all", "us"} {
			buf := make([]byte, 100)
			got, _, err := board.ReadFrom(buf)
			require.NoError(t, err)
			assert.Equal(t, want, string(buf[:got]))
		}
	})
}

// TestClaim: one socket at a time has a use of an interface.
func TestClaim(t *testing.T) {
	ethertest.Run(t, func(t *testing.T, n *ethertest.Net) {
		a, err := ether.Open(ethertest.HostInterface, ether.Link, 0, 1<<16)
		require.NoError(t, err)
		b, err := ether.Open(ethertest.HostInterface, ether.Link, 0, 1<<16)
		require.NoError(t, err)
		defer b.Close()
		require.NoError(t, a.Claim("a test"))
		err = b.Claim("a test")
		assert.ErrorIs(t, err, ether.ErrBusy)
		assert.ErrorContains(t, err, "another program uses host0 as a test")
		require.NoError(t, a.Close())
		require.NoError(t, b.Claim("a test"))
	})
}

// TestRemoved: the read on an interface that is removed ends.
func TestRemoved(t *testing.T) {
	ethertest.Run(t, func(t *testing.T, n *ethertest.Net) {
		_, board := sockets(t, n, 0)
		n.Remove(t)
		require.NoError(t, board.SetReadDeadline(time.Now().Add(20*time.Second)))
		_, _, err := board.ReadFrom(make([]byte, 10))
		assert.ErrorIs(t, err, ether.ErrInterface)
		assert.ErrorContains(t, err, "board0 was removed")
	})
}

// TestForbidden: without the privilege, the error names it and the command that gives it
// to this program.
func TestForbidden(t *testing.T) {
	ethertest.Run(t, func(t *testing.T, _ *ethertest.Net) {
		program, err := os.Executable()
		require.NoError(t, err)
		dropped, opened := make(chan error, 1), make(chan error, 1)
		go func() {
			runtime.LockOSThread() // without Unlock: the thread ends
			dropped <- dropRaw()
			_, err := ether.Open(ethertest.HostInterface, ether.Link, 0, 1<<16)
			opened <- err
		}()
		require.NoError(t, <-dropped)
		err = <-opened
		require.ErrorIs(t, err, ether.ErrForbidden)
		assert.Equal(t, "ether: not allowed at host0: the program needs CAP_NET_RAW: sudo setcap cap_net_raw+ep "+program, err.Error())
	})
}

// dropRaw takes CAP_NET_RAW from this thread, see capabilities(7).
func dropRaw() error {
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var sets [2]unix.CapUserData
	if err := unix.Capget(&head, &sets[0]); err != nil {
		return err
	}
	sets[0].Effective &^= 1 << unix.CAP_NET_RAW
	return unix.Capset(&head, &sets[0])
}
