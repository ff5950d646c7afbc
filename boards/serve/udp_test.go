package serve_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/boards/serve"
	"github.com/hilgpu/hilgpu/bus/bustest"
	"github.com/hilgpu/hilgpu/bus/channel"
	"github.com/hilgpu/hilgpu/bus/datalink"
	"github.com/hilgpu/hilgpu/bus/fault"
	"github.com/hilgpu/hilgpu/bus/rootport"
)

// connectUDP opens a host at a UDP address. The host's frames have the given faults.
func connectUDP(t testing.TB, addr string, host *bustest.Host, faults fault.Config) (*rootport.RootPort, error) {
	t.Helper()
	return rootport.New(func() (rootport.Port, error) {
		c, err := net.Dial("udp", addr)
		require.NoError(t, err)
		config := channel.Config{Link: datalink.Config{Role: datalink.Host}, Datagram: 1452}
		if faults != (fault.Config{}) {
			config.Send, config.Receive = fault.New(faults, 0), fault.New(faults, 1)
		}
		return channel.Open(c, config)
	}, host, rootport.Options{ServeAlways: true})
}

// TestUDPConformance runs the conformance suite over datagrams, without and with faults
// of the frames in both directions.
func TestUDPConformance(t *testing.T) {
	for name, faults := range map[string]fault.Config{
		"clean":  {},
		"faults": {Loss: 0.05, Dup: 0.03, Flip: 0.02, Truncate: 0.01, Reorder: 0.02, Seed: 7},
	} {
		t.Run(name, func(t *testing.T) {
			bustest.Run(t, func(t *testing.T) bustest.Fixture {
				dev := bustest.NewDevice(bustest.DeviceOptions{})
				l, err := serve.ListenUDP("127.0.0.1:0")
				require.NoError(t, err)
				board, err := serve.New(dev, serve.Options{})
				require.NoError(t, err)
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan struct{})
				go func() {
					defer close(ended)
					l.Serve(ctx, board) // ends with ctx
				}()
				kill := func() { cancel(); <-ended }
				t.Cleanup(kill)
				host := bustest.NewHost(8192)
				link, err := connectUDP(t, l.Selector()[len("udp:"):], host, faults)
				require.NoError(t, err)
				f := bustest.DeviceFixture(link, link, host, dev)
				f.Kill = kill
				f.Requests = func() (n uint64) {
					board.Sample(func() { n = dev.Requests() })
					return n
				}
				return f
			})
		})
	}
}

// TestUDPHosts: one host at a time, refused by the address of the holder. A session that
// has ended frees the board.
func TestUDPHosts(t *testing.T) {
	board, addr, _ := listen(t, "udp:127.0.0.1:0")
	first, err := connectUDP(t, addr, bustest.NewHost(4096), fault.Config{})
	require.NoError(t, err)
	_, err = connectUDP(t, addr, bustest.NewHost(4096), fault.Config{})
	require.ErrorIs(t, err, datalink.ErrRefused)
	assert.ErrorContains(t, err, "busy: this board is held by 127.0.0.1:")
	_, err = first.ReadConfig(0)
	require.NoError(t, err)
	require.NoError(t, first.Close())
	eventually(t, func() bool { return !board.Connected() }, "the end of the session")
	second, err := connectUDP(t, addr, bustest.NewHost(4096), fault.Config{})
	require.NoError(t, err)
	_, err = second.ReadConfig(0)
	require.NoError(t, err)
	require.NoError(t, second.Close())
}

// TestForeignDatagrams: datagrams of another address change nothing, even those of the
// session that the board has not received yet.
func TestForeignDatagrams(t *testing.T) {
	dev := bustest.NewDevice(bustest.DeviceOptions{})
	l, err := serve.ListenUDP("127.0.0.1:0")
	require.NoError(t, err)
	const patience = 20 * time.Second // of both ends, while the datagrams do not arrive
	board, err := serve.New(dev, serve.Options{Silence: patience})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		l.Serve(ctx, board) // ends with ctx
	}()
	defer func() { cancel(); <-ended }()
	addr := l.Selector()[len("udp:"):]
	conn, err := net.Dial("udp", addr)
	require.NoError(t, err)
	line := &withheld{Conn: conn}
	link, err := rootport.New(func() (rootport.Port, error) {
		config := channel.Config{Link: datalink.Config{Role: datalink.Host, DeadAfter: patience, GiveUp: patience}, Datagram: 1452}
		return channel.Open(line, config)
	}, bustest.NewHost(4096), rootport.Options{})
	require.NoError(t, err)
	require.NoError(t, bustest.Enumerate(link))
	want, got := []byte("new!"), make([]byte, 4)
	require.NoError(t, link.Read(0, bustest.RegScratch, got), "after the writes before it")
	requests := func() (n uint64) {
		board.Sample(func() { n = dev.Requests() })
		return n
	}
	before := requests()
	sent := line.hold()
	require.NoError(t, link.Write(0, bustest.RegScratch, want))
	eventually(t, func() bool { return line.holds(want) }, "the write of the register")
	fresh := line.hold()

	other, err := net.Dial("udp", addr)
	require.NoError(t, err)
	defer other.Close()
	for _, d := range append(fresh, sent...) { // the hellos are last, and are answered
		_, err := other.Write(d)
		require.NoError(t, err)
	}
	require.NoError(t, other.SetReadDeadline(time.Now().Add(patience)))
	for b, answers := make([]byte, 2048), 0; ; answers++ {
		n, err := other.Read(b)
		if err != nil {
			assert.NotZero(t, answers, "the board has read them")
			break
		}
		if assert.Equal(t, byte(6), b[2]>>4, "only a Welcome: % x", b[:n]) {
			assert.Equal(t, byte(1), b[5], "its flags: it asks for another hello")
		}
		require.NoError(t, other.SetReadDeadline(time.Now().Add(50*time.Millisecond)))
	}
	assert.Equal(t, before, requests(), "the write from the other address")

	for _, d := range fresh {
		_, err := conn.Write(d)
		require.NoError(t, err)
	}
	eventually(t, func() bool { return requests() == before+1 }, "the same write from the right address")
	line.release()
	require.NoError(t, link.Read(0, bustest.RegScratch, got))
	assert.Equal(t, want, got)
	require.NoError(t, link.Close())
}

