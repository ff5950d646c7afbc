package nettlp_test

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/bus/bustest"
	"github.com/hilgpu/hilgpu/bus/nettlp"
	"github.com/hilgpu/hilgpu/bus/rootport"
)

// A libtlpDevice has the habits of libtlp and of its program psmem, without any code of
// this module: sequence and time stamp are 0, the header of a completion is that of the
// request with other bits set, a short write is not filled, and a read takes what arrives.
type libtlpDevice struct {
	t       *testing.T
	conns   map[int]*net.UDPConn
	done    sync.WaitGroup
	mu      sync.Mutex // guards the fields below
	mem     [1 << 20]byte
	base    uint64
	asked   int // reads of the host
	replace func(answer []byte) [][]byte
}

// socket opens the socket of a port, bound and connected to the same number.
func socket(t *testing.T, local, peer string, port int) *net.UDPConn {
	t.Helper()
	c, err := net.DialUDP("udp4", &net.UDPAddr{IP: net.ParseIP(local), Port: port}, &net.UDPAddr{IP: net.ParseIP(peer), Port: port})
	require.NoError(t, err)
	t.Cleanup(func() { c.Close() })
	return c
}

// newLibtlp starts a device at an address whose memory begins at base.
func newLibtlp(t *testing.T, local, peer string, base uint64) *libtlpDevice {
	d := &libtlpDevice{t: t, conns: map[int]*net.UDPConn{}, base: base}
	for port := 0x4000; port < 0x4010; port++ {
		c := socket(t, local, peer, port)
		d.conns[port] = c
		d.done.Go(func() { d.serve(c) })
	}
	t.Cleanup(func() {
		for _, c := range d.conns {
			c.Close()
		}
		d.done.Wait()
	})
	return d
}

func (d *libtlpDevice) serve(c *net.UDPConn) {
	b := make([]byte, 8192)
	for {
		n, err := c.Read(b)
		if err != nil && strings.Contains(err.Error(), "closed") {
			return
		}
		if err != nil || n < 18 {
			continue
		}
		d.mu.Lock()
		for _, answer := range d.handle(b[6:n]) {
			c.Write(answer)
		}
		d.mu.Unlock()
	}
}

// handle handles a packet and returns the answers.
func (d *libtlpDevice) handle(p []byte) [][]byte {
	long := p[0]&0x20 != 0
	addr, data := uint64(binary.BigEndian.Uint32(p[8:])), p[12:]
	if long {
		addr, data = binary.BigEndian.Uint64(p[8:]), p[16:]
	}
	size := int(binary.BigEndian.Uint16(p[2:])&0x3ff) * 4
	off := addr - d.base
	if off+uint64(size) > uint64(len(d.mem)) {
		return nil
	}
	if p[0]&0x40 != 0 {
		copy(d.mem[off:], data)
		return nil
	}
	d.asked++
	a := make([]byte, 18, 18+size)
	copy(a[6:10], p[:4])
	a[6] |= 0x4a // the format of the request stays
	binary.BigEndian.PutUint16(a[12:], uint16(size))
	copy(a[14:16], p[4:6])
	a[16] = p[6]
	a[17] = byte(addr & 0x7f)
	a = append(a, d.mem[off:off+uint64(size)]...)
	if d.replace != nil {
		return d.replace(a)
	}
	return [][]byte{a}
}

// ask asks a question as libtlp does, in the byte order of a PC.
func ask(t *testing.T, local, host string, question uint32, size int) []byte {
	t.Helper()
	c, err := net.DialUDP("udp4", &net.UDPAddr{IP: net.ParseIP(local)}, &net.UDPAddr{IP: net.ParseIP(host), Port: 0x2fff})
	require.NoError(t, err)
	defer c.Close()
	b := make([]byte, 512)
	for range 20 {
		_, err = c.Write(binary.LittleEndian.AppendUint32(nil, question))
		require.NoError(t, err)
		c.SetReadDeadline(time.Now().Add(500 * time.Millisecond))
		if n, err := c.Read(b); err == nil {
			require.Equal(t, size, n)
			return b[:n]
		}
	}
	require.Fail(t, "no answer")
	return nil
}

