package rootport

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/bus/tlp"
)

// errRetry is the failure of a configuration request for which the function was
// not ready.
var errRetry = errors.New("rootport: configuration request retry status")

// retryAfter is the time after which such a request is sent again.
const retryAfter = time.Millisecond

// ReadConfig reads one dword of configuration space. While the function is not
// ready, the request is repeated until the time-out.
func (r *RootPort) ReadConfig(off int) (uint32, error) {
	r.enter()
	defer r.leave()
	if err := r.checkConfig("read", off); err != nil {
		return 0, err
	}
	return r.readConfig(off)
}

// WriteConfig writes one dword of configuration space and waits for its
// completion.
func (r *RootPort) WriteConfig(off int, v uint32) error {
	r.enter()
	defer r.leave()
	if err := r.checkConfig("write", off); err != nil {
		return err
	}
	if forgets(off) {
		r.function.known = false
	}
	binary.LittleEndian.PutUint32(r.word[:], v)
	return r.config(tlp.CfgWr0, off)
}

func (r *RootPort) checkConfig(what string, off int) error {
	if err := r.usable(); err != nil {
		return err
	}
	if off < 0 || off > 0xffc || off%4 != 0 {
		return fmt.Errorf("%w: configuration %s at %#x, want a multiple of 4 below 0x1000", bus.ErrArgument, what, off)
	}
	return nil
}

func (r *RootPort) readConfig(off int) (uint32, error) {
	if err := r.config(tlp.CfgRd0, off); err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint32(r.word[:]), nil
}

// config moves one dword between r.word and configuration space.
func (r *RootPort) config(kind tlp.Kind, off int) error {
	deadline := r.now() + r.patience(4)
	for {
		r.requests.failure = failure{}
		r.request(kind, uint64(off), r.word[:], deadline)
		r.await(0)
		if r.requests.failure.kind != errRetry || r.down != nil {
			break
		}
		again := r.now() + retryAfter
		if again >= deadline {
			r.requests.failure = failure{kind: bus.ErrTimeout, addr: uint64(off), why: "the function is not ready"}
			break
		}
		r.stats.Retries++
		for r.now() < again && r.down == nil {
			r.pump(again)
		}
	}
	if kind == tlp.CfgRd0 {
		return r.result("configuration read", off, 0, 4)
	}
	return r.result("configuration write", off, 0, 4)
}

// Read fills p from a BAR, with several requests in flight. It returns an error
// of a request after all requests have ended.
func (r *RootPort) Read(bar int, off uint64, p []byte) error {
	r.enter()
	defer r.leave()
	addr, err := r.resolve("read", bar, off, len(p))
	if err != nil {
		return err
	}
	r.requests.failure = failure{}
	size, base := len(p), addr-off
	for len(p) > 0 && r.requests.failure.kind == nil && r.down == nil {
		if len(r.requests.waiting) >= r.opt.Tags {
			r.await(r.opt.Tags - 1)
			continue
		}
		n := chunk(addr, len(p), r.largestRead())
		kind := tlp.MRd32
		if addr>>32 != 0 {
			kind = tlp.MRd64
		}
		r.request(kind, addr, p[:n], 0)
		addr, p = addr+uint64(n), p[n:]
	}
	r.await(0)
	return r.result("read", bar, base, size)
}

// Write sends p to a BAR and returns when the port has accepted it. It fails
// with bus.ErrTimeout and the number of bytes accepted so far if the port has
// no room for a packet for Options.Timeout.
func (r *RootPort) Write(bar int, off uint64, p []byte) error {
	r.enter()
	defer r.leave()
	addr, err := r.resolve("write", bar, off, len(p))
	if err != nil {
		return err
	}
	for done := 0; done < len(p); {
		n := chunk(addr, len(p)-done, max(4, min(r.function.payload, r.cut)))
		if err := r.write(addr, p[done:done+n]); err != nil {
			if r.down != nil {
				return r.down
			}
			return fmt.Errorf("%w: write of %d bytes at BAR %d offset %#x, of which %d were accepted", err, len(p), bar, off, done)
		}
		addr, done = addr+uint64(n), done+n
	}
	return nil
}

