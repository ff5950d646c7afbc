package serve_test

import (
	"context"
	"io"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/boards/serve"
	"github.com/hilgpu/hilgpu/bus/bustest"
)

// echoBytes is the number of bytes per direction that a register read takes on
// the line, framing and acknowledgements included.
const echoBytes = 20

// echo returns a loopback connection whose other end echoes its input.
func echo(b *testing.B) net.Conn {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(b, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		for p := make([]byte, echoBytes); ; {
			if _, err := io.ReadFull(c, p); err != nil {
				return
			}
			if _, err := c.Write(p); err != nil {
				return
			}
		}
	}()
	c, err := net.Dial("tcp", l.Addr().String())
	require.NoError(b, err)
	b.Cleanup(func() {
		c.Close()
		l.Close()
		<-done
	})
	return c
}

func median(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}

// BenchmarkRegisterRead alternates register reads over TCP on loopback with
// echoes of the same number of bytes. It reports both medians and their ratio.
func BenchmarkRegisterRead(b *testing.B) {
	l, err := serve.ListenTCP("127.0.0.1:0")
	require.NoError(b, err)
	board, err := serve.New(bustest.NewDevice(bustest.DeviceOptions{}), serve.Options{})
	require.NoError(b, err)
	ctx, cancel := context.WithCancel(b.Context())
	ended := make(chan error)
	go func() { ended <- l.Serve(ctx, board) }()
	b.Cleanup(func() { cancel(); <-ended })
	conn, err := net.Dial("tcp", l.Selector()[len("tcp:"):])
	require.NoError(b, err)
	link, err := connect(conn, bustest.NewHost(4096))
	require.NoError(b, err)
	require.NoError(b, bustest.Enumerate(link))
	bare := echo(b)

	var reads, echoes []time.Duration
	p, q := make([]byte, 4), make([]byte, echoBytes)
	for b.Loop() {
		for range 3000 {
			t0 := time.Now()
			if err := link.Read(0, bustest.RegMagic, p); err != nil {
				b.Fatal(err)
			}
			t1 := time.Now()
			if _, err := bare.Write(q); err != nil {
				b.Fatal(err)
			}
			if _, err := io.ReadFull(bare, q); err != nil {
				b.Fatal(err)
			}
			reads, echoes = append(reads, t1.Sub(t0)), append(echoes, time.Since(t1))
		}
	}
	r, e := median(reads), median(echoes)
	ratio := float64(r) / float64(e)
	b.ReportMetric(float64(r), "read-ns")
	b.ReportMetric(float64(e), "echo-ns")
	bustest.Figure(b, "register read over TCP, median", ratio, "x echo", ratio <= 1.5, "at most 1.5")
	require.NoError(b, link.Close())
}
