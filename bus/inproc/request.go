package inproc

import (
	"encoding/binary"
	"fmt"

	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/rtl/abi/pcicfg"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
)

// maxRequest is the largest size of a request, in bytes. No request crosses a
// multiple of it.
const maxRequest = 4 * port.MaxLen

// A pending is a request of the host in flight, by tag.
type pending struct {
	state pendingState
	req   port.Request
	dst   []byte // complete destination of a read
	got   int    // bytes of dst, or beats of a request without dst
}

type pendingState uint8

const (
	tagFree pendingState = iota
	tagWaits
	tagLost // timed out; a late completion is dropped
)

// requests are the host's requests in flight.
type requests struct {
	tags     [256]pending
	next     uint8
	waiting  int
	progress uint64      // clock of the last request or completion
	failed   port.Status // first bad status of the call
	failedAt uint64      // address of that request
}

// ReadConfig reads one dword of configuration space.
func (l *Link) ReadConfig(off int) (uint32, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.checkConfig("read", off); err != nil {
		return 0, err
	}
	return l.readConfig(off)
}

// WriteConfig writes one dword of configuration space and waits for its
// completion.
func (l *Link) WriteConfig(off int, v uint32) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.checkConfig("write", off); err != nil {
		return err
	}
	if off >= pcicfg.BAR0 && off <= pcicfg.BAR5 {
		l.bars.known = false
	}
	binary.LittleEndian.PutUint32(l.word[:], v)
	l.begin()
	l.issue(port.Request{Kind: port.CfgWrite, Len: 1, Addr: uint64(off)}, l.word[:4])
	return l.finish("configuration write", off, 0)
}

func (l *Link) checkConfig(what string, off int) error {
	if err := l.usable(); err != nil {
		return err
	}
	if off < 0 || off > 0xffc || off%4 != 0 {
		return fmt.Errorf("%w: configuration %s at %#x, want a multiple of 4 below 0x1000", bus.ErrArgument, what, off)
	}
	return nil
}

func (l *Link) readConfig(off int) (uint32, error) {
	l.begin()
	l.issue(port.Request{Kind: port.CfgRead, Len: 1, Addr: uint64(off)}, l.word[:4])
	if err := l.finish("configuration read", off, 0); err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint32(l.word[:]), nil
}

// Read fills p from a BAR, with requests of up to 128 bytes, several at a time.
// It returns an error of a request after all requests have ended.
func (l *Link) Read(bar int, off uint64, p []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	addr, err := l.resolve("read", bar, off, len(p))
	if err != nil {
		return err
	}
	l.begin()
	base := addr - off
	for len(p) > 0 && l.requests.failed == port.CplNone && l.down == nil {
		if l.requests.waiting == l.opt.Tags {
			l.await(l.opt.Tags - 1)
			continue
		}
		n := chunk(addr, len(p))
		l.issue(port.Request{Kind: port.MemRead, Len: uint8(n / 4), Addr: addr}, p[:n])
		addr, p = addr+uint64(n), p[n:]
	}
	return l.finish("read", bar, base)
}

// Write sends p to a BAR and returns when its last beat is on the wire. If the
// device accepts nothing for Options.Timeout, the link goes down, because part
// of the write is on the wire.
func (l *Link) Write(bar int, off uint64, p []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	addr, err := l.resolve("write", bar, off, len(p))
	if err != nil {
		return err
	}
	l.begin()
	for len(p) > 0 && l.down == nil {
		n := chunk(addr, len(p))
		l.issue(port.Request{Kind: port.MemWrite, Len: uint8(n / 4), Addr: addr}, p[:n])
		addr, p = addr+uint64(n), p[n:]
	}
	return l.down
}

// chunk returns the number of bytes, of n at addr, in the first request.
func chunk(addr uint64, n int) int {
	return min(n, maxRequest-int(addr%maxRequest))
}

// resolve checks the arguments of a memory access and returns its address.
func (l *Link) resolve(what string, bar int, off uint64, n int) (uint64, error) {
	if err := l.usable(); err != nil {
		return 0, err
	}
	if bar < 0 || bar > 5 || off%4 != 0 || n%4 != 0 || off+uint64(n) < off {
		return 0, fmt.Errorf("%w: %s of %d bytes at BAR %d offset %#x, want multiples of 4", bus.ErrArgument, what, n, bar, off)
	}
	if n == 0 {
		return 0, nil
	}
	if err := l.learnBARs(); err != nil {
		return 0, fmt.Errorf("inproc: %s at BAR %d offset %#x: %w", what, bar, off, err)
	}
	b := l.bars.bar[bar]
	addr, ok := b.Address(off, n)
	if !ok {
		return 0, fmt.Errorf("%w: %s of %d bytes at BAR %d offset %#x: %s", bus.ErrArgument, what, n, bar, off, b)
	}
	return addr, nil
}

