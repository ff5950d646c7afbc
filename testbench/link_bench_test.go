package testbench_test

import (
	"encoding/binary"
	"io"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/boards/serve"
	"github.com/hilgpu/hilgpu/bus/bustest"
	"github.com/hilgpu/hilgpu/bus/channel"
	"github.com/hilgpu/hilgpu/bus/datalink"
	"github.com/hilgpu/hilgpu/bus/rootport"
)

// A conn is one end of a line.
type conn interface {
	io.ReadWriteCloser
	SetReadDeadline(t time.Time) error
}

// A medium is a kind of line for bulk transfers.
type medium struct {
	name     string
	datagram int  // size of the largest datagram; 0: a stream
	payload  int  // of a packet
	plain    bool // a link of small packets, see BenchmarkBulkTCP
	pair     func(b *testing.B) (near, far conn)
	bare     func(b *testing.B) (near, far conn) // the same for a bare sender
}

// BenchmarkBulk compares bulk transfers over UDP on loopback with a bare sender of the
// same datagrams and the same window. The board answers at once.
func BenchmarkBulk(b *testing.B) {
	for _, m := range []medium{
		{"udp, MTU 1500", 1452, 1024, false, pairUDP, pairUDP},
		{"udp, MTU 9000", 8952, 4096, false, pairUDP, pairUDP},
	} {
		b.Run(m.name, m.measure)
	}
}

// BenchmarkBulkTCP compares bulk transfers over TCP with those of a plain link in the
// same run: packets of 128 bytes, eight tags, a window of 64 packets, one to a frame, a write to the
// stream after each packet, and reads and writes of at most 4 KiB.
func BenchmarkBulkTCP(b *testing.B) {
	m := medium{"tcp", 0, serve.TCPPayload, false, pairTCP, nil}
	small := medium{"tcp, plain", 0, 128, true, pairTCP, nil}
	rig, plain := m.open(b), small.open(b)
	for b.Loop() {
		for _, k := range bulks() {
			rig.board.own.Store(int64(k.request(m.payload)))
			plain.board.own.Store(int64(k.request(small.payload)))
			var rates, ratios []float64
			for range rounds {
				took := k.move(rig).Seconds()
				rates = append(rates, bulkBytes/took/1e6)
				ratios = append(ratios, k.move(plain).Seconds()/took)
			}
			b.Logf("%-34s %10.1f MB/s", k.name+" over tcp, median", middle(rates))
			k.report(b, "tcp", middle(ratios), "x plain", 5)
		}
	}
	rig.close()
	plain.close()
}

// smallest is the size of the largest read and write of a plain link, in bytes.
const smallest = 4096

// A pieces is an end of a line that moves few bytes at a time.
type pieces struct{ conn }

// Read implements io.Reader.
func (c pieces) Read(p []byte) (int, error) { return c.conn.Read(p[:min(len(p), smallest)]) }

// Write implements io.Writer.
func (c pieces) Write(p []byte) (n int, err error) {
	for n < len(p) && err == nil {
		var some int
		some, err = c.conn.Write(p[n:min(len(p), n+smallest)])
		n += some
	}
	return n, err
}

// A single is a port that writes each packet to the stream at once.
type single struct{ rootport.Port }

// Send implements rootport.Port.
func (s single) Send(packet []byte) error {
	err := s.Port.Send(packet)
	s.Flush()
	return err
}

// pairTCP returns both ends of a connection on loopback.
func pairTCP(b *testing.B) (near, far conn) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(b, err)
	defer l.Close()
	x, err := net.Dial("tcp", l.Addr().String())
	require.NoError(b, err)
	y, err := l.Accept()
	require.NoError(b, err)
	return x.(*net.TCPConn), y.(*net.TCPConn)
}

// pairUDP returns two connected sockets on loopback.
func pairUDP(b *testing.B) (near, far conn) {
	l, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	require.NoError(b, err)
	at := l.LocalAddr().(*net.UDPAddr)
	y, err := net.DialUDP("udp", nil, at)
	require.NoError(b, err)
	require.NoError(b, l.Close())
	x, err := net.DialUDP("udp", at, y.LocalAddr().(*net.UDPAddr))
	require.NoError(b, err)
	for _, c := range []*net.UDPConn{x, y} {
		require.NoError(b, c.SetReadBuffer(1<<20))
		require.NoError(b, c.SetWriteBuffer(1<<20))
	}
	return x, y
}

