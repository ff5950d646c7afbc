package dirty

import (
	"encoding/binary"

	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
)

// Memory layout of a node, in bytes from its half of the host's memory: a ring,
// indirect buffers and data.
const (
	nodeBytes  = memoryBytes / cpreg.Nodes
	ringLog2   = 12
	bufferAt   = 1 << ringLog2 // start of the indirect buffers
	dataAt     = bufferAt + 1<<12
	maxMove    = 2 << 10 // bytes moved by most packets
	longMove   = 64 << 10
	maxPackets = 24
)

// A node is a node used by the session.
type node struct {
	*session
	id   int
	base uint64 // host address of its memory
	next uint32 // next fence id
	wptr uint32 // write pointer in dwords
	used int    // bytes of indirect buffers in use
}

// work resets a node, makes it run packets and leaves it in a state in which it
// is idle.
func (s *session) work(id int) {
	n := &node{session: s, id: id, base: s.mem.base + uint64(id)*nodeBytes, next: s.rng.Uint32()}
	n.set(cpreg.Ctl, cpreg.CtlReset)
	s.settle()
	ring := pkt.Host | n.base
	for _, w := range [][2]uint32{
		{cpreg.RingLo, uint32(ring)}, {cpreg.RingHi, uint32(ring >> 32)}, {cpreg.RingSize, ringLog2},
		{cpreg.Fence, n.next}, {cpreg.LineHi, s.number()},
		{cpreg.Ctl, cpreg.CtlRun | s.rng.Uint32()&cpreg.CtlProtect},
	} {
		n.set(w[0], w[1])
	}
	for range 1 + s.rng.IntN(maxPackets) {
		n.push(n.packet())
	}
	n.ring()
	s.settle()
	n.leave()
}

// set writes a register of the node.
func (n *node) set(off, v uint32) {
	n.write(cpreg.Base+uint32(n.id)*cpreg.Stride+off, v)
}

// ring rings the doorbell.
func (n *node) ring() { n.set(cpreg.Wptr, n.wptr) }

// push writes packets to the ring, which has room for all packets of a session.
func (n *node) push(b []byte) {
	copy(n.mem.bytes[n.id*nodeBytes+4*int(n.wptr):], b)
	n.wptr += uint32(len(b) / 4)
}

// leave leaves the node on an empty ring or already faulted, or makes it fault,
// wait, stop inside a packet, or leave packets in its ring unexecuted.
func (n *node) leave() {
	switch n.rng.IntN(6) {
	case 1:
		n.push(n.bad())
	case 2:
		n.push(n.indirect(append(n.packet(), n.bad()...)))
	case 3:
		n.push(encode(pkt.WaitFence{Node: uint8(n.rng.IntN(n.nodes)), Value: n.rng.Uint64() | 1<<63}))
	case 4:
		n.push(n.indirect(n.long()))
		n.ring()
		n.set(cpreg.Preempt, n.rng.Uint32())
	case 5:
		n.set(cpreg.Ctl, 0)
		n.push(n.packet())
	}
	n.ring()
}

// packet returns a random packet, or several packets that belong together.
func (n *node) packet() []byte {
	switch n.rng.IntN(9) {
	case 0:
		return encode(pkt.Fill{Dst: n.place(maxMove, 1), Bytes: n.rng.Uint32N(maxMove), Value: n.rng.Uint64()})
	case 1:
		return encode(pkt.Copy{Src: n.place(maxMove, 1), Dst: n.place(maxMove, 1), Bytes: n.rng.Uint32N(maxMove)})
	case 2:
		return n.rectangle()
	case 3:
		return encode(pkt.WriteReg{Off: idreg.Scratch0 + 4*n.rng.Uint32N(4), Value: n.rng.Uint32()})
	case 4:
		return append(n.signal(), encode(pkt.Timestamp{Addr: n.place(8, 8)}, pkt.Predicate{Addr: n.place(8, 8), NonZero: n.chance(1, 2)})...)
	case 5:
		return n.window()
	case 6:
		return n.context()
	case 7:
		return n.indirect(n.rectangle())
	}
	n.next += n.number() >> 1
	return encode(pkt.Fence{Addr: n.place(8, 8), ID: n.next, IRQ: n.chance(1, 2)})
}