// begin starts a call.
func (l *Link) begin() {
	l.requests.failed = port.CplNone
	l.requests.progress = l.now
}

// issue sends a request. A write sends the data in p; a read stores its data
// there.
func (l *Link) issue(req port.Request, p []byte) {
	w := &l.wire
	for w.requests.full() && l.down == nil {
		l.stall()
	}
	if l.down != nil {
		return
	}
	if req.Kind != port.MemWrite && !l.takeTag(&req, p) {
		return
	}
	w.requests.push(downRequest{l.now + w.latency, req})
	if req.Kind == port.MemRead || req.Kind == port.CfgRead {
		l.stats.HostReads++
		l.observe(Down, req, port.CplNone, nil)
		return
	}
	l.stats.HostWrites++
	l.stats.BytesDown += uint64(len(p))
	l.observe(Down, req, port.CplNone, p)
	if req.Kind == port.MemWrite {
		w.writesSent++
	}
	w.tx = transmit{addr: req.Addr, data: p}
	l.transmit()
}

// transmit runs clocks until the wire has taken the beats of a write.
func (l *Link) transmit() {
	tx := &l.wire.tx
	for left := len(tx.data); left > 0 && l.down == nil; left = len(tx.data) {
		l.clock()
		if len(tx.data) < left {
			l.requests.progress = l.now
		}
		l.checkStall()
	}
	*tx = transmit{}
}

// stall runs a clock in which the call waits for the device to accept
// something.
func (l *Link) stall() {
	before := l.wire.requests.n
	l.clock()
	if l.wire.requests.n < before {
		l.requests.progress = l.now
	}
	l.checkStall()
}

func (l *Link) checkStall() {
	if l.now-l.requests.progress > l.opt.Timeout {
		l.fail(fmt.Errorf("%w: the device accepts no request for %d clocks", bus.ErrTimeout, l.opt.Timeout))
	}
}

// takeTag assigns a tag to a request. Tags of timed-out requests stay reserved
// until the late completion arrives; without a free tag the link goes down.
func (l *Link) takeTag(req *port.Request, dst []byte) bool {
	r := &l.requests
	for range r.tags {
		p := &r.tags[r.next]
		if p.state != tagFree {
			r.next++
			continue
		}
		req.Tag = r.next
		r.next++
		*p = pending{state: tagWaits, req: *req, dst: dst}
		r.waiting++
		r.progress = l.now
		return true
	}
	l.fail(fmt.Errorf("%w: all %d tags wait for late completions", bus.ErrTimeout, len(r.tags)))
	return false
}

// await runs clocks until at most n requests wait, or the wait times out.
func (l *Link) await(n int) {
	r := &l.requests
	for r.waiting > n && l.down == nil {
		if l.now-r.progress >= l.opt.Timeout {
			l.giveUp()
			return
		}
		l.advance(r.progress + l.opt.Timeout)
	}
}

// giveUp times out the waiting requests.
func (l *Link) giveUp() {
	r := &l.requests
	for i := range r.tags {
		if r.tags[i].state == tagWaits {
			r.tags[i].state = tagLost
			r.tags[i].dst = nil
			r.setFailed(statusTimeout, r.tags[i].req.Addr)
		}
	}
	r.waiting = 0
}

// statusTimeout is the status of a request without completion.
const statusTimeout port.Status = 0xff

func (r *requests) setFailed(s port.Status, addr uint64) {
	if r.failed == port.CplNone || r.failed == s && addr < r.failedAt {
		r.failed, r.failedAt = s, addr
	}
}

// finish waits for the completions of a call and returns its error. where is an
// offset in configuration space, or the number of the BAR with the given base.
func (l *Link) finish(what string, where int, base uint64) error {
	l.await(0)
	if l.down != nil {
		return l.down
	}
	kind := error(nil)
	switch l.requests.failed {
	case port.CplNone:
		return nil
	case port.CplUnsupported:
		kind = bus.ErrUnsupported
	case port.CplAbort:
		kind = bus.ErrAbort
	default:
		kind = fmt.Errorf("%w: no completion for %d clocks", bus.ErrTimeout, l.opt.Timeout)
	}
	if what == "read" {
		return fmt.Errorf("%w: %s at BAR %d offset %#x", kind, what, where, l.requests.failedAt-base)
	}
	return fmt.Errorf("%w: %s at %#x", kind, what, where)
}