const (
	bulkBytes = 16 << 20 // of one transfer
	bulkPiece = 1 << 20  // of one call, and the memory of the host
	rounds    = 9        // of each kind

	// linkWindow is the most that a link has in flight on such a path, in bytes.
	linkWindow = 256 << 10

	// linkAck and linkAckBytes are the most frames, and bytes, that a link does not
	// acknowledge at once. A datagram has one frame, unless its packets are large.
	linkAck      = 32
	linkAckBytes = 64 << 10
)

// recorded records the sizes of the datagrams that are written.
type recorded struct {
	conn
	mu    sync.Mutex // guards sizes
	sizes []int
}

// Write implements io.Writer.
func (c *recorded) Write(p []byte) (int, error) {
	c.mu.Lock()
	c.sizes = append(c.sizes, len(p))
	c.mu.Unlock()
	return c.conn.Write(p)
}

// take returns the sizes since the last call.
func (c *recorded) take() []int {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := c.sizes
	c.sizes = make([]int, 0, len(all)+1)
	return all
}

// SetWriteDeadline sets the end of Write, where that can wait.
func (c *recorded) SetWriteDeadline(t time.Time) error {
	if s, ok := c.conn.(interface{ SetWriteDeadline(time.Time) error }); ok {
		return s.SetWriteDeadline(t)
	}
	return nil
}

// A rig is a host, a board that answers at once, and the line between them.
type rig struct {
	b         *testing.B
	near, far *recorded
	board     *fastBoard
	link      *rootport.RootPort
	host      *bustest.Host
	memory    []byte // of the program
	ended     chan error
}

func (m *medium) open(b *testing.B) *rig {
	near, far := m.pair(b)
	if m.plain {
		near, far = pieces{near}, pieces{far}
	}
	r := &rig{b: b, near: &recorded{conn: near}, far: &recorded{conn: far}, host: bustest.NewHost(bulkPiece), memory: pattern(bulkPiece), ended: make(chan error, 1)}
	config := func(role datalink.Role) channel.Config {
		c := channel.Config{Link: datalink.Config{Role: role}}
		if m.datagram > 0 {
			c.SetDatagram(m.datagram)
		} else if m.plain {
			c.Link.Window, c.Link.Bundle = 64, -1
		} else {
			c.Link.MaxPacket = serve.TCPPacket
		}
		return c
	}
	ch, err := channel.Open(r.far, config(datalink.Board))
	require.NoError(b, err)
	r.board = &fastBoard{ch: ch, payload: m.payload, single: m.plain}
	go func() { r.ended <- r.board.run() }()
	opt := rootport.Options{ServeAlways: true, MaxPayload: 4096, MaxReadRequest: 4096, Tags: 32}
	if m.datagram == 0 {
		opt.MaxPayload, opt.MaxReadRequest = serve.TCPPayload, serve.TCPPayload
	}
	if m.plain {
		opt.MaxPayload, opt.MaxReadRequest, opt.Tags = 128, 128, 8
	}
	r.link, err = rootport.New(func() (rootport.Port, error) {
		ch, err := channel.Open(r.near, config(datalink.Host))
		if err == nil && m.plain {
			return single{ch}, nil
		}
		return ch, err
	}, r.host, opt)
	require.NoError(b, err)
	require.NoError(b, bustest.Enumerate(r.link))
	return r
}

func (r *rig) close() {
	require.NoError(r.b, r.link.Close())
	require.ErrorIs(r.b, <-r.ended, errOver)
}

// timed returns the time that n calls of do take.
func (r *rig) timed(n int, do func() error) time.Duration {
	begun := time.Now()
	for range n {
		require.NoError(r.b, do())
	}
	return time.Since(begun)
}

func (r *rig) barWrites() time.Duration {
	last := make([]byte, 4)
	return r.timed(bulkBytes/bulkPiece, func() error { return r.link.Write(2, 0, r.memory) }) +
		r.timed(1, func() error { return r.link.Read(2, 0, last) })
}

func (r *rig) barReads() time.Duration {
	return r.timed(bulkBytes/bulkPiece, func() error { return r.link.Read(2, 0, r.memory) })
}

// dmaWrites and dmaReads make the board move all of it, and wait for its message.
func (r *rig) dmaWrites() time.Duration { return r.dma(bustest.JobWrite) }

func (r *rig) dmaReads() time.Duration { return r.dma(bustest.JobRead) }

