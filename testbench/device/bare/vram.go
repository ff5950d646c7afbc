package bare

import (
	"errors"

	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
)

// Host memory that only packets for VRAM accesses use, on a board without an
// aperture: a ring and the data.
const (
	moverBase  = 0xd0000000
	moverData  = 4096
	moverChunk = 4096 // bytes per packet
)

// ErrRing is the error of a VRAM access by packets if the ring itself is in VRAM.
var ErrRing = errors.New("bare: the ring of node 0 is in VRAM, which the host cannot access")

// UsePackets makes packets of node 0 access VRAM, for a board without an aperture.
func (a *Access) UsePackets() {
	a.byPackets = true
	a.Host.mover = make([]byte, moverData+moverChunk)
}

// ReadVRAM fills p from VRAM, with zeros if the read fails. Through the aperture,
// off and the length must be multiples of 4. Without one, node 0 must be idle;
// packets move the bytes, in its ring, or in a ring of their own if it has none.
func (a *Access) ReadVRAM(off uint64, p []byte) {
	if !a.byPackets {
		a.Read(2, off, p)
		return
	}
	clear(p)
	a.move(off, p, func(n *Node, vram, host uint64, part []byte) error {
		err := n.Do(pkt.Copy{Src: vram, Dst: host, Bytes: uint32(len(part))})
		if err == nil {
			copy(part, a.Host.mover[moverData:])
		}
		return err
	})
}

// WriteVRAM writes p to VRAM, under the conditions of ReadVRAM.
func (a *Access) WriteVRAM(off uint64, p []byte) {
	if !a.byPackets {
		a.Write(2, off, p)
		return
	}
	a.move(off, p, func(n *Node, vram, host uint64, part []byte) error {
		copy(a.Host.mover[moverData:], part)
		return n.Do(pkt.Copy{Src: host, Dst: vram, Bytes: uint32(len(part))})
	})
}

// move calls do for the chunks of p in order. The first error stays in Err.
func (a *Access) move(off uint64, p []byte, do func(n *Node, vram, host uint64, part []byte) error) {
	if !a.Alive() {
		return
	}
	n, err := a.user, error(nil)
	if n == nil {
		n = a.Node(0)
		line := n.Timeline()
		err = n.Start(pkt.Host|moverBase, cpreg.MinRingLog2, 0)
		defer a.stop(n, line)
	}
	if n.base&pkt.Host == 0 {
		err = ErrRing
	}
	for len(p) > 0 && err == nil && a.Err == nil {
		part := p[:min(len(p), moverChunk)]
		err = do(n, off, pkt.Host|(moverBase+moverData), part)
		off, p = off+uint64(len(part)), p[len(part):]
	}
	if a.Err == nil {
		a.Err = err
	}
}

// stop resets a node that only moved data, and restores its timeline.
func (a *Access) stop(n *Node, line uint64) {
	if err := n.Reset(); err != nil && a.Err == nil {
		a.Err = err
	}
	n.SetTimeline(line)
}
