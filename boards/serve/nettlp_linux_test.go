package serve_test

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/boards/serve"
	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/bus/bustest"
	"github.com/hilgpu/hilgpu/bus/nettlp"
	"github.com/hilgpu/hilgpu/bus/rootport"
)

// serveNetTLP serves the reference device to the host at an address. end ends it.
func serveNetTLP(t *testing.T, where string, o serve.Options) (dev *bustest.Device, board *serve.Board, l serve.Listener, end func()) {
	t.Helper()
	dev = bustest.NewDevice(bustest.DeviceOptions{})
	l, err := serve.Listen(where)
	require.NoError(t, err)
	board, err = serve.New(dev, o)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	var ended sync.WaitGroup
	ended.Go(func() { assert.ErrorIs(t, l.Serve(ctx, board), context.Canceled) })
	end = func() { cancel(); ended.Wait() }
	t.Cleanup(end)
	return dev, board, l, end
}

// openNetTLP opens the host's end.
func openNetTLP(t *testing.T, local, peer string, host *bustest.Host) *rootport.RootPort {
	t.Helper()
	link, err := rootport.New(func() (rootport.Port, error) {
		return nettlp.Open(nettlp.Ends{Local: netip.MustParseAddr(local), Peer: netip.MustParseAddr(peer)}, nettlp.Options{Aperture: 64 << 10})
	}, host, rootport.Options{ServeAlways: true, Quarantine: time.Second, Tags: 16, MaxPayload: 4096})
	require.NoError(t, err)
	return link
}

// TestNetTLPConformance runs the conformance suite with a served device.
func TestNetTLPConformance(t *testing.T) {
	bustest.Run(t, func(t *testing.T) bustest.Fixture {
		dev, board, l, end := serveNetTLP(t, "nettlp:127.0.19.1?local=127.0.19.2", serve.Options{})
		assert.Equal(t, "nettlp:127.0.19.2", l.Selector())
		host := bustest.NewHost(8192)
		link := openNetTLP(t, "127.0.19.1", "127.0.19.2", host)
		t.Cleanup(func() { link.Close() })
		f := bustest.DeviceFixture(link, link, host, dev)
		f.Kill = end
		f.Requests = func() (n uint64) {
			board.Sample(func() { n = dev.Requests() })
			return n
		}
		return f
	})
}

// An adapter has the wire side of a NetTLP adapter, byte by byte from its description.
type adapter struct {
	t     *testing.T
	conns map[int]*net.UDPConn
}

// wirePort opens a port of an end, bound and connected to the same number.
func wirePort(t *testing.T, local, peer string, port int) *net.UDPConn {
	t.Helper()
	c, err := net.DialUDP("udp4", &net.UDPAddr{IP: net.ParseIP(local), Port: port}, &net.UDPAddr{IP: net.ParseIP(peer), Port: port})
	require.NoError(t, err)
	t.Cleanup(func() { c.Close() })
	return c
}

func newAdapter(t *testing.T, local, peer string) *adapter {
	a := &adapter{t, map[int]*net.UDPConn{}}
	for i := range 256 {
		a.conns[0x3000+i] = wirePort(t, local, peer, 0x3000+i)
	}
	for i := range 16 {
		a.conns[0x4000+i] = wirePort(t, local, peer, 0x4000+i)
	}
	return a
}

// send sends a packet in hexadecimal digits, with spaces.
func (a *adapter) send(port int, format string, args ...any) {
	a.t.Helper()
	b, err := hex.DecodeString("00ff00000123" + strings.ReplaceAll(fmt.Sprintf(format, args...), " ", ""))
	require.NoError(a.t, err)
	_, err = a.conns[port].Write(b)
	require.NoError(a.t, err)
}

// receive returns the next packet at a port in hexadecimal digits.
func (a *adapter) receive(port int) string {
	a.t.Helper()
	b := make([]byte, 8192)
	a.conns[port].SetReadDeadline(time.Now().Add(20 * time.Second))
	n, err := a.conns[port].Read(b)
	require.NoError(a.t, err)
	return hex.EncodeToString(b[6:n])
}

// A pcDriver answers the questions of a device as the driver of an adapter does.
type pcDriver struct {
	mu      sync.Mutex
	answers map[uint32]string
	asked   map[uint32]bool
}

