package capture

import (
	"encoding/binary"
	"fmt"
	"time"
)

// A Wire is the link type of the frames that carry the packets of a link
// (tcpdump.org/linktypes.html).
type Wire uint16

// The link types.
const (
	Ethernet Wire = 1   // the frame begins with its Ethernet header
	IP       Wire = 101 // with its IPv4 or IPv6 header
)

// wires are the link types, in the order of Writer.wires.
var wires = [...]Wire{Ethernet, IP}

// maxFrame is the size of the largest frame, in bytes: that of an IP packet.
const maxFrame = 1 << 16

// WriteFrame appends a frame as it was on the wire at a time since 1970. The packets in
// it are records of their own. Readers of this package skip frames. WriteFrame fails with
// ErrPacket for an invalid frame, and with the error of the underlying writer.
func (w *Writer) WriteFrame(wire Wire, dir Dir, at time.Time, frame []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil || w.closed {
		return w.err
	}
	if wire != Ethernet && wire != IP || dir > Up || len(frame) > maxFrame || at.UnixNano() < 0 {
		return fmt.Errorf("%w: frame of %d bytes, link type %d", ErrPacket, len(frame), wire)
	}
	w.buf = w.buf[:0]
	id := w.wire(wire)
	w.buf = appendPacket(w.buf, id, Record{At: time.Duration(at.UnixNano()), Dir: dir, Packet: frame})
	if _, err := w.w.Write(w.buf); err != nil {
		w.err = fmt.Errorf("capture: %w", err)
	}
	return w.err
}

// wire returns the interface number of frames. Before the first one it writes the
// interface.
func (w *Writer) wire(wire Wire) uint32 {
	for i, known := range wires {
		if known != wire {
			continue
		}
		if w.wires[i] == 0 {
			w.buf = appendWire(w.buf, wire)
			w.interfaces++
			w.wires[i] = w.interfaces
		}
		return w.wires[i] - 1
	}
	return 0
}

// appendWire appends the interface description block of frames.
func appendWire(b []byte, wire Wire) []byte {
	b, at := beginBlock(b, blockInterface)
	b = binary.LittleEndian.AppendUint16(b, uint16(wire))
	b = binary.LittleEndian.AppendUint16(b, 0)
	b = binary.LittleEndian.AppendUint32(b, maxFrame)
	b = appendOption(b, optName, "wire")
	b = appendOption(b, optText, "frames that carry the PCIe TLPs")
	b = appendOption(b, optComment, wallTime)
	b = appendOption(b, optResolution, "\x09") // 10^-9 s
	return endBlock(b, at)
}
