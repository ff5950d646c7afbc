package bringup

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/testbench/device/bare"
)

// ringTurns is the number of times that the ring wraps.
const ringTurns = 4

// ringWrap fills the smallest ring with NOPs of every length and copies within host
// memory until it has wrapped ringTurns times, with packets across its end.
func ringWrap(s *session) outcome {
	var f finding
	n, problem := s.newNode(minRing)
	if problem != "" {
		f.add("", "%s", problem)
		return f.outcome("")
	}
	before := s.Reg(node0 + cpreg.Packets)
	src, dst := s.Host.Mem[dataAt:][:64], s.Host.Mem[dataAt+4096:][:64]
	rng := s.rng(6)
	packets, moved := uint32(0), uint32(0)
	for turn := 0; moved < ringTurns*n.Dwords() && problem == "" && s.Err == nil; turn++ {
		for i := range src {
			src[i] = byte(rng.Uint32())
		}
		nop := pkt.NOP{Skip: uint16(turn % 23)}
		problem = n.do(nop, pkt.Copy{Src: pkt.Host | (bare.HostBase + dataAt), Dst: pkt.Host | (bare.HostBase + dataAt + 4096), Bytes: 64})
		moved += 1 + uint32(nop.Skip) + 1 + pkt.CopyBody
		packets += 2
		if problem == "" && !bytes.Equal(src, dst) && s.Err == nil {
			f.add("packets across the end of the ring", "the copy that ends at dword %d of %d did not move its data", n.Wptr(), n.Dwords())
		}
	}
	if problem != "" {
		f.add("packets across the end of the ring, or the pointers", "after %d dwords of a ring of %d: %s", moved, n.Dwords(), problem)
	} else if got := s.Reg(node0+cpreg.Packets) - before; got != packets && s.Err == nil {
		f.add("", "CP0.PACKETS went up by %d, want %d", got, packets)
	}
	return f.outcome(fmt.Sprintf("%d packets, %d times round a ring of %d dwords", packets, moved/n.Dwords(), n.Dwords()))
}

// fences is the number of fences that fenceOrder executes.
const fences = 16

// fenceOrder executes copies, each followed by a fence. When a fence arrives, its
// data must be in memory, and ids must increase.
func fenceOrder(s *session) outcome {
	var f finding
	n, problem := s.newNode(12)
	if problem != "" {
		f.add("", "%s", problem)
		return f.outcome("")
	}
	const bytesEach = 256
	src, dst := s.Host.Mem[dataAt:][:fences*bytesEach], s.Host.Mem[dataAt+64<<10:][:fences*bytesEach]
	rng := s.rng(7)
	for i := range src {
		src[i] = byte(rng.Uint32())
	}
	clear(dst)
	clear(s.Host.Mem[fenceAt:][:8])
	var packets []bare.Packet
	for i := range uint64(fences) {
		off := i * bytesEach
		packets = append(packets,
			pkt.Copy{Src: pkt.Host | (bare.HostBase + dataAt + off), Dst: pkt.Host | (bare.HostBase + dataAt + 64<<10 + off), Bytes: bytesEach},
			pkt.Fence{Addr: pkt.Host | (bare.HostBase + fenceAt), ID: uint32(i + 1)})
	}
	last := uint64(0)
	s.Host.Watch(func(addr uint64) {
		if addr != bare.HostBase+fenceAt {
			return
		}
		id := binary.LittleEndian.Uint64(s.Host.Mem[fenceAt:])
		if id != last+1 {
			f.add("fences out of order", "fence %d arrived after fence %d", id, last)
		}
		last = id
		if id <= fences && !bytes.Equal(src[:id*bytesEach], dst[:id*bytesEach]) {
			f.add("writes are reordered between the DMA engine and the host", "fence %d arrived before the data of its copy", id)
		}
	})
	problem = n.do(packets...)
	s.Host.Watch(nil)
	if problem != "" {
		f.add("", "%s", problem)
	} else if reg := s.Reg(node0 + cpreg.Fence); s.Err == nil && (last != fences || reg != fences) {
		f.add("", "the last fence in memory is %d, CP0.FENCE is %d, want %d", last, reg, fences)
	}
	return f.outcome(fmt.Sprintf("%d fences, each after its data", fences))
}
