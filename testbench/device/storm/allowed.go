package storm

import (
	"fmt"
	"slices"
	"sync"

	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/rtl/refmodel"
	"github.com/hilgpu/hilgpu/testbench/device/bare"
)

// allowed are the accesses that the device may make to host memory in a round: it may read the rings and the
// indirect buffers, and read and write the ranges of the packets. Its methods are safe for concurrent use, since the
// device may be served by another goroutine.
type allowed struct {
	mu     sync.Mutex
	rings  [cpreg.Nodes][]refmodel.Range // of each node
	ranges []allowedRange
	bad    error // of the first other access
}

// An allowedRange is a range of GPU addresses. Each range is for reads or for writes.
type allowedRange struct {
	refmodel.Range
	write bool
}

// begin begins a round, in which only the rings may be read so far.
func (a *allowed) begin() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ranges = a.ranges[:0]
}

// start calls a function that resets a node and gives it another ring. While it runs the node may also read the ring that
// it had. An empty ring is none.
func (a *allowed) start(node int, ring refmodel.Range, start func() error) error {
	a.mu.Lock()
	a.rings[node] = append(a.rings[node], ring)
	a.mu.Unlock()
	err := start()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.rings[node] = []refmodel.Range{ring}
	return err
}

// add allows reads or writes of a range.
func (a *allowed) add(r refmodel.Range, write bool) {
	if r.At&pkt.Host == 0 {
		return
	}
	if !write { // a request for reading has whole dwords
		end := r.At + r.N
		r.At &^= 3
		r.N = (end+3)&^3 - r.At
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ranges = append(a.ranges, allowedRange{r, write})
}

// packet allows the accesses of a packet.
func (a *allowed) packet(v refmodel.Verdict) { v.Accesses(a.add) }

// check is told each access of the device to n bytes of host memory at a bus address.
func (a *allowed) check(addr uint64, n int, write bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	within := func(r refmodel.Range) bool { return r.Holds(addr|pkt.Host, uint64(n)) }
	holds := func(r allowedRange) bool { return r.write == write && within(r.Range) }
	inRing := func(rings []refmodel.Range) bool { return !write && slices.ContainsFunc(rings, within) }
	if a.bad == nil && !slices.ContainsFunc(a.ranges, holds) && !slices.ContainsFunc(a.rings[:], inRing) {
		name := map[bool]string{false: "reads", true: "writes"}[write]
		a.bad = fmt.Errorf("%w: access-outside: it %s %d bytes of host memory at %#x, which no ring, indirect buffer or packet of the round has", ErrDiffers, name, n, addr)
	}
}

// opener returns an opener whose boards tell a their accesses.
func (a *allowed) opener(open bare.Opener) bare.Opener {
	return func(selector string, host bus.Host) (bus.Link, bus.Clock, error) {
		return open(selector, watchedHost{host, a})
	}
}

// A watchedHost is the host of a device whose accesses are checked. Messages are no accesses to memory, and the host
// refuses other addresses.
type watchedHost struct {
	bus.Host
	to *allowed
}

func inMemory(addr uint64) bool {
	return addr >= bare.HostBase && addr < bare.HostBase+cpreg.Nodes*hostShare
}

// ReadMem implements bus.Host.
func (h watchedHost) ReadMem(addr uint64, p []byte) error {
	if inMemory(addr) {
		h.to.check(addr, len(p), false)
	}
	return h.Host.ReadMem(addr, p)
}

// WriteMem implements bus.Host.
func (h watchedHost) WriteMem(addr uint64, p []byte) error {
	if inMemory(addr) {
		h.to.check(addr, len(p), true)
	}
	return h.Host.WriteMem(addr, p)
}

// err returns the error of the first access that was not allowed, or nil.
func (a *allowed) err() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.bad
}
