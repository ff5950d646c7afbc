// Package inject injects faults between a host and a board, where a cable would be: reads of
// the device that nobody answers, interrupt messages and register writes that are lost, and a
// board that is pulled out. So a fault needs no help of the board, and hits a chosen access.
package inject

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/hilgpu/hilgpu/bus"
)

// errUnplugged is the cause of a link whose board was pulled out.
var errUnplugged = fmt.Errorf("%w: the board was unplugged", bus.ErrLinkDown)

// errLost is returned to the device for an access that does not reach the host.
var errLost = errors.New("inject: the access is lost")

// Messages are the addresses of the interrupt messages of a PC.
const (
	messageBase = 0xfee0_0000
	messageEnd  = 0xfef0_0000
)

// An Injector is between a host and the link to a board. Its methods are safe for concurrent
// use. The zero value injects nothing.
type Injector struct {
	mu        sync.Mutex
	reads     []*span // of host memory: the next read of each is not answered
	messages  int     // that will be lost
	doubled   bool    // messages arrive twice
	writes    []*loss
	lost      map[uint64]uint64 // writes that were lost, by register
	lostReads map[uint64]uint64 // reads that were lost, by the begin of their range
	cut       *cut              // that will be; nil: none
	mute      bool              // the link is cut and has not noticed it
	unplugged bool
	counts    Counts
}

// A cut is that of the link at a write of a BAR.
type cut struct {
	bar    int
	left   int // writes before it
	silent bool
}

// Counts are the numbers of reads and messages that were lost.
type Counts struct {
	Reads, Messages uint64
}

// A span is a range of host memory, in bytes.
type span struct{ addr, size uint64 }

// A loss is that of writes of a register in BAR0.
type loss struct {
	off  uint64
	bits uint32 // a write is lost if it sets one of them; 0: every write
	left int
}

// LoseRead leaves the next read of the device that reaches into [addr, addr+size) without an
// answer, until cancel is called.
func (i *Injector) LoseRead(addr, size uint64) (cancel func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	s := &span{addr, size}
	i.reads = append(i.reads, s)
	return func() {
		i.mu.Lock()
		defer i.mu.Unlock()
		i.reads = slices.DeleteFunc(i.reads, func(o *span) bool { return o == s })
	}
}

// LostReads returns how many reads were lost so far that were to be lost in a range that begins at addr.
func (i *Injector) LostReads(addr uint64) uint64 {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.lostReads[addr]
}

// LoseMessages makes the next n interrupt messages disappear.
func (i *Injector) LoseMessages(n int) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.messages += n
}

// DoubleMessages makes each interrupt message arrive twice while on is true.
func (i *Injector) DoubleMessages(on bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.doubled = on
}

// LoseWrites makes the next n writes of a register disappear, until cancel is called: the dword
// at off in BAR0, in bytes. If bits is not 0, only writes that set one of them are lost.
func (i *Injector) LoseWrites(n int, off uint64, bits uint32) (cancel func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	l := &loss{off, bits, n}
	i.writes = append(i.writes, l)
	return func() {
		i.mu.Lock()
		defer i.mu.Unlock()
		i.writes = slices.DeleteFunc(i.writes, func(o *loss) bool { return o == l })
	}
}

// LostWrites returns how many writes of a register were lost so far.
func (i *Injector) LostWrites(off uint64) uint64 {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.lost[off]
}

// Unplug pulls the board out: no access passes in either direction until the link is opened
// again, which hal.Device.Restore does.
func (i *Injector) Unplug() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.unplugged = true
}

// CutAfter cuts the link when n more writes of a BAR have passed, at the next one: as Unplug does or, if silent is
// true, so that the link does not notice it at once. Then it accepts writes, which are lost, and is down from the next
// read or access of configuration space on.
func (i *Injector) CutAfter(n, bar int, silent bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.cut = &cut{bar, n, silent}
}

// Disarm takes back the faults that have hit nothing yet, but does not plug the board in.
func (i *Injector) Disarm() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.reads, i.messages, i.writes, i.cut = nil, 0, nil, nil
}

// Counts returns the numbers of reads and messages that were lost so far.
func (i *Injector) Counts() Counts {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.counts
}

// Host returns h as the device sees it.
func (i *Injector) Host(h bus.Host) bus.Host { return host{h, i} }

// Link returns l as the host sees it.
func (i *Injector) Link(l bus.Link) bus.Link { return link{l, i} }

type host struct {
	bus.Host
	injector *Injector
}

// ReadMem implements bus.Host.
func (h host) ReadMem(addr uint64, p []byte) error {
	lost, gone := h.injector.loses(addr, uint64(len(p)))
	switch {
	case gone:
		return errLost
	case lost:
		return bus.ErrNoAnswer
	}
	return h.Host.ReadMem(addr, p)
}