// serveDriver serves answers, in hexadecimal digits, from the second question of each kind
// on.
func serveDriver(t *testing.T, at string, answers map[uint32]string) *pcDriver {
	d := &pcDriver{answers: answers, asked: map[uint32]bool{}}
	c, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.ParseIP(at), Port: 0x2fff})
	require.NoError(t, err)
	var ended sync.WaitGroup
	t.Cleanup(func() { c.Close(); ended.Wait() })
	ended.Go(func() {
		b := make([]byte, 64)
		for {
			n, from, err := c.ReadFromUDP(b)
			if err != nil {
				return
			}
			if answer := d.answer(binary.LittleEndian.Uint32(b[:max(n, 4)])); answer != nil {
				c.WriteToUDP(answer, from)
			}
		}
	})
	return d
}

func (d *pcDriver) answer(question uint32) []byte {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.asked[question] {
		d.asked[question] = true
		return nil
	}
	b, _ := hex.DecodeString(d.answers[question]) // digits
	return b
}

// set changes an answer.
func (d *pcDriver) set(question uint32, answer string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.answers[question] = answer
}

// TestNetTLPForAnAdapter: a served device learns BAR 4, its function and its vectors from
// the driver of the adapter, which it asks again. It answers requests above 4 GiB that
// arrived before, and makes requests of its own. Completions that do not match are refused.
func TestNetTLPForAnAdapter(t *testing.T) {
	const local, peer, pc = "127.0.19.11", "127.0.19.13", "127.0.19.12"
	a := newAdapter(t, local, peer)
	_, board, l, end := serveNetTLP(t, "nettlp:"+local+"?local="+peer+"&host="+pc, serve.Options{})
	assert.Equal(t, "nettlp:"+peer, l.Selector())

	a.send(0x4007, "60000001 00e0070f 00000060 10000004 11223344") // scratch
	a.send(0x4005, "20000002 00e125ff 00000060 10000000")          // magic and scratch, tag 0x25
	driver := serveDriver(t, pc, map[uint32]string{1: "0000001060000000", 2: "0003", 3: "0010e0fe00000000" + "41000000" + strings.Repeat("00", 180)})
	assert.Equal(t, "4a000002"+"03000008"+"00e12500"+"44464552"+"11223344", a.receive(0x4005))

	// DMA: 8 bytes from host memory at 4 GiB + 16, to the device's memory.
	job := func(kind int) {
		for i, v := range []uint32{0x10, 1, 0, 8, uint32(kind)} {
			a.send(0x4000, "60000001 00e0000f 00000060 %08x %x", 0x10000008+4*i, binary.LittleEndian.AppendUint32(nil, v))
		}
	}
	job(bustest.JobRead)
	read := a.receive(0x3000)
	assert.Equal(t, "20000002"+"030000ff"+"00000001"+"00000010", read, "tag 0, of 03:00.0")
	for _, wrong := range []string{
		"4a000002 00000008 03000100 bbbbbbbbbbbbbbbb", // the tag of another port
		"4a000002 00000008 03010010 bbbbbbbbbbbbbbbb", // requester
		"4a000002 0000000c 03000010 bbbbbbbbbbbbbbbb", // byte count
		"4a000002 00000008 03000014 bbbbbbbbbbbbbbbb", // lower address
		"4a000001 00000008 03000010 bbbbbbbb",         // length
		"4a000002 00000008 03000010 bbbbbbbb",         // less data than its length
		"0a000000 00000008 03000010",                  // success without data
	} {
		a.send(0x3000, "%s", wrong)
	}
	a.send(0x3000, "4a000002 00000008 03000010 0102030405060708")
	assert.Equal(t, "40000001"+"0300000f"+"fee01000"+"41000000", a.receive(0x3000), "the message of vector 0")
	a.send(0x3000, "4a000002 00000008 03000010 bbbbbbbbbbbbbbbb") // repeated
	a.send(0x4001, "20000002 00e121ff 00000060 18000000")
	assert.Equal(t, "4a000002"+"03000008"+"00e12100"+"0102030405060708", a.receive(0x4001), "BAR 2 is at half of BAR 4")

	job(bustest.JobWrite)
	assert.Equal(t, "60000002"+"030000ff"+"00000001"+"00000010"+"0102030405060708", a.receive(0x3000))
	assert.Equal(t, "40000001"+"0300000f"+"fee01000"+"41000000", a.receive(0x3000))

	a.send(0x4002, "20000001 00e1220f 00000070 00000000") // outside of BAR 4: dropped
	eventually(t, func() bool { return l.(*serve.NetTLP).Refused() == 9 }, "the refusal, after the driver was asked again")
	a.send(0x4003, "20000001 00e1230f 00000060 10010000") // beyond BAR 0: unsupported
	assert.Equal(t, "0a000000"+"03002004"+"00e12300", a.receive(0x4003))
	assert.Zero(t, board.Stats().Endpoint.Malformed+board.Stats().Endpoint.Unexpected, "none of them reaches the device")

	// The PC starts anew, with BAR 4 elsewhere.
	assert.Equal(t, uint64(1), board.Stats().Sessions)
	driver.set(1, "0000000070000000")
	a.send(0x4002, "20000001 00e1220f 00000070 00000000")
	assert.Equal(t, "4a000001"+"03000004"+"00e12200"+"44464552", a.receive(0x4002))
	assert.Equal(t, uint64(2), board.Stats().Sessions)
	end()
	assert.Equal(t, uint64(9), l.(*serve.NetTLP).Refused())
}

