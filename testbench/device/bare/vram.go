package bare

import (
	"errors"

	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
)

// Host memory of a board without an aperture that only packets which move VRAM
// use: a ring, and what they move.
const (
	moverBase  = 0xd0000000
	moverData  = 4096
	moverChunk = 4096 // bytes of a packet
)

// ErrRing is what becomes of an access of VRAM by packets that would have to be
// put there.
var ErrRing = errors.New("bare: the ring of node 0 is in VRAM, which the host does not reach")

// Copies has VRAM read and written by packets of node 0, since the board has no
// aperture.
func (a *Access) Copies() {
	a.copies = true
	a.Host.mover = make([]byte, moverData+moverChunk)
}

// ReadVRAM fills p from VRAM, with zeros if that fails. Through the aperture off
// and the length are multiples of 4. Without one node 0 has to rest; packets in
// the ring that it has, or in one of their own if it has none, move the bytes.
func (a *Access) ReadVRAM(off uint64, p []byte) {
	if !a.copies {
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

// WriteVRAM sends p to VRAM, as ReadVRAM reads it.
func (a *Access) WriteVRAM(off uint64, p []byte) {
	if !a.copies {
		a.Write(2, off, p)
		return
	}
	a.move(off, p, func(n *Node, vram, host uint64, part []byte) error {
		copy(a.Host.mover[moverData:], part)
		return n.Do(pkt.Copy{Src: host, Dst: vram, Bytes: uint32(len(part))})
	})
}

// move calls do for one part of p after the other. The first error stays in Err.
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

// stop resets a node that only moved, and gives its timeline back what it had.
func (a *Access) stop(n *Node, line uint64) {
	if err := n.Reset(); err != nil && a.Err == nil {
		a.Err = err
	}
	n.SetTimeline(line)
}