// A hostEnd is a root port over a Port.
type hostEnd struct {
	*rootport.RootPort
	port *nettlp.Port
	mem  *bustest.Host
}

// newHost opens the host's end.
func newHost(t *testing.T, local, peer string, o nettlp.Options) *hostEnd {
	t.Helper()
	h := &hostEnd{mem: bustest.NewHost(1 << 16)}
	var err error
	h.RootPort, err = rootport.New(func() (rootport.Port, error) {
		p, err := nettlp.Open(nettlp.Ends{Local: netip.MustParseAddr(local), Peer: netip.MustParseAddr(peer)}, o)
		h.port = p
		return p, err
	}, h.mem, rootport.Options{Timeout: o.Timeout, Quarantine: o.Quarantine, Tags: 16, MaxPayload: 4096, ServeAlways: true})
	require.NoError(t, err)
	t.Cleanup(func() { h.Close() })
	return h
}

// eventually waits for a condition.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	require.Eventually(t, is, 20*time.Second, time.Millisecond, what)
}

// TestLibtlpDevice: a device with the habits of libtlp learns where its memory is, serves
// the host's accesses, and accesses host memory.
func TestLibtlpDevice(t *testing.T) {
	const local, peer = "127.0.18.1", "127.0.18.2"
	host := newHost(t, local, peer, nettlp.Options{Aperture: 1 << 20})
	base := binary.LittleEndian.Uint64(ask(t, peer, local, 1, 8))
	id := ask(t, peer, local, 2, 2)
	assert.Equal(t, []byte{0, 1}, id, "01:00.0")
	dev := newLibtlp(t, peer, local, base)
	require.NoError(t, bustest.Enumerate(host))

	want := make([]byte, 1000)
	for i := range want {
		want[i] = byte(i*7 + 3)
	}
	require.NoError(t, host.Write(0, 0x104, want))
	got := make([]byte, len(want))
	require.NoError(t, host.Read(0, 0x104, got))
	assert.Equal(t, want, got)
	dev.mu.Lock()
	assert.Equal(t, want, dev.mem[0x104:0x104+1000])
	dev.mu.Unlock()
	table := ask(t, peer, local, 3, 192)
	assert.Equal(t, uint64(bustest.MessageBase), binary.LittleEndian.Uint64(table[12:]), "vector 1")
	assert.Equal(t, uint32(1), binary.LittleEndian.Uint32(table[20:]))

	// Short writes: 1 byte, 3 bytes, and 4 bytes that begin in the middle of a dword.
	c := socket(t, peer, local, 0x3005)
	send := func(format string, args ...any) {
		b, err := hex.DecodeString("000000000000" + fmt.Sprintf(format, args...))
		require.NoError(t, err)
		_, err = c.Write(b)
		require.NoError(t, err)
	}
	at := uint32(host.mem.Base)
	send("40000001"+"01000501"+"%08x"+"99", at+0x10)
	send("40000001"+"01000507"+"%08x"+"112233", at+0x20)
	send("40000002"+"0100053c"+"%08x"+"0000aabbccdd", at+0x30)
	eventually(t, "the last write", func() bool {
		b := make([]byte, 4)
		return host.mem.ReadMem(uint64(at)+0x32, b) == nil && string(b) == "\xaa\xbb\xcc\xdd"
	})
	b := make([]byte, 4)
	require.NoError(t, host.mem.ReadMem(uint64(at)+0x10, b))
	assert.Equal(t, []byte{0x99, 0, 0, 0}, b)
	require.NoError(t, host.mem.ReadMem(uint64(at)+0x20, b))
	assert.Equal(t, []byte{0x11, 0x22, 0x33, 0}, b)

	// A read of 4096 bytes, whose length libtlp writes as 0x400: the parts are in order.
	all := make([]byte, 4096)
	for i := range all {
		all[i] = byte(i >> 3)
	}
	require.NoError(t, host.mem.WriteMem(uint64(at)+0x1000, all))
	send("00000400"+"010005ff"+"%08x", at+0x1000)
	assert.Equal(t, all, readAll(t, c, 4096))
	assert.Zero(t, host.port.Stats().All(), host.port.Stats().Last)
}