// rectangle returns packets that set both surfaces and move or fill a
// rectangle.
func (n *node) rectangle() []byte {
	format := pkt.Format(n.rng.IntN(int(pkt.Format64) + 1))
	edge := func() uint16 { return uint16(n.rng.IntN(16)) }
	state := func(s pkt.Surface) pkt.SetState {
		return pkt.SetState{Surface: s, Base: n.place(maxMove, 8), Pitch: 128, Format: format, X0: edge(), Y0: edge(), X1: edge(), Y1: edge()}
	}
	b := encode(state(pkt.Source), state(pkt.Dest))
	if n.chance(1, 2) {
		return append(b, encode(pkt.Fill2D{X: edge(), Y: edge(), W: edge(), H: edge(), Value: n.rng.Uint64()})...)
	}
	return append(b, encode(pkt.Copy2D{SrcX: edge(), SrcY: edge(), DstX: edge(), DstY: edge(), W: edge(), H: edge()})...)
}

// signal returns a packet that writes a value and may raise an event, if the device has it.
func (n *node) signal() []byte {
	if !n.caps.Has(caps.Signal) {
		return nil
	}
	return encode(pkt.Signal{Addr: n.place(8, 8), Value: n.rng.Uint64(), IRQ: n.chance(1, 2)})
}

// window returns a packet that sets a window, if the device has windows.
func (n *node) window() []byte {
	if !n.caps.Has(caps.Protection) {
		return encode(pkt.NOP{})
	}
	return encode(pkt.SetWindow{Index: uint8(n.rng.IntN(pkt.Windows)), Writable: n.chance(1, 2), Base: n.place(maxMove, 1), Size: n.rng.Uint64N(maxMove)})
}

// context returns packets that save and restore the context's state, if the
// device has contexts.
func (n *node) context() []byte {
	if !n.caps.Has(caps.Contexts) {
		return encode(pkt.NOP{Skip: 2})
	}
	at := n.place(pkt.StateBytes, pkt.StateBytes)
	return encode(pkt.SaveState{Addr: at}, pkt.RestoreState{Addr: at})
}

// long returns a packet that takes long enough to be preempted inside, and that
// needs no window.
func (n *node) long() []byte {
	bytes := min(longMove, n.vram/2)
	if n.caps.Has(caps.Protection) {
		n.push(encode(pkt.SetWindow{Writable: true, Size: n.vram}))
	}
	return encode(pkt.Fill{Dst: n.rng.Uint64N(n.vram - bytes), Bytes: uint32(min(bytes, 1<<16-1)), Value: n.rng.Uint64()})
}

// bad returns a packet with a random or known opcode and a random body. Most of
// these packets fault.
func (n *node) bad() []byte {
	l := pkt.Table[n.rng.IntN(len(pkt.Table))]
	header := uint32(l.Op)<<24 | min(l.Body, 16)
	if n.chance(1, 4) {
		header = n.rng.Uint32() &^ (pkt.HeaderBody - 0xf)
	}
	b := binary.LittleEndian.AppendUint32(nil, header)
	for range header & pkt.HeaderBody {
		b = binary.LittleEndian.AppendUint32(b, n.rng.Uint32())
	}
	return b
}

// indirect writes packets to an indirect buffer and returns the INDIRECT packet
// that executes it.
func (n *node) indirect(b []byte) []byte {
	at := bufferAt + n.used
	n.used += copy(n.mem.bytes[n.id*nodeBytes+at:n.id*nodeBytes+dataAt], b)
	return encode(pkt.Indirect{Addr: pkt.Host | n.base + uint64(at), Dwords: uint32(len(b) / 4)})
}

// place returns the GPU address of a range of the given size in bytes, a
// multiple of align: in VRAM, in the node's data, or occasionally outside host
// memory.
func (n *node) place(bytes, align uint64) uint64 {
	if n.chance(1, 64) {
		return pkt.Host | n.rng.Uint64()>>(65-n.hostBits)&^(align-1)
	}
	if n.chance(1, 2) {
		return n.rng.Uint64N(n.vram-bytes) &^ (align - 1)
	}
	at := dataAt + n.rng.Uint64N(nodeBytes-dataAt-bytes)&^(align-1)
	return pkt.Host | n.base + at
}

// encode returns the encoded packets.
func encode(packets ...interface {
	Append(b []byte) ([]byte, error)
}) []byte {
	var b []byte
	for _, p := range packets {
		b, _ = p.Append(b) // a packet that cannot be encoded is omitted
	}
	return b
}
