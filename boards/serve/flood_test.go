package serve_test

import (
	"encoding/binary"
	"net"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/boards/serve"
	"github.com/hilgpu/hilgpu/bus/bustest"
	"github.com/hilgpu/hilgpu/bus/datalink"
	"github.com/hilgpu/hilgpu/bus/fault"
)

// A helloFlood is the hellos of many addresses to a board, at a rate that does not depend on
// its answers.
type helloFlood struct {
	at      serve.Listener
	addr    string
	hello   []byte
	sockets []net.Conn // each has an address
	stop    chan struct{}
	done    chan struct{}

	sent, addresses int // before done
	answered        int // addresses that the board has answered, among the last ones
	heap            atomic.Uint64
	peers           atomic.Int64 // most hosts of which the board has kept state
}

// floodSockets is the number of sockets of a flood.
const floodSockets = 256

// newHelloFlood begins a flood of the given number of hellos a second. Each millisecond
// another address replaces the oldest one.
func newHelloFlood(t testing.TB, l serve.Listener, addr string, rate int) *helloFlood {
	host, err := datalink.New(datalink.Config{})
	require.NoError(t, err)
	var out datalink.Output
	host.Open(7, 0, &out)
	first := out.Frames.At(0)
	f := &helloFlood{
		at: l, addr: addr, hello: append(binary.BigEndian.AppendUint16(nil, uint16(len(first))), first...),
		stop: make(chan struct{}), done: make(chan struct{}),
	}
	for range floodSockets {
		c, err := net.Dial("udp", addr)
		require.NoError(t, err)
		f.sockets = append(f.sockets, c)
	}
	go f.run(rate)
	return f
}

func (f *helloFlood) run(rate int) {
	defer close(f.done)
	for begun := time.Now(); ; time.Sleep(time.Millisecond) {
		select {
		case <-f.stop:
			f.count()
			return
		default:
		}
		for due := int(time.Since(begun).Seconds() * float64(rate)); f.sent < due; f.sent++ {
			f.sockets[f.sent%floodSockets].Write(f.hello) // may be lost
		}
		if c, err := net.Dial("udp", f.addr); err == nil {
			old := &f.sockets[f.addresses%floodSockets]
			(*old).Close()
			*old = c
			f.addresses++
		}
	}
}

// count counts the addresses that have an answer.
func (f *helloFlood) count() {
	answer := make([]byte, 2048)
	for _, c := range f.sockets {
		c.SetReadDeadline(time.Now().Add(10 * time.Millisecond))
		if _, err := c.Read(answer); err == nil {
			f.answered++
		}
		c.Close()
	}
	f.addresses += floodSockets
}

// watch records the largest heap and the most peers until the flood ends.
func (f *helloFlood) watch() {
	for {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		f.heap.Store(max(f.heap.Load(), m.HeapAlloc))
		f.peers.Store(max(f.peers.Load(), int64(serve.Peers(f.at))))
		select {
		case <-f.done:
			return
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// A flooded is what hosts experience during a flood.
type flooded struct {
	rate             float64 // of the hellos, per second
	addresses        int     // that sent them
	sessions, failed int
	worst            time.Duration // from an open to the answer of a read
	heap             float64       // largest growth, in MB
	peers            int64         // most hosts of which the board has kept state
}

// measureFlood opens one session after another during a flood.
func measureFlood(t testing.TB, rate int, length time.Duration) (r flooded) {
	l, err := serve.Listen("udp:127.0.0.1:0")
	require.NoError(t, err)
	board, addr, _ := listenAt(t, l, serve.Options{})
	var before runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	f := newHelloFlood(t, l, addr, rate)
	go f.watch()
	begun := time.Now()
	for time.Since(begun) < length || r.sessions == 0 && r.failed < 10 {
		from := time.Now()
		link, err := connectUDP(t, addr, bustest.NewHost(4096), fault.Config{})
		if err != nil {
			r.failed++
			continue
		}
		if _, err = link.ReadConfig(0); err != nil {
			r.failed++
		} else {
			r.sessions++
			r.worst = max(r.worst, time.Since(from))
		}
		require.NoError(t, link.Close())
		eventually(t, func() bool { return !board.Connected() }, "the end of the session")
	}
	took := time.Since(begun)
	close(f.stop)
	<-f.done
	r.peers = f.peers.Load()
	r.rate, r.addresses = float64(f.sent)/took.Seconds(), f.addresses
	r.heap = (float64(f.heap.Load()) - float64(before.HeapAlloc)) / 1e6
	assert.Positive(t, f.answered, "addresses with an answer")
	return r
}

// TestHelloFlood: hellos from many addresses cost the board no state, and hosts get
// sessions while they arrive. BenchmarkHelloFlood has the figures, and
// TestNonceOfAnAddress what the nonce of another address is good for: nothing.
func TestHelloFlood(t *testing.T) {
	r := measureFlood(t, 2_000, time.Second)
	t.Logf("%+v", r)
	assert.Positive(t, r.sessions)
	assert.Greater(t, r.addresses, floodSockets)
	assert.Less(t, r.heap, 16.0, "MB on the heap")
	assert.LessOrEqual(t, r.peers, int64(2), "hosts of which the board keeps state: that of a session, and the one before")
}

// BenchmarkHelloFlood measures sessions during 100,000 hellos a second.
func BenchmarkHelloFlood(b *testing.B) {
	for b.Loop() {
		r := measureFlood(b, 100_000, 2*time.Second)
		b.Logf("hellos of %d addresses, %d sessions, %d failed", r.addresses, r.sessions, r.failed)
		bustest.Figure(b, "hellos during sessions", r.rate, "per second", r.rate >= 90_000, "at least 90000")
		bustest.Figure(b, "sessions that do not begin", float64(r.failed), "", r.failed == 0, "0")
		bustest.Figure(b, "longest begin and first read", r.worst.Seconds(), "s", r.worst < time.Second, "less than 1")
		bustest.Figure(b, "heap during hellos", r.heap, "MB", r.heap < 16, "less than 16")
	}
}
