package rootport_test

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/bus/rootport"
	"github.com/hilgpu/hilgpu/bus/tlp"
)

// A live port is a fake whose time passes by itself and whose device sends packets at
// any time.
type live struct {
	start time.Time
	wake  chan struct{}

	mu        sync.Mutex // guards the fields below and the fake
	fake      *fake
	early     bool
	failed    error // returned by Receive
	receiving int
	overlaps  int // calls of Receive or Send during another Receive
	closed    bool
	taken     int // packets that Receive returned

	interrupts int
	storm      bool // the device sends messages without end
}

func newLive(t *testing.T) *live {
	return &live{start: time.Now(), wake: make(chan struct{}, 1), fake: newFake(t)}
}

func (l *live) signal() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// do calls f with the fake.
func (l *live) do(f func(f *fake)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f(l.fake)
	l.signal()
}

// send makes the device send packets.
func (l *live) send(all ...tlp.Packet) {
	l.do(func(f *fake) {
		for _, p := range all {
			f.push(p)
		}
	})
}

// fail takes the port down.
func (l *live) fail(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fake.down = err
	l.signal()
}

func (l *live) Send(packet []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.overlaps += l.receiving
	return l.fake.Send(packet)
}

func (l *live) Receive(timeout time.Duration) ([]byte, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.overlaps += l.receiving
	l.receiving++
	defer func() { l.receiving-- }()
	late := time.NewTimer(timeout)
	defer late.Stop()
	for {
		for l.storm && len(l.fake.inbox) < 8 {
			l.fake.push(deviceWrite(0xfee00000, make([]byte, 4)))
		}
		switch {
		case len(l.fake.inbox) > 0:
			l.taken++
			return l.fake.Receive(0)
		case l.fake.down != nil:
			l.failed = l.fake.down
			return nil, l.failed
		case l.early || timeout <= 0:
			l.early = false
			return nil, nil
		}
		l.mu.Unlock()
		select {
		case <-l.wake:
		case <-late.C:
			timeout = 0
		}
		l.mu.Lock()
	}
}

func (l *live) Ahead(int) time.Duration { return 0 }

func (l *live) Flush() {}

func (l *live) Interrupt() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.early = true
	l.interrupts++
	l.signal()
}

func (l *live) MaxPacket() int     { return tlp.MaxSize }
func (l *live) Now() time.Duration { return time.Since(l.start) }

func (l *live) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	l.fake.down = errors.Join(bus.ErrLinkDown, bus.ErrClosed)
	l.signal()
	return nil
}

// until waits for a condition on the fake, without a call of the root port.
func (l *live) until(t *testing.T, what string, ok func(f *fake) bool) {
	t.Helper()
	for range 20_000 {
		l.mu.Lock()
		done := ok(l.fake)
		l.mu.Unlock()
		if done {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatal("timed out: " + what)
}

// memory is a host that may be called at any time. It counts accesses.
type memory struct {
	mu       sync.Mutex
	mem      [8192]byte
	accesses int
}

const memoryBase = 1 << 20

func (m *memory) access(addr uint64, n int) ([]byte, error) {
	m.accesses++
	if addr >= 0xfee00000 {
		return make([]byte, n), nil
	}
	if addr < memoryBase || addr+uint64(n) > memoryBase+uint64(len(m.mem)) {
		return nil, errors.New("no memory")
	}
	return m.mem[addr-memoryBase:][:n], nil
}

func (m *memory) ReadMem(addr uint64, p []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	b, err := m.access(addr, len(p))
	copy(p, b)
	return err
}

func (m *memory) WriteMem(addr uint64, p []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	b, err := m.access(addr, len(p))
	copy(b, p)
	return err
}

func (m *memory) count() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.accesses
}

// openLive returns a root port with ServeAlways on ports that dial returns, and its
// host.
func openLive(t *testing.T, dial func() *live) (*rootport.RootPort, *memory) {
	m := &memory{}
	for i := range m.mem {
		m.mem[i] = byte(i*5 + i>>8)
	}
	r, err := rootport.New(func() (rootport.Port, error) { return dial(), nil }, m, rootport.Options{ServeAlways: true, Timeout: 20 * time.Second})
	require.NoError(t, err)
	t.Cleanup(func() { r.Close() })
	return r, m
}

func openOne(t *testing.T) (*live, *rootport.RootPort, *memory) {
	l := newLive(t)
	r, m := openLive(t, func() *live { return l })
	return l, r, m
}

// deviceRead and deviceWrite are requests of the device.
func deviceRead(tag int, off, n int) tlp.Packet {
	return tlp.Packet{Kind: tlp.MRd32, Len: n / 4, Requester: 0x100, Tag: uint16(tag), First: 0xf, Last: lastOf(n), Addr: memoryBase + uint64(off)}
}

func deviceWrite(addr uint64, data []byte) tlp.Packet {
	return tlp.Packet{Kind: tlp.MWr32, Len: len(data) / 4, Requester: 0x100, First: 0xf, Last: lastOf(len(data)), Addr: addr, Data: data}
}

func lastOf(n int) uint8 {
	if n == 4 {
		return 0
	}
	return 0xf
}

// answers returns the data of the completions of device reads, by tag.
func answers(f *fake) map[int][]byte {
	all := map[int][]byte{}
	for _, p := range f.sent {
		if p.Kind == tlp.CplD {
			all[int(p.Tag)] = append(all[int(p.Tag)], p.Data...)
		}
	}
	return all
}
