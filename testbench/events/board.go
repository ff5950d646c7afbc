package events

import (
	"encoding/binary"

	"github.com/hilgpu/hilgpu/boards"
	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/rtl/abi/regmap"
	"github.com/hilgpu/hilgpu/runtime/hal"
	"github.com/hilgpu/hilgpu/testbench/eventlog"
)

// HeaderOf returns the header of the log of a board.
func HeaderOf(selector string, hz uint64) eventlog.Header {
	return eventlog.Header{Board: selector, Hz: hz, Map: regmap.Hash(), Observed: boards.Observes(selector)}
}

// A Board is the log of a program that uses a board without the driver stack: the host's
// accesses, the device's fences and messages, and what an emulated GPU does.
type Board struct {
	begin func(h eventlog.Header) (Sink, error)
	r     *Recorder
	Link
}

// NewBoard returns the watcher of a board. begin is called when the board is open.
func NewBoard(begin func(h eventlog.Header) (Sink, error)) *Board { return &Board{begin: begin} }

// Opened implements boards.Watcher.
func (b *Board) Opened(selector string, clock bus.Clock) error {
	h := HeaderOf(selector, clock.Hz())
	sink, err := b.begin(h)
	if err == nil {
		b.r = New(sink, h, clock.Now)
		b.Begin(b.r)
	}
	return err
}

// NotOpened writes the incidents of the link to the log of a board that could not be opened. The error of the
// opening is that of the command, so an error of the log is not returned.
func (b *Board) NotOpened(selector string) {
	if sink, err := b.begin(HeaderOf(selector, 0)); err == nil {
		b.Link.NotOpened(sink)
	}
}

// Accessed implements boards.Watcher.
func (b *Board) Accessed(write bool, bar int, off uint64, p []byte, err error) {
	b.r.Accessed(nil, hal.Access{Write: write, BAR: bar, Offset: off, Data: p, Err: err})
}

// Wrote implements boards.Watcher.
func (b *Board) Wrote(addr uint64, p []byte) {
	switch {
	case b.r == nil:
	case addr >= hal.MessageBase && addr < hal.MessageEnd && len(p) == 4:
		b.r.Arrived(binary.LittleEndian.Uint32(p))
	default:
		b.r.Wrote(addr, p)
	}
}

// Refused implements boards.Watcher.
func (b *Board) Refused(addr uint64, n int, write bool) {
	if b.r != nil {
		b.r.Refused(addr, n, write)
	}
}

// Expect notes that a node is given work that must fault. It may be called once the board is open.
func (b *Board) Expect(node int, cause uint32, addr uint64) {
	if b.r != nil {
		b.r.Expect(node, cause, addr)
	}
}

// Observe implements boards.Watcher.
func (b *Board) Observe(o boards.Observation) {
	if b.r != nil {
		b.r.Observe(o)
	}
}