// WriteMem implements bus.Host.
func (h host) WriteMem(addr uint64, p []byte) error {
	if h.injector.losesMessage(addr) {
		return errLost
	}
	if err := h.Host.WriteMem(addr, p); err != nil || !h.injector.doubles(addr) {
		return err
	}
	return h.Host.WriteMem(addr, p)
}

// PeekMem reads memory without an access of the device, if the host can.
func (h host) PeekMem(addr uint64, p []byte) error {
	if peeker, ok := h.Host.(interface {
		PeekMem(addr uint64, p []byte) error
	}); ok {
		return peeker.PeekMem(addr, p)
	}
	return fmt.Errorf("%w: memory of this host at %#x, without an access", bus.ErrUnsupported, addr)
}

// loses reports whether a read of the device gets no answer, and whether the board is unplugged:
// its end of the link then answers with an error.
func (i *Injector) loses(addr, n uint64) (lost, gone bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for k, s := range i.reads {
		if addr < s.addr+s.size && s.addr < addr+n {
			i.reads = slices.Delete(i.reads, k, k+1)
			i.counts.Reads++
			if i.lostReads == nil {
				i.lostReads = map[uint64]uint64{}
			}
			i.lostReads[s.addr]++
			return true, i.gone()
		}
	}
	return false, i.gone()
}

// gone reports whether no access passes. i.mu is locked.
func (i *Injector) gone() bool { return i.unplugged || i.mute }

// losesMessage reports whether a write of the device is lost.
func (i *Injector) losesMessage(addr uint64) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.messages > 0 && addr >= messageBase && addr < messageEnd {
		i.messages--
		i.counts.Messages++
		return true
	}
	return i.gone()
}

// doubles reports whether a write of the device arrives twice.
func (i *Injector) doubles(addr uint64) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.doubled && addr >= messageBase && addr < messageEnd
}

type link struct {
	bus.Link
	injector *Injector
}

// Unwrap returns the link of the board, for bus.As.
func (l link) Unwrap() bus.Link { return l.Link }

// Reopen plugs the board in, and starts a new session of a link that can.
func (l link) Reopen() error {
	l.injector.mu.Lock()
	l.injector.unplugged, l.injector.mute = false, false
	l.injector.mu.Unlock()
	if r, ok := bus.As[interface{ Reopen() error }](l.Link); ok {
		return r.Reopen()
	}
	return nil
}

// down returns the error of an unplugged board. The caller waits for an answer, so a cut link notices it.
func (l link) down() error {
	l.injector.mu.Lock()
	defer l.injector.mu.Unlock()
	if l.injector.unplugged = l.injector.gone(); l.injector.unplugged {
		return errUnplugged
	}
	return nil
}

// ReadConfig implements bus.Link.
func (l link) ReadConfig(off int) (uint32, error) {
	if err := l.down(); err != nil {
		return 0, err
	}
	return l.Link.ReadConfig(off)
}

// WriteConfig implements bus.Link.
func (l link) WriteConfig(off int, v uint32) error {
	if err := l.down(); err != nil {
		return err
	}
	return l.Link.WriteConfig(off, v)
}

// Read implements bus.Link.
func (l link) Read(bar int, off uint64, p []byte) error {
	if err := l.down(); err != nil {
		return err
	}
	return l.Link.Read(bar, off, p)
}

// Write implements bus.Link.
func (l link) Write(bar int, off uint64, p []byte) error {
	if lost, err := l.injector.cuts(bar); lost || err != nil {
		return err
	}
	if bar == 0 && l.injector.ignores(off, p) {
		return nil
	}
	return l.Link.Write(bar, off, p)
}

// cuts counts a write of a BAR, and reports whether a link that has not noticed its cut loses it. It returns the error of
// an unplugged board.
func (i *Injector) cuts(bar int) (lost bool, err error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if c := i.cut; c != nil && c.bar == bar {
		if c.left--; c.left < 0 {
			i.cut, i.mute, i.unplugged = nil, c.silent, i.unplugged || !c.silent
		}
	}
	if i.unplugged {
		return false, errUnplugged
	}
	return i.mute, nil
}

// ignores reports whether a write of BAR0 is lost.
func (i *Injector) ignores(off uint64, p []byte) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	for k, l := range i.writes {
		if l.off < off || l.off+4 > off+uint64(len(p)) {
			continue
		}
		if v := binary.LittleEndian.Uint32(p[l.off-off:]); l.bits != 0 && v&l.bits == 0 {
			continue
		}
		if l.left--; l.left == 0 {
			i.writes = slices.Delete(i.writes, k, k+1)
		}
		if i.lost == nil {
			i.lost = map[uint64]uint64{}
		}
		i.lost[l.off]++
		return true
	}
	return false
}
