package serve_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/boards/serve"
	"github.com/hilgpu/hilgpu/bus/bustest"
	"github.com/hilgpu/hilgpu/bus/channel"
	"github.com/hilgpu/hilgpu/bus/datalink"
	"github.com/hilgpu/hilgpu/bus/endpoint"
	"github.com/hilgpu/hilgpu/bus/rootport"
	"github.com/hilgpu/hilgpu/bus/tlp"
)

// A wired is a kind of line.
type wired struct {
	name     string
	limit    float64 // of a register read, in echoes
	datagram int     // size of the largest datagram; 0: a stream
	listen   func() (serve.Listener, error)
	dial     func(l serve.Listener) (io.ReadWriteCloser, error)
	pair     func(b *testing.B) (near, far io.ReadWriteCloser)
	bare     func(b *testing.B) (near, far io.ReadWriteCloser) // the same for an echo
}

// Sizes in bytes of a request and of an answer of a register read on the line, framing
// and acknowledgements included.
const askBytes, answerBytes = 13, 16

func wires() []wired {
	dial := func(network string) func(l serve.Listener) (io.ReadWriteCloser, error) {
		return func(l serve.Listener) (io.ReadWriteCloser, error) {
			return net.Dial(network, l.Selector()[len(network)+1:])
		}
	}
	return append([]wired{
		{"tcp", 1.4, 0, func() (serve.Listener, error) { return serve.ListenTCP("127.0.0.1:0") }, dial("tcp"), pairTCP, pairTCP},
		{"udp", 1.3, 1472, func() (serve.Listener, error) { return serve.ListenUDP("127.0.0.1:0") }, dial("udp"), pairUDP, pairUDP},
	}, wiresPty()...)
}

func pairTCP(b *testing.B) (near, far io.ReadWriteCloser) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(b, err)
	defer l.Close()
	near, err = net.Dial("tcp", l.Addr().String())
	require.NoError(b, err)
	far, err = l.Accept()
	require.NoError(b, err)
	return near, far
}

func pairUDP(b *testing.B) (near, far io.ReadWriteCloser) {
	l, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	require.NoError(b, err)
	at := l.LocalAddr().(*net.UDPAddr)
	y, err := net.DialUDP("udp", nil, at)
	require.NoError(b, err)
	require.NoError(b, l.Close())
	x, err := net.DialUDP("udp", at, y.LocalAddr().(*net.UDPAddr))
	require.NoError(b, err)
	return x, y
}

// echo answers each askBytes bytes with answerBytes bytes.
func echo(c io.ReadWriter) {
	p, q := make([]byte, askBytes), make([]byte, answerBytes)
	for {
		if _, err := io.ReadFull(c, p); err != nil {
			return
		}
		if _, err := c.Write(q); err != nil {
			return
		}
	}
}

// answer is a board whose device needs no time: it answers reads of memory at once, and
// leaves other packets to an endpoint.
func answer(ch *channel.Channel) error {
	end, err := endpoint.New(bustest.NewDevice(bustest.DeviceOptions{}), endpoint.Options{})
	if err != nil {
		return err
	}
	var in tlp.Packet
	var reply []byte
	for {
		p, err := ch.Receive(time.Second)
		switch {
		case err == channel.ErrSession || err == nil && p == nil:
			continue
		case err != nil:
			return err
		case in.Decode(p) == nil && in.Kind == tlp.MRd32:
			out := tlp.Packet{
				Kind: tlp.CplD, Len: 1, Completer: 0x100, Requester: in.Requester, Tag: in.Tag,
				ByteCount: 4, Lower: tlp.LowerAddress(in.Addr, in.First), Data: []byte{1, 2, 3, 4},
			}
			if reply, err = out.Append(reply[:0]); err == nil {
				err = ch.Send(reply)
			}
			if err != nil {
				return err
			}
			continue
		}
		end.Receive(p)
		end.Run(100)
		for p, ok := end.Next(); ok; p, ok = end.Next() {
			ch.Send(p)
		}
	}
}

func median(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}

// BenchmarkRegisterRead alternates register reads with echoes of the same number of
// bytes, on each kind of line. It reports the ratio of the medians: for a board that
// answers at once, and for a served device.
func BenchmarkRegisterRead(b *testing.B) {
	for _, w := range wires() {
		b.Run(w.name, w.measure)
		b.Run(w.name+"/served", w.measureServed)
	}
}

func (w *wired) measure(b *testing.B) {
	near, far := w.pair(b)
	ch, err := channel.Open(far, channel.Config{Link: datalink.Config{Role: datalink.Board}, Datagram: w.datagram})
	require.NoError(b, err)
	ended := make(chan error)
	go func() { ended <- answer(ch) }()
	b.Cleanup(func() { ch.Close(); <-ended })
	w.compare(b, near, "register read over "+w.name, w.limit)
}

func (w *wired) measureServed(b *testing.B) {
	l, err := w.listen()
	require.NoError(b, err)
	board, err := serve.New(bustest.NewDevice(bustest.DeviceOptions{}), serve.Options{})
	require.NoError(b, err)
	ctx, cancel := context.WithCancel(b.Context())
	ended := make(chan error)
	go func() { ended <- l.Serve(ctx, board) }()
	b.Cleanup(func() { cancel(); <-ended })
	near, err := w.dial(l)
	require.NoError(b, err)
	w.compare(b, near, "the same, served", 2)
}

// compare measures register reads of a host on a stream, and echoes.
func (w *wired) compare(b *testing.B, stream io.ReadWriteCloser, what string, limit float64) {
	link, err := rootport.New(func() (rootport.Port, error) {
		return channel.Open(stream, channel.Config{Datagram: w.datagram})
	}, bustest.NewHost(4096), rootport.Options{})
	require.NoError(b, err)
	require.NoError(b, bustest.Enumerate(link))
	near, far := w.bare(b)
	go echo(far)
	b.Cleanup(func() { near.Close(); far.Close() })

	var reads, echoes []time.Duration
	p, ask, answer := make([]byte, 4), make([]byte, askBytes), make([]byte, answerBytes)
	for b.Loop() {
		for range 3000 {
			t0 := time.Now()
			if err := link.Read(0, bustest.RegMagic, p); err != nil {
				b.Fatal(err)
			}
			t1 := time.Now()
			if _, err := near.Write(ask); err != nil {
				b.Fatal(err)
			}
			if _, err := io.ReadFull(near, answer); err != nil {
				b.Fatal(err)
			}
			reads, echoes = append(reads, t1.Sub(t0)), append(echoes, time.Since(t1))
		}
	}
	r, e := median(reads), median(echoes)
	ratio := float64(r) / float64(e)
	b.ReportMetric(float64(r), "read-ns")
	b.ReportMetric(float64(e), "echo-ns")
	bustest.Figure(b, what+", median", ratio, "x echo", ratio <= limit, fmt.Sprintf("at most %.1f", limit))
	require.NoError(b, link.Close())
}
