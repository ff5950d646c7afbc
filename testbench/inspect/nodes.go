package inspect

import (
	"encoding/binary"
	"errors"
	"net/http"

	"github.com/hilgpu/hilgpu/boards/regs"
	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/rtl/abi/tracereg"
)

// Nodes are the rings of all nodes.
type Nodes struct {
	Nodes []Node `json:"nodes"`
}

// A Node is what the registers tell of a node and its ring.
type Node struct {
	Node    int    `json:"node"`
	Status  string `json:"status"`  // decoded
	Base    string `json:"base"`    // of the ring, and whether it is in VRAM or in host memory
	Dwords  uint32 `json:"dwords"`  // of the ring
	Rptr    uint32 `json:"rptr"`    // in dwords
	Wptr    uint32 `json:"wptr"`    // in dwords
	Waiting uint32 `json:"waiting"` // dwords from RPTR to WPTR
	Fence   uint32 `json:"fence"`
	Fault   string `json:"fault,omitempty"` // decoded, if there is one

	// Next are the first packets from RPTR to WPTR, on a GPU emulated in this process.
	Next []string `json:"next"`

	// Packets are the last packets that the node has executed, the newest first.
	Packets []Packet `json:"packets"`
	NoTrace bool     `json:"no_trace,omitempty"` // the device does not record packets
}

// A Packet is an executed packet.
type Packet struct {
	Name   string   `json:"name"`
	Addr   string   `json:"addr"` // of the header
	Header regs.Hex `json:"header"`
	Time   uint32   `json:"time"` // low half of ID.TIME when it retired
}

func (s *Server) ring(r *http.Request) (answer any, err error) {
	err = s.with(r.Context(), func(b *board, f *regs.Function) error {
		answer, err = b.nodes(f)
		return err
	})
	return answer, err
}

// nodes decodes the rings.
func (b *board) nodes(f *regs.Function) (Nodes, error) {
	all := Nodes{Nodes: []Node{}}
	for n := range f.Identity().Nodes {
		d := decoder{board: b}
		node := d.node(n)
		_, err := b.burst(tracereg.Base + uint32(n)*tracereg.Stride)
		if node.NoTrace = errors.Is(err, errRefused); !node.NoTrace {
			node.Packets = d.packets(n)
		}
		if d.err != nil {
			return all, d.err
		}
		all.Nodes = append(all.Nodes, node)
	}
	return all, nil
}

// A decoder reads registers. The first error stays.
type decoder struct {
	*board
	err error
}

func (d *decoder) get(off uint32) uint32 {
	if d.err != nil {
		return 0
	}
	w, err := d.word(off)
	d.err = err
	return w.value
}

func (d *decoder) pair(off uint32) uint64 { return uint64(d.get(off+4))<<32 | uint64(d.get(off)) }

func (d *decoder) node(n int) Node {
	base := cpreg.Base + uint32(n)*cpreg.Stride
	node := Node{
		Node: n, Base: pkt.FormatAddr(d.pair(base + cpreg.RingLo)), Rptr: d.get(base + cpreg.Rptr), Wptr: d.get(base + cpreg.Wptr),
		Fence: d.get(base + cpreg.Fence), Next: d.next(base), Packets: []Packet{},
	}
	if size := d.get(base+cpreg.RingSize) & cpreg.RingSizeLog2; size >= 2 {
		node.Dwords = 1 << (size - 2)
		node.Waiting = (node.Wptr - node.Rptr) & (node.Dwords - 1)
	}
	node.Status = d.format(base + cpreg.Status)
	if d.get(base+cpreg.FaultInfo)&cpreg.FaultCause != cpreg.CauseNone {
		node.Fault = d.format(base+cpreg.FaultInfo) + " at " + pkt.FormatAddr(d.pair(base+cpreg.FaultLo))
	}
	return node
}

// nextBytes bounds what is decoded of a ring, in bytes.
const nextBytes = 256

// next decodes the packets from RPTR to WPTR of a node that runs. These are in memory that belongs
// to the device, so the host does not write there meanwhile.
func (d *decoder) next(base uint32) []string {
	lines := []string{}
	if d.twin == nil {
		return lines
	}
	d.twin.Twin(func(l bus.Link, memory func(uint64, []byte) error) {
		var p [cpreg.Wptr + 4]byte
		if l.Read(0, uint64(base), p[:]) != nil {
			return
		}
		w, ok := windowOf(p[:])
		if text, err := w.read(l, memory); ok && err == nil {
			lines = append(lines, pkt.Disassemble(text, w.ring+w.rptr)...)
		}
	})
	return lines
}

// A window is the part of a ring from RPTR to WPTR. Its members are in bytes.
type window struct{ ring, size, rptr, len uint64 }

// windowOf returns the window of a node, given its first registers. It reports false if the node
// does not run, or if its registers are no window.
func windowOf(p []byte) (window, bool) {
	at := func(off int) uint64 { return uint64(binary.LittleEndian.Uint32(p[off:])) }
	w := window{ring: at(cpreg.RingHi)<<32 | at(cpreg.RingLo), size: 1 << (at(cpreg.RingSize) & cpreg.RingSizeLog2), rptr: 4 * at(cpreg.Rptr)}
	wptr := 4 * at(cpreg.Wptr)
	if at(cpreg.Ctl)&cpreg.CtlRun == 0 || max(w.rptr, wptr) >= w.size {
		return window{}, false
	}
	w.len = min((wptr-w.rptr)&(w.size-1), nextBytes)
	return w, true
}

// read reads the window, which may go on at the beginning of the ring.
func (w window) read(l bus.Link, memory func(uint64, []byte) error) ([]byte, error) {
	text := make([]byte, w.len)
	first := min(w.len, w.size-w.rptr)
	read := func(addr uint64, p []byte) error {
		switch {
		case len(p) == 0:
			return nil
		case addr&pkt.Host != 0:
			return memory(addr&^pkt.Host, p)
		}
		return l.Read(vramBAR, addr, p)
	}
	return text, errors.Join(read(w.ring+w.rptr, text[:first]), read(w.ring, text[first:]))
}

// vramBAR is the BAR with the aperture to VRAM.
const vramBAR = 2

// format returns a register with its fields.
func (d *decoder) format(off uint32) string {
	for _, e := range d.device.Names().Entries() {
		if e.Off() == off {
			return e.Format(d.get(off))
		}
	}
	return ""
}

// packets returns the trace of a node.
func (d *decoder) packets(n int) []Packet {
	all := []Packet{}
	for i := range uint32(tracereg.Entries) {
		at := tracereg.Base + uint32(n)*tracereg.Stride + i*tracereg.Entry
		header, addr := d.get(at+tracereg.Header), d.pair(at+tracereg.AddrLo)
		if d.err != nil || addr&tracereg.Valid == 0 {
			return all
		}
		name := "unknown"
		if l, ok := pkt.Lookup(uint8(header >> 24)); ok {
			name = l.Name
		}
		all = append(all, Packet{name, pkt.FormatAddr(addr &^ tracereg.Valid), regs.Hex(header), d.get(at + tracereg.Time)})
	}
	return all
}