// readAll receives the completions of a read as libtlp does: in order, to the one whose
// length is that of the remaining bytes.
func readAll(t *testing.T, c *net.UDPConn, n int) []byte {
	t.Helper()
	var got []byte
	b := make([]byte, 8192)
	for len(got) < n {
		c.SetReadDeadline(time.Now().Add(20 * time.Second))
		m, err := c.Read(b)
		require.NoError(t, err)
		require.Equal(t, byte(0x4a), b[6])
		require.Equal(t, m, 18+4*int(binary.BigEndian.Uint16(b[8:])&0x3ff))
		require.Equal(t, (n-len(got))&0xfff, int(binary.BigEndian.Uint16(b[12:])), "bytes remaining")
		got = append(got, b[18:m]...)
	}
	return got
}

// TestStrictCompletions: a completion with any wrong field is refused and counted, the read
// fails with a time-out, and the next one has its own data.
func TestStrictCompletions(t *testing.T) {
	const local, peer = "127.0.18.3", "127.0.18.4"
	o := nettlp.Options{Timeout: 250 * time.Millisecond, Quarantine: 50 * time.Millisecond}
	host := newHost(t, local, peer, o)
	dev := newLibtlp(t, peer, local, binary.LittleEndian.Uint64(ask(t, peer, local, 1, 8)))
	require.NoError(t, bustest.Enumerate(host))
	require.NoError(t, host.Write(0, 0x200, []byte{1, 2, 3, 4, 5, 6, 7, 8}))
	flip := func(at int, bits byte) func([]byte) [][]byte {
		return func(a []byte) [][]byte {
			a[at] ^= bits
			return [][]byte{a}
		}
	}
	for _, tt := range []struct {
		name    string
		replace func(a []byte) [][]byte
		want    nettlp.Refusal // of 1 datagram, but for "no answer"
	}{
		{"tag of another port", flip(16, 1), nettlp.WrongPort},
		{"tag of no request", flip(16, 0x10), nettlp.Unexpected},
		{"requester", flip(15, 1), nettlp.Mismatch},
		{"byte count", flip(13, 4), nettlp.Mismatch},
		{"lower address", flip(17, 8), nettlp.Mismatch},
		{"length", flip(9, 3), nettlp.Malformed},
		{"length and data", func(a []byte) [][]byte {
			a[9] = 1
			return [][]byte{a[:len(a)-4]}
		}, nettlp.Mismatch},
		{"status of a failure with data", flip(12, 0x20), nettlp.Malformed},
		{"no data", func(a []byte) [][]byte {
			a[6], a[9] = 0x0a, 0
			return [][]byte{a[:18]}
		}, nettlp.Mismatch},
		{"a request in place of a completion", func(a []byte) [][]byte {
			return [][]byte{{0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0, a[16], 0xf, 0, 0x10, 0, 0}}
		}, nettlp.WrongPort},
		{"no answer", func([]byte) [][]byte { return nil }, nettlp.Malformed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before := host.port.Stats()
			dev.mu.Lock()
			dev.replace = tt.replace
			asked := dev.asked
			dev.mu.Unlock()
			got := make([]byte, 8)
			err := host.Read(0, 0x200, got)
			require.ErrorIs(t, err, bus.ErrTimeout)
			assert.ErrorContains(t, err, "read of 8 bytes at BAR 0 offset 0x200: no completion for 250ms")
			if tt.name != "no answer" {
				assert.Equal(t, before.Refused[tt.want]+1, host.port.Stats().Refused[tt.want], host.port.Stats().Last)
			}
			dev.mu.Lock()
			assert.Equal(t, asked+1, dev.asked, "the read is not sent again")
			dev.replace = nil
			dev.mu.Unlock()
			eventually(t, "a read", func() bool { return host.Read(0, 0x200, got) == nil })
			assert.Equal(t, []byte{1, 2, 3, 4, 5, 6, 7, 8}, got)
		})
	}
}

