package sanitize

import (
	"encoding/binary"
	"slices"

	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/testbench/doorbell"
)

// fences are the packets of a ring whose target must be memory of the miniport.
var fences = []string{"FENCE", "SIGNAL", "TIMESTAMP", "SAVE_STATE"}

// Register takes a write of a register of BAR 0 by the CPU on a thread, before the GPU gets it.
func (s *Sanitizer) Register(t *ddi.Thread, off uint64, value uint32) {
	s.bell.Lock()
	defer s.bell.Unlock()
	packets := pad(s.doorbells.Write(off, value))
	var all []access
	if len(packets) > 0 {
		all = s.ringAccesses(packets)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.driver.register(uint32(off), value)
	s.rings(t, off)
	var rings [cpreg.Nodes]span
	for i := range rings {
		rings[i].from, rings[i].to = s.doorbells.Ring(i)
	}
	s.driver.fetch(rings)
	for _, x := range all {
		s.checkRing(x, packets)
		s.driver.give(x)
	}
}

// pad gives each packet of which package doorbell leaves a part out its length, with zeros. Only a NOP is
// so long.
func pad(packets []doorbell.Packet) []doorbell.Packet {
	for i := range packets {
		p := &packets[i]
		if len(p.Data) < doorbell.MaxPacket {
			continue
		}
		n := 4 * (1 + int(binary.LittleEndian.Uint32(p.Data)&pkt.HeaderBody))
		p.Data = append(p.Data, make([]byte, n-len(p.Data))...)
	}
	return packets
}

// ringAccesses returns what packets of a ring read and write, and what those of a buffer in the
// miniport's memory do. The offset of the latter is that of the packet that executes the buffer.
func (s *Sanitizer) ringAccesses(packets []doorbell.Packet) []access {
	var commands []byte
	var buffers []access
	for _, p := range packets {
		at := uint32(len(commands))
		commands = append(commands, p.Data...)
		d, _, err := pkt.Decode(p.Data)
		in, ok := d.(pkt.Indirect)
		if err != nil || !ok {
			continue
		}
		n := 4 * uint64(in.Dwords)
		from := in.Addr &^ (fetchBytes - 1)
		body := rows{from: from, width: (in.Addr+n+fetchBytes-1)&^(fetchBytes-1) - from, n: 1}
		s.mu.Lock()
		own := s.driver.has(span{in.Addr, in.Addr + n})
		s.mu.Unlock()
		if b := make([]byte, n); own && s.peek(in.Addr&^pkt.Host, b) == nil {
			inside, _ := accesses(b, 0)
			for i := range inside {
				inside[i].at = at
			}
			buffers = append(buffers, access{op: "INDIRECT", at: at, bytes: body.span(), rows: body})
			buffers = append(buffers, inside...)
		}
	}
	all, _ := accesses(commands, 0)
	return append(all, buffers...)
}

// checkRing checks a write of a packet of a ring: it leaves rings, tables and windows alone, and a fence
// goes to memory of the miniport.
func (s *Sanitizer) checkRing(x access, packets []doorbell.Packet) {
	if !x.writes || !s.on {
		return
	}
	p := packetAt(packets, x.at)
	found := func(where string) {
		s.find("access-driver", submitFunction, "%s at %s in the ring of node %d %s, %s", x.op, pkt.FormatAddr(p.Address), p.Node, x, where)
	}
	fence := slices.Contains(fences, x.op)
	switch use := s.driver.use(x.bytes); {
	case use != "":
		found(use)
	case !fence:
	case x.bytes.from&pkt.Host == 0:
		if h, ok := s.at(x.bytes, 0); ok {
			found("the place of " + s.of(h))
		}
	case !s.driver.has(x.bytes):
		found("want memory of the miniport")
	}
}

// packetAt returns the packet at an offset in the bytes of all.
func packetAt(packets []doorbell.Packet, at uint32) doorbell.Packet {
	i := 0
	for ; at >= uint32(len(packets[i].Data)); i++ {
		at -= uint32(len(packets[i].Data))
	}
	return packets[i]
}

// accessedDriver checks an access of the miniport's memory by the device.
func (s *Sanitizer) accessedDriver(at span, writes bool) {
	if s.driver.allows(at, writes) {
		return
	}
	did, does := verbs(writes)
	s.find("access-driver", submitFunction, "the GPU %s %s, memory of the miniport that no packet of a ring %s%s", did, at, does, s.hardware())
}
