package pins

import (
	"encoding/binary"
	"hash/crc32"

	"github.com/hilgpu/hilgpu/rtl/eth/mac"
)

// An EtherTop is the top of a board on Ethernet.
type EtherTop interface {
	// Symbol returns what the board sends.
	Symbol() (valid bool, s mac.Symbol)

	// Tick advances one clock. rx is what the PHY has received; ready, the symbol is taken.
	Tick(rx mac.Byte, ready bool)
}

// An EtherBatch is the same, for many clocks at once. rx has what the PHY has received in each
// clock, and Run stores in tx the symbol that the board offers after it, which is idle where
// there is none. Each is taken.
type EtherBatch interface {
	Run(rx []mac.Byte, tx []mac.Symbol) error

	// Reset is a clock with the reset input set.
	Reset() error
}

// EtherClocked makes an EtherBatch of an EtherTop. Its Reset fails if the top has none.
func EtherClocked(top EtherTop) EtherBatch { return etherClocked{top} }

type etherClocked struct{ EtherTop }

func (c etherClocked) Run(rx []mac.Byte, tx []mac.Symbol) error {
	for i, b := range rx {
		c.Tick(b, true)
		tx[i] = mac.Symbol{}
		if valid, s := c.Symbol(); valid {
			tx[i] = s
		}
	}
	return nil
}

func (c etherClocked) Reset() error { return reset(c.EtherTop) }

// An Ether drives a board at its PHY: whole frames, without preamble and FCS, go in and come
// out. A byte takes a clock each way, as at the slower side of the queues of the shell. It is
// not safe for concurrent use.
type Ether struct {
	top    EtherBatch
	faults *etherFaulter
	err    error

	now      uint64 // clocks
	rx       [Delay]mac.Byte
	tx       [Delay]mac.Symbol
	queue    []etherByte // for the board
	next     uint64      // clock after the gap that follows the last frame
	line     []byte      // the frame that the board sends, from the preamble on
	down, up uint64      // bytes on the line
}

// An etherByte is for the board in a clock.
type etherByte struct {
	at   uint64
	what mac.Byte
}

// NewEther returns a driver of a board, with faults at its PHY.
func NewEther(top EtherBatch, f EtherFaults) *Ether {
	return &Ether{top: top, faults: newEtherFaulter(f)}
}

// Err returns why the board has failed, or nil.
func (e *Ether) Err() error { return e.err }

// Faulty returns the faults injected so far.
func (e *Ether) Faulty() FaultStats { return e.faults.stats }

// Send puts a frame on the line to the board: its addresses, its type and its data. Short
// ones are padded.
func (e *Ether) Send(f []byte) { e.send(f, 0) }

// send is Send in the given clock or later.
func (e *Ether) send(f []byte, from uint64) {
	f = append([]byte(nil), f...)
	for len(f) < mac.MinFrame-mac.FCSBytes {
		f = append(f, 0)
	}
	f = binary.LittleEndian.AppendUint32(f, crc32.ChecksumIEEE(f))
	f = e.faults.change(f)
	begin := max(e.next, e.now+Delay, from)
	if e.faults.out(begin) {
		e.next = begin + uint64(mac.PreambleBytes+len(f)+mac.GapBytes)
		return
	}
	at := begin
	put := func(b mac.Byte) {
		e.queue = append(e.queue, etherByte{at, b})
		at++
	}
	for range mac.PreambleBytes - 1 {
		put(mac.Byte{Valid: true, Data: preamble})
	}
	put(mac.Byte{Valid: true, Data: delimiter})
	for _, b := range f {
		put(mac.Byte{Valid: true, Data: b})
	}
	put(mac.Byte{Valid: true, End: true})
	e.down += at - 1 - begin // without the end of the carrier
	e.next = at + mac.GapBytes
}

// Bytes before a frame (IEEE 802.3-2018 §3.2.1, §3.2.2).
const (
	preamble  = 0x55
	delimiter = 0xd5
)

// drop drops what is on the line to the board.
func (e *Ether) drop() {
	rest := e.queue[:0]
	if len(e.queue) > 0 && e.queue[0].at < e.now+Delay {
		rest = append(rest, etherByte{e.queue[0].at, mac.Byte{Valid: true, End: true}})
	}
	e.queue = rest
}

// Tick advances one clock. It returns a frame that the board has sent, or nil: its addresses,
// its type and its data, with any padding. A frame that is wrong is dropped.
func (e *Ether) Tick() []byte {
	at := e.now % Delay
	if at == 0 {
		e.run()
	}
	e.now++
	s := e.tx[at]
	if !s.Enable {
		return nil
	}
	e.up++
	e.line = append(e.line, s.Data)
	if !s.Last {
		return nil
	}
	f := e.line
	e.line = nil
	if e.now <= e.faults.in+uint64(len(f)) { // it began before the cable was in again
		return nil
	}
	return whole(f)
}

// whole returns a frame without preamble and FCS, or nil if it is wrong.
func whole(f []byte) []byte {
	n := len(f) - mac.FCSBytes
	if n < mac.PreambleBytes+mac.MinFrame-mac.FCSBytes || f[mac.PreambleBytes-1] != delimiter {
		return nil
	}
	body := f[mac.PreambleBytes:n]
	if binary.LittleEndian.Uint32(f[n:]) != crc32.ChecksumIEEE(body) {
		return nil
	}
	return body
}

// run runs the board for a batch.
func (e *Ether) run() {
	if e.err != nil {
		return
	}
	for i := range e.rx {
		e.rx[i] = mac.Byte{}
		if len(e.queue) > 0 && e.queue[0].at <= e.now+uint64(i) {
			e.rx[i], e.queue = e.queue[0].what, e.queue[1:]
		}
	}
	if e.faults.resets() {
		e.err, e.line = e.top.Reset(), nil
	}
	if e.err == nil {
		e.err = e.top.Run(e.rx[:], e.tx[:])
	}
}