// A withheld connection keeps what is written, and can send nothing.
type withheld struct {
	net.Conn
	mu   sync.Mutex
	on   bool
	kept [][]byte
}

func (w *withheld) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.kept = append(w.kept, append([]byte(nil), p...))
	if w.on {
		return len(p), nil
	}
	return w.Conn.Write(p)
}

// hold sends nothing from now on. It returns what was written since the hold before.
func (w *withheld) hold() [][]byte {
	w.mu.Lock()
	defer w.mu.Unlock()
	kept := w.kept
	w.on, w.kept = true, nil
	return kept
}

// holds reports whether a datagram with the given bytes was written since the hold.
func (w *withheld) holds(text []byte) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.ContainsFunc(w.kept, func(d []byte) bool { return bytes.Contains(d, text) })
}

// release sends again what is written.
func (w *withheld) release() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.on = false
}

// copied keeps what is written, up to the first close.
type copied struct {
	net.Conn
	sent *[][]byte
}

func (c *copied) Write(p []byte) (int, error) {
	*c.sent = append(*c.sent, append([]byte(nil), p...))
	return c.Conn.Write(p)
}

// TestRepeatedDatagrams: all datagrams of a host, sent again from its address after its
// session, begin no session and change nothing.
func TestRepeatedDatagrams(t *testing.T) {
	board, addr, _ := listen(t, "udp:127.0.0.1:0")
	var sent [][]byte
	var at net.Addr
	link, err := rootport.New(func() (rootport.Port, error) {
		c, err := net.Dial("udp", addr)
		require.NoError(t, err)
		at = c.LocalAddr()
		return channel.Open(&copied{Conn: c, sent: &sent}, channel.Config{Link: datalink.Config{Role: datalink.Host}, Datagram: 1452})
	}, bustest.NewHost(4096), rootport.Options{})
	require.NoError(t, err)
	require.NoError(t, bustest.Enumerate(link))
	require.NoError(t, bustest.StartJob(link, bustest.JobNone, 0, 0, 0))
	done := func(l *rootport.RootPort) uint32 {
		p := make([]byte, 4)
		require.NoError(t, l.Read(0, bustest.RegDone, p))
		return binary.LittleEndian.Uint32(p)
	}
	require.Equal(t, uint32(1), done(link))
	require.NoError(t, link.Close())
	eventually(t, func() bool { return !board.Connected() }, "the end of the session")

	again, err := net.DialUDP("udp", at.(*net.UDPAddr), mustUDP(t, addr))
	require.NoError(t, err)
	defer again.Close()
	for _, d := range sent {
		_, err := again.Write(d)
		require.NoError(t, err)
		time.Sleep(time.Millisecond) // each is answered
	}
	next, err := connectUDP(t, addr, bustest.NewHost(4096), fault.Config{})
	require.NoError(t, err)
	assert.Equal(t, uint32(1), done(next), "jobs: the second host has started none")
	require.NoError(t, next.Close())
	assert.Equal(t, uint64(2), board.Stats().Sessions)
}

func mustUDP(t *testing.T, addr string) *net.UDPAddr {
	t.Helper()
	a, err := net.ResolveUDPAddr("udp", addr)
	require.NoError(t, err)
	return a
}

// A twin is one of two hosts that share a socket: each receives everything.
type twin struct {
	io.Writer
	in   chan []byte
	done chan struct{}
	once sync.Once
}

func (w *twin) Read(p []byte) (int, error) {
	select {
	case d := <-w.in:
		return copy(p, d), nil
	case <-w.done:
		return 0, io.EOF
	}
}

func (w *twin) Close() error {
	w.once.Do(func() { close(w.done) })
	return nil
}

// TestSecondHostOfAnAddress: another host with the address of the holder, such as the
// same MAC address, is refused, and the session goes on.
func TestSecondHostOfAnAddress(t *testing.T) {
	_, addr, _ := listen(t, "udp:127.0.0.1:0")
	c, err := net.DialUDP("udp", nil, mustUDP(t, addr))
	require.NoError(t, err)
	defer c.Close()
	var twins [2]*twin
	for i := range twins {
		twins[i] = &twin{Writer: c, in: make(chan []byte, 1000), done: make(chan struct{})}
	}
	go func() {
		for {
			p := make([]byte, 2000)
			n, err := c.Read(p)
			if err != nil {
				return
			}
			for _, w := range twins {
				select {
				case w.in <- p[:n]:
				default: // it reads no more
				}
			}
		}
	}()
	open := func(w *twin) (*rootport.RootPort, error) {
		return rootport.New(func() (rootport.Port, error) {
			return channel.Open(w, channel.Config{Link: datalink.Config{Role: datalink.Host}, Datagram: 1452})
		}, bustest.NewHost(4096), rootport.Options{ServeAlways: true})
	}
	first, err := open(twins[0])
	require.NoError(t, err)
	defer first.Close()
	_, err = first.ReadConfig(0)
	require.NoError(t, err)
	_, err = open(twins[1])
	require.ErrorIs(t, err, datalink.ErrRefused)
	assert.ErrorContains(t, err, "busy: this board is held by 127.0.0.1:")
	_, err = first.ReadConfig(0)
	require.NoError(t, err)
}
