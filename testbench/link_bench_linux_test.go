package testbench_test

import (
	"encoding/binary"
	"net"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/hilgpu/hilgpu/bus/bustest"
	"github.com/hilgpu/hilgpu/bus/ether"
	"github.com/hilgpu/hilgpu/bus/ether/ethertest"
)

// BenchmarkBulkEthernet is BenchmarkBulk on raw Ethernet, on a pair of virtual
// interfaces.
func BenchmarkBulkEthernet(b *testing.B) {
	ethertest.RunBenchmark(b, func(b *testing.B, n *ethertest.Net) {
		for _, m := range []medium{{"eth, MTU 1500", 1498, 1024, false, pairEther(n), bareEther(n)}, {"eth, MTU 9000", 8998, 4096, false, pairEther(n), bareEther(n)}} {
			n.SetMTU(b, m.datagram+2)
			b.Run(m.name, m.measure)
		}
	})
}

// BenchmarkEthernetRead alternates register reads with echoes of the same number of bytes
// on raw Ethernet, and reports the ratio of the medians. The board answers at once.
func BenchmarkEthernetRead(b *testing.B) {
	ethertest.RunBenchmark(b, func(b *testing.B, n *ethertest.Net) {
		m := medium{"eth", 1498, 128, false, pairEther(n), bareEther(n)}
		r := m.open(b)
		near, far := m.bare(b)
		for b.Loop() {
			r.compareReads(b, near, far)
		}
		near.Close()
		far.Close()
		r.close()
	})
}

// Sizes in bytes of the datagrams of a register read.
const askBytes, answerBytes = 22, 22

// compareReads measures register reads, and echoes.
func (r *rig) compareReads(b *testing.B, near, far conn) {
	go func() {
		p := make([]byte, 2048)
		for {
			if _, err := far.Read(p); err != nil {
				return // closed
			}
			if _, err := far.Write(p[:answerBytes]); err != nil {
				return
			}
		}
	}()
	var reads, echoes []float64
	p := make([]byte, 2048)
	for range 5000 {
		t0 := time.Now()
		require.NoError(b, r.link.Read(2, 0, p[:4]))
		t1 := time.Now()
		_, err := near.Write(p[:askBytes])
		require.NoError(b, err)
		_, err = near.Read(p)
		require.NoError(b, err)
		reads, echoes = append(reads, float64(t1.Sub(t0))), append(echoes, float64(time.Since(t1)))
	}
	x, y := middle(reads), middle(echoes)
	b.Logf("eth: register read %.1f us, echo %.1f us", x/1e3, y/1e3)
	bustest.Figure(b, "register read over eth, median", x/y, "x echo", x/y <= 1.5, "at most 1.5")
}

// An etherConn is the datagrams from and to one address.
type etherConn struct {
	*ether.Socket
	to ether.MAC
}

// Read implements io.Reader.
func (e *etherConn) Read(p []byte) (int, error) {
	n, _, err := e.ReadFrom(p)
	return n, err
}

// Write implements io.Writer.
func (e *etherConn) Write(p []byte) (int, error) { return len(p), e.WriteTo(p, e.to) }

// pairEther returns a function that opens a socket in each namespace.
func pairEther(n *ethertest.Net) func(b *testing.B) (near, far conn) {
	return func(b *testing.B) (near, far conn) {
		open := func(name, peer string) conn {
			s, err := ether.Open(name, ether.Link, 0, 1<<20)
			require.NoError(b, err)
			to, err := ether.ParseMAC(peer)
			require.NoError(b, err)
			return &etherConn{Socket: s, to: to}
		}
		n.Board(b, func() { far = open(ethertest.BoardInterface, ethertest.HostMAC) })
		return open(ethertest.HostInterface, ethertest.BoardMAC), far
	}
}

// A bareConn is an AF_PACKET socket without the code of package ether.
type bareConn struct {
	*os.File
	frame []byte // of Write, with its header
	in    []byte // of Read, with its header
}

// Write implements io.Writer.
func (c *bareConn) Write(p []byte) (int, error) {
	c.frame = append(c.frame[:headerBytes], p...)
	n, err := c.File.Write(c.frame)
	return n - headerBytes, err
}

// Read implements io.Reader. It leaves out the header of the frame.
func (c *bareConn) Read(p []byte) (int, error) {
	n, err := c.File.Read(c.in)
	return copy(p, c.in[min(n, headerBytes):n]), err
}

// headerBytes is the size of the header of a frame.
const headerBytes = 14

// bareEther returns a function that opens a bare socket in each namespace.
func bareEther(n *ethertest.Net) func(b *testing.B) (near, far conn) {
	return func(b *testing.B) (near, far conn) {
		n.Board(b, func() { far = openBare(b, ethertest.BoardInterface, ethertest.BoardMAC, ethertest.HostMAC) })
		return openBare(b, ethertest.HostInterface, ethertest.HostMAC, ethertest.BoardMAC), far
	}
}

func openBare(b *testing.B, name, from, to string) conn {
	const etherType = 0x88b6
	at, err := net.InterfaceByName(name)
	require.NoError(b, err)
	proto := uint16(etherType&0xff<<8 | etherType>>8)
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, int(proto))
	require.NoError(b, err)
	require.NoError(b, unix.Bind(fd, &unix.SockaddrLinklayer{Ifindex: at.Index, Protocol: proto}))
	require.NoError(b, unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, 1<<20))
	x, err := ether.ParseMAC(to)
	require.NoError(b, err)
	y, err := ether.ParseMAC(from)
	require.NoError(b, err)
	return &bareConn{
		File:  os.NewFile(uintptr(fd), name),
		frame: binary.BigEndian.AppendUint16(append(x[:], y[:]...), etherType),
		in:    make([]byte, headerBytes+largestDatagram),
	}
}