// TestNetTLPFixedWindow: with bar= and id= no question is asked. The device reads what it
// has not got in time as a completer abort, and the next read has its own data.
func TestNetTLPFixedWindow(t *testing.T) {
	const local, peer = "127.0.19.14", "127.0.19.15"
	a := newAdapter(t, local, peer)
	_, board, l, end := serveNetTLP(t, "nettlp:"+local+"?local="+peer+"&bar=0xd0000000&id=02:01.0&timeout=50&quarantine=60000", serve.Options{})
	for i, v := range []uint32{0x10, 1, 0, 4, bustest.JobRead} {
		a.send(0x4000, "40000001 0000000f %08x %x", 0xd0000008+4*i, binary.LittleEndian.AppendUint32(nil, v))
	}
	assert.Equal(t, "20000001"+"0208000f"+"00000001"+"00000010", a.receive(0x3000))
	failed := func() string {
		a.send(0x4001, "00000001 0000010f d0000020")
		return a.receive(0x4001)
	}
	for failed() != "4a000001"+"02080004"+"00000120"+"01000000" {
		time.Sleep(time.Millisecond)
	}
	a.send(0x3000, "4a000001 00000004 02080010 bbbbbbbb") // late
	a.send(0x4000, "40000001 0000000f d0000018 02000000")
	assert.Equal(t, "20000001"+"0208010f"+"00000001"+"00000010", a.receive(0x3001), "another tag")
	a.send(0x3001, "4a000001 00000004 02080110 01020304")
	for {
		a.send(0x4001, "00000001 0000010f d8000000")
		if a.receive(0x4001) == "4a000001"+"02080004"+"00000100"+"01020304" {
			break
		}
	}
	end()
	assert.Equal(t, uint64(1), l.(*serve.NetTLP).Refused())
	assert.Equal(t, []uint64{1, 0}, []uint64{board.Stats().Endpoint.Failed, board.Stats().Endpoint.Timeouts}, "the line ends the read, which frees its tag in the endpoint")
}

// A netTLPRelay passes datagrams between a host and a device, each of which sees an
// address of the relay.
type netTLPRelay struct {
	ended sync.WaitGroup
	mu    sync.Mutex // guards the fields below
	harm  bool
	rng   *rand.Rand
	kept  []func() // sends datagrams again
}

func newNetTLPRelay(t *testing.T, host, hostSide, deviceSide, device string) *netTLPRelay {
	r := &netTLPRelay{rng: rand.New(rand.NewPCG(1, 2))}
	var conns []*net.UDPConn
	pipe := func(a, b *net.UDPConn) {
		conns = append(conns, a, b)
		r.ended.Go(func() { r.copy(a, b) })
		r.ended.Go(func() { r.copy(b, a) })
	}
	for i := range 256 {
		pipe(wirePort(t, hostSide, host, 0x3000+i), wirePort(t, deviceSide, device, 0x3000+i))
	}
	for i := range 16 {
		pipe(wirePort(t, hostSide, host, 0x4000+i), wirePort(t, deviceSide, device, 0x4000+i))
	}
	serveDriver(t, deviceSide, map[uint32]string{1: "000000e000000000", 2: "0001", 3: strings.Repeat("00", 192)})
	t.Cleanup(func() {
		for _, c := range conns {
			c.Close()
		}
		r.ended.Wait()
	})
	return r
}