// TestStaleCompletions: a completion that is late, or arrives again, matches no later read,
// whatever its age: the tag rests, and the requester is another one.
func TestStaleCompletions(t *testing.T) {
	const local, peer = "127.0.18.5", "127.0.18.6"
	host := newHost(t, local, peer, nettlp.Options{Timeout: time.Second, Quarantine: time.Millisecond})
	dev := newLibtlp(t, peer, local, binary.LittleEndian.Uint64(ask(t, peer, local, 1, 8)))
	require.NoError(t, bustest.Enumerate(host))
	require.NoError(t, host.Write(0, 0x300, []byte{1, 1, 1, 1}))
	var old [][]byte
	dev.mu.Lock()
	dev.replace = func(a []byte) [][]byte {
		old = append(old, append([]byte(nil), a...))
		return nil
	}
	dev.mu.Unlock()
	got := make([]byte, 4)
	require.ErrorIs(t, host.Read(0, 0x300, got), bus.ErrTimeout)
	require.NoError(t, host.Write(0, 0x300, []byte{2, 2, 2, 2}))
	dev.mu.Lock()
	dev.replace = func(a []byte) [][]byte { return append(old, a, a) }
	dev.mu.Unlock()
	for range 300 { // each tag many times
		require.NoError(t, host.Read(0, 0x300, got))
		require.Equal(t, []byte{2, 2, 2, 2}, got)
	}
	s := host.port.Stats()
	assert.GreaterOrEqual(t, s.All(), uint64(2*300-2), "all late and repeated ones are refused")
	assert.Zero(t, host.Stats().Refused, "and none reaches the root port")
}

// TestNoDevice: without a program at the ports of the device, the first access tells it.
func TestNoDevice(t *testing.T) {
	host := newHost(t, "127.0.18.7", "127.0.18.8", nettlp.Options{})
	err := bustest.Enumerate(host)
	for range 100 { // the refusal arrives after the write
		if err == nil {
			err = host.Read(0, 0, make([]byte, 4))
		}
	}
	require.ErrorIs(t, err, nettlp.ErrPeer)
	require.ErrorIs(t, err, bus.ErrLinkDown)
	assert.ErrorContains(t, err, "no device at the address 127.0.18.8: start the device, or check the address")
}

// TestBusMaster: a device accesses host memory only while the host allows it. Its read is
// completed as an unsupported request, its write is dropped.
func TestBusMaster(t *testing.T) {
	const local, peer = "127.0.18.9", "127.0.18.10"
	host := newHost(t, local, peer, nettlp.Options{})
	c := socket(t, peer, local, 0x3002)
	at := uint32(host.mem.Base)
	_, err := c.Write(append([]byte{0, 0, 0, 0, 0, 0, 0x40, 0, 0, 1, 1, 0, 2, 0xf}, binary.BigEndian.AppendUint32(nil, at)...)[:18:18])
	require.NoError(t, err)
	_, err = c.Write(append([]byte{0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0, 2, 0xf}, binary.BigEndian.AppendUint32(nil, at)...))
	require.NoError(t, err)
	b := make([]byte, 64)
	c.SetReadDeadline(time.Now().Add(20 * time.Second))
	n, err := c.Read(b)
	require.NoError(t, err)
	assert.Equal(t, []byte{0x0a, 0, 0, 0, 0, 0, 0x20, 4, 1, 0, 2, 0}, b[6:n], "UR, 4 bytes, to 01:00.0, tag 2")
	assert.Zero(t, host.Stats().TLPs[rootport.Up])
}

// TestInterrupt: Interrupt ends the Receive in progress and the next one, and Close ends
// all of them.
func TestInterrupt(t *testing.T) {
	p, err := nettlp.Open(nettlp.Ends{Local: netip.MustParseAddr("127.0.18.11"), Peer: netip.MustParseAddr("127.0.18.12")}, nettlp.Options{})
	require.NoError(t, err)
	p.Interrupt()
	got, err := p.Receive(time.Hour)
	assert.Nil(t, got)
	require.NoError(t, err)
	ended := make(chan error, 2)
	go func() {
		for range 2 {
			_, err := p.Receive(time.Hour)
			ended <- err
		}
	}()
	p.Interrupt()
	require.NoError(t, <-ended)
	require.NoError(t, p.Close())
	require.ErrorIs(t, <-ended, bus.ErrLinkDown)
	require.ErrorIs(t, p.Send(make([]byte, 12)), bus.ErrLinkDown)
	require.NoError(t, p.Close())
}