func (r *rig) dma(job uint32) time.Duration {
	r.host.ForgetMessages()
	return r.timed(1, func() error {
		if err := r.link.Write(0, bustest.RegJob, binary.LittleEndian.AppendUint32(nil, job)); err != nil {
			return err
		}
		for len(r.host.Messages()) == 0 {
			if _, err := r.link.Wait(r.link.Now() + 10e9); err != nil {
				return err
			}
		}
		return nil
	})
}

// measure compares each kind of transfer with a bare sender.
func (m *medium) measure(b *testing.B) {
	r := m.open(b)
	near, far := m.bare(b)
	for b.Loop() {
		for _, k := range bulks() {
			m.compare(b, r, k, near, far)
		}
	}
	near.Close()
	far.Close()
	r.close()
}

// compare makes transfers and bare ones by turns.
func (m *medium) compare(b *testing.B, r *rig, k bulk, near, far conn) {
	r.board.own.Store(int64(k.request(m.payload)))
	from, to, sender, receiver := r.near, r.far, near, far
	if k.toHost {
		from, to, sender, receiver = r.far, r.near, far, near
	}
	k.move(r) // the window and the times of the link follow the path
	var ratios, rates []float64
	var size, acks int
	for range rounds {
		from.take()
		to.take()
		took := k.move(r)
		sizes := from.take()
		size, acks = mean(sizes), max(1, len(sizes)/max(1, len(to.take())))
		every := min(acks, linkAck, max(1, linkAckBytes/size))
		bare := bareSend(b, k.ends(r, sender, receiver), sizes, linkWindow/size, every)
		ratios = append(ratios, bare.Seconds()/took.Seconds())
		rates = append(rates, bulkBytes/took.Seconds()/1e6)
	}
	b.Logf("%s, %s: %.0f MB/s; datagrams of %d bytes, %d for each in return", m.name, k.name, middle(rates), size, acks)
	k.report(b, m.name, middle(ratios), "of bare", k.least)
}

func mean(all []int) int {
	sum := 0
	for _, n := range all {
		sum += n
	}
	return sum / len(all)
}

func middle(all []float64) float64 {
	slices.Sort(all)
	return all[len(all)/2]
}

// A bareEnds is a bare sender and a bare receiver, and where they take and store the data.
// On the host's side that is memory of bulkPiece bytes, as for the link. On the board's
// side it is one datagram, as the device of a fastBoard needs no time.
type bareEnds struct {
	sender, receiver conn
	source, sink     []byte
}

func (k *bulk) ends(r *rig, sender, receiver conn) *bareEnds {
	e := &bareEnds{sender, receiver, r.memory, make([]byte, largestDatagram)}
	if k.toHost {
		e.source, e.sink = e.sink, e.source
	}
	return e
}

// largestDatagram is the size in bytes of the largest datagram of any medium.
const largestDatagram = 9000

// part returns n bytes of memory, the ones at offset at or, if there are not enough, the
// first ones.
func part(memory []byte, at, n int) []byte {
	if at %= len(memory); at+n > len(memory) {
		at = 0
	}
	return memory[at : at+n]
}

// bareSend returns the time that datagrams of some sizes take. At most window of them, and
// linkWindow bytes, are not acknowledged. A short datagram acknowledges each every of them.
func bareSend(b *testing.B, e *bareEnds, sizes []int, window, every int) time.Duration {
	n := len(sizes)
	go func() {
		ack := make([]byte, 10)
		for i, at := 1, 0; i <= n; i++ {
			got, err := e.receiver.Read(part(e.sink, at, largestDatagram))
			if err != nil {
				return // the sender fails
			}
			at += got
			if i%every == 0 || i == n {
				binary.BigEndian.PutUint32(ack, uint32(i))
				e.receiver.Write(ack) // the sender fails
			}
		}
	}()
	ack := make([]byte, 10)
	begun := time.Now()
	require.NoError(b, e.sender.SetReadDeadline(begun.Add(20*time.Second)))
	for sent, acked, at, flying := 0, 0, 0, 0; acked < n; {
		if sent < n && sent-acked < window && flying+sizes[sent] <= linkWindow {
			_, err := e.sender.Write(part(e.source, at, sizes[sent]))
			require.NoError(b, err)
			at += sizes[sent]
			flying += sizes[sent]
			sent++
			continue
		}
		_, err := e.sender.Read(ack)
		require.NoError(b, err)
		for all := int(binary.BigEndian.Uint32(ack)); acked < all; acked++ {
			flying -= sizes[acked]
		}
	}
	return time.Since(begun)
}