// copy copies datagrams. Of those that are no writes it loses 5 percent, repeats 5 at once
// and 5 after about 50 others, and delays 3.
func (r *netTLPRelay) copy(from, to *net.UDPConn) {
	b := make([]byte, 8192)
	for {
		n, err := from.Read(b)
		if err != nil && strings.Contains(err.Error(), "closed") {
			return
		}
		if err != nil || n < 7 {
			continue
		}
		d := append([]byte(nil), b[:n]...)
		send := func() { to.Write(d) }
		r.mu.Lock()
		if !r.harm || d[6]&^0x20 == 0x40 {
			r.mu.Unlock()
			send()
			continue
		}
		switch x := r.rng.Float64(); {
		case x < 0.05:
		case x < 0.1:
			send()
			send()
		case x < 0.15:
			r.kept = append(r.kept, send)
			send()
		case x < 0.18:
			r.kept = append(r.kept, send)
		default:
			send()
		}
		if len(r.kept) > 5 {
			r.kept[0]()
			r.kept = r.kept[1:]
		}
		r.mu.Unlock()
	}
}

func (r *netTLPRelay) setHarm(on bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.harm = on
}

// TestNetTLPLoss: on a path that loses, repeats and delays reads and completions, each
// read has the right data or fails with a time-out. A job of the device that reads host
// memory has the right data or fails. Writes pass, because a lost one cannot be noticed.
func TestNetTLPLoss(t *testing.T) {
	const host, hostSide, deviceSide, device = "127.0.19.21", "127.0.19.22", "127.0.19.23", "127.0.19.24"
	relay := newNetTLPRelay(t, host, hostSide, deviceSide, device)
	serveNetTLP(t, "nettlp:"+deviceSide+"?local="+device+"&timeout=40&quarantine=400", serve.Options{})
	mem := bustest.NewHost(1 << 14)
	link, err := rootport.New(func() (rootport.Port, error) {
		return nettlp.Open(nettlp.Ends{Local: netip.MustParseAddr(host), Peer: netip.MustParseAddr(hostSide)},
			nettlp.Options{Aperture: 64 << 10, Timeout: 40 * time.Millisecond, Quarantine: 400 * time.Millisecond})
	}, mem, rootport.Options{ServeAlways: true, Timeout: 40 * time.Millisecond, Quarantine: 400 * time.Millisecond, Tags: 16, MaxPayload: 4096})
	require.NoError(t, err)
	defer link.Close()
	require.NoError(t, bustest.Enumerate(link))
	want := make([]byte, 8192)
	for i := range want {
		want[i] = byte(i>>2*31 + i)
	}
	require.NoError(t, link.Write(2, 0, want))
	require.NoError(t, mem.WriteMem(mem.Base, want))
	register := func(off uint64) uint32 { // with as many reads as it takes
		b := make([]byte, 4)
		for link.Read(0, off, b) != nil {
		}
		return binary.LittleEndian.Uint32(b)
	}
	relay.setHarm(true)
	rng := rand.New(rand.NewPCG(3, 4))
	var right, failed, jobs, jobsFailed int
	for range 120 {
		at := 4 * rng.IntN(1500)
		got := make([]byte, 4+4*rng.IntN(200))
		if err := link.Read(2, uint64(at), got); err != nil {
			require.ErrorIs(t, err, bus.ErrTimeout)
			failed++
			continue
		}
		require.Equal(t, want[at:at+len(got)], got)
		right++
	}
	for range 25 {
		at, n, done, errors := 4*rng.IntN(1000), 4+4*rng.IntN(200), register(bustest.RegDone), register(bustest.RegErrors)
		require.NoError(t, bustest.StartJob(link, bustest.JobRead, mem.Base+uint64(at), 16384, uint32(n)))
		for register(bustest.RegDone) == done {
		}
		if jobs++; register(bustest.RegErrors) != errors {
			jobsFailed++
			continue
		}
		relay.setHarm(false)
		got := make([]byte, n)
		for link.Read(2, 16384, got) != nil {
		}
		require.Equal(t, want[at:at+n], got)
		relay.setHarm(true)
	}
	t.Logf("%d reads right, %d failed; %d jobs, %d failed", right, failed, jobs, jobsFailed)
	assert.Positive(t, right)
	assert.Positive(t, failed)
	assert.Positive(t, jobsFailed)
	assert.Less(t, jobsFailed, jobs)
}