// largestRead returns the size of the largest read of the device's memory: the option, or
// what the port carries in one packet if that is less. An endpoint may answer in parts
// that end at multiples of 128 bytes, so a port that carries less than those must get one
// packet as its answer.
func (r *RootPort) largestRead() int { return max(4, min(r.opt.MaxReadRequest, r.cut)) }

// chunk returns the number of bytes, of n at addr, in the first packet: no
// packet crosses a multiple of limit.
func chunk(addr uint64, n, limit int) int { return min(n, limit-int(addr%uint64(limit))) }

// write sends one packet.
func (r *RootPort) write(addr uint64, p []byte) error {
	kind := tlp.MWr32
	if addr>>32 != 0 {
		kind = tlp.MWr64
	}
	r.out = tlp.Packet{Kind: kind, Len: len(p) / 4, First: 0xf, Last: lastEnables(len(p)), Addr: addr, Data: p}
	if err := r.encode(); err != nil {
		return err
	}
	return r.transmit()
}

// lastEnables returns the last enables of a packet of n bytes, without gaps.
func lastEnables(n int) uint8 {
	if n == 4 {
		return 0
	}
	return 0xf
}

// encode encodes r.out into r.buf.
func (r *RootPort) encode() error {
	buf, err := r.out.Append(r.buf[:0])
	r.buf, r.out.Data = buf, nil
	return err
}

// request sends one non-posted request; p is the data of a configuration write,
// or the destination of a read. A deadline of 0 means Options.Timeout after the
// port has accepted the request. Errors are recorded as the failure of the
// call.
func (r *RootPort) request(kind tlp.Kind, addr uint64, p []byte, deadline time.Duration) {
	q := &r.requests
	tag, ok := q.take(r.now())
	if !ok {
		r.fail(fmt.Errorf("%w: all %d tags wait for late completions", bus.ErrTimeout, len(q.tags)))
		return
	}
	r.out = tlp.Packet{Kind: kind, Len: len(p) / 4, Requester: hostID, Tag: uint16(tag), First: 0xf, Last: lastEnables(len(p)), Addr: addr}
	req := request{state: tagWaits, kind: kind, addr: addr, size: len(p), left: len(p), dst: p}
	switch kind {
	case tlp.CfgWr0:
		r.out.Completer, r.out.Data, req.dst = deviceID, p, nil
	case tlp.CfgRd0:
		r.out.Completer = deviceID
	default:
		req.lower = tlp.LowerAddress(addr, 0xf)
	}
	err := r.encode()
	if err == nil {
		err = r.transmit()
	}
	if err != nil {
		q.fail(err, addr, len(p), "")
		return
	}
	req.sent, req.deadline = r.now(), deadline
	if deadline == 0 {
		req.deadline = req.sent + r.patience(len(p))
	}
	q.tags[tag] = req
	q.waiting = append(q.waiting, tag)
}

// headerBytes is about what a packet needs on a link beyond its data.
const headerBytes = 24

// maxAhead bounds what a slow path adds to a time-out: the rate of the path is measured,
// and the other end can falsify it.
const maxAhead = 30 * time.Second

// patience returns the completion time-out of a request for n bytes that has just been
// accepted.
func (r *RootPort) patience(n int) time.Duration {
	n += headerBytes
	for _, tag := range r.requests.waiting {
		n += r.requests.tags[tag].left + headerBytes
	}
	return r.opt.Timeout + min(r.port.Ahead(n), maxAhead)
}

// result returns the error of a call. where is an offset in configuration
// space, or the number of the BAR with the given base.
func (r *RootPort) result(what string, where int, base uint64, size int) error {
	f := &r.requests.failure
	if r.down != nil || f.kind == nil {
		return r.down
	}
	why := f.why
	if why != "" {
		why = ": " + why
	}
	if what != "read" {
		return fmt.Errorf("%w: %s at %#x%s", f.kind, what, where, why)
	}
	part := ""
	if f.size != size {
		part = fmt.Sprintf(", in a read of %d", size)
	}
	return fmt.Errorf("%w: read of %d bytes at BAR %d offset %#x%s%s", f.kind, f.size, where, f.addr-base, part, why)
}
