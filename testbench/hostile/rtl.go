package hostile

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"

	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pcicfg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/gpu"
	"github.com/hilgpu/hilgpu/rtl/hostbfm"
	"github.com/hilgpu/hilgpu/rtl/refmodel"
)

// Places of the hardware: in VRAM after all allocations, and BAR0.
const (
	bufferAt    = 0x20000 // the indirect buffer
	bufferBytes = 0x10000
	ringAt      = 0x30000
	ringLog2    = 12 // bytes
	barAt       = 0xd000_0000
)

// mostClocks is how long a portion may take.
const mostClocks = 1_000_000

// A hardware is the RTL of the GPU. Packets are executed in an indirect buffer of node 0.
type hardware struct {
	*hostbfm.Bus
	g       *gpu.GPU
	write   uint32 // position in the ring, in dwords
	allowed func(a refmodel.Range, write bool) bool
	bad     error // the first access that is not allowed

	reads readChannel
	bytes uint64 // of the indirect buffer

	aperture bool // all host memory is looked up in the table

	portions, accesses, looked, read int // looked: accesses through the table; read: words of VRAM
}

// newHardware returns a GPU whose node 0 runs, perhaps with an aperture.
func newHardware(aperture bool) (*hardware, error) {
	config := gpu.Default()
	if aperture {
		config.Caps |= caps.GART
	}
	config.VRAMBytes, config.HostBits, config.LengthBits = 1<<20, hostBits, lengthBits
	g, err := gpu.New(config)
	if err != nil {
		return nil, fmt.Errorf("hostile: %w", err)
	}
	h := &hardware{g: g}
	if h.reads, err = newReadChannel(g); err != nil {
		return nil, err
	}
	g.PokeVRAM(0, memory())
	h.Bus = &hostbfm.Bus{Dev: watched{g, h}, Rng: rand.New(rand.NewPCG(1, 1)), Mem: memory(), Base: hostAt, BARs: hostbfm.BARs{BAR0: barAt}}
	h.Took = func(r port.Request) {
		h.accessed(refmodel.Range{At: pkt.Host | r.Addr, N: 4 * uint64(r.Len)}, r.Kind == port.MemWrite)
	}
	h.SetConfig(pcicfg.BAR0, barAt)
	h.SetConfig(pcicfg.Command, pcicfg.CommandMemory|pcicfg.CommandBusMaster)
	for _, r := range [][2]uint32{{cpreg.RingLo, ringAt}, {cpreg.RingSize, ringLog2}, {cpreg.Ctl, cpreg.CtlRun}} {
		h.SetReg(uint64(cpreg.Base+r[0]), r[1])
	}
	if err := h.settle(func() bool { return !h.Busy() }); err != nil || !aperture {
		return h, err
	}
	return h, h.mapAperture()
}

// A watched is a GPU whose reads and writes of VRAM are noted.
type watched struct {
	*gpu.GPU
	h *hardware
}

// Tick implements port.Device.
func (w watched) Tick(req port.Request, data port.Beat, cplReady bool, cpl port.Completion, reqReady, dataReady bool) {
	if off, beat := w.WritingVRAM(); beat.Valid {
		for i := range uint64(8) {
			if beat.Enable>>i&1 != 0 {
				w.h.accessed(refmodel.Range{At: off + i, N: 1}, true)
			}
		}
	}
	w.GPU.Tick(req, data, cplReady, cpl, reqReady, dataReady)
	if word, tag, ok := w.h.reads.next(w.GPU); ok {
		w.h.readVRAM(word, tag)
	}
}

func (h *hardware) accessed(a refmodel.Range, write bool) {
	h.accesses++
	if h.aperture && a.At&pkt.Host != 0 {
		a = throughTable(a)
		h.looked++
	}
	if h.bad == nil && (h.allowed == nil || !h.allowed(a, write)) {
		h.bad = fmt.Errorf("the RTL accesses %d bytes at %#x, write %t, which the submission does not list", a.N, a.At, write)
	}
}

// settle lets clocks pass until done.
func (h *hardware) settle(done func() bool) error {
	for end := h.Clocks + mostClocks; !done(); {
		if h.Clocks >= end {
			return fmt.Errorf("the RTL does not end a portion in %d clocks", mostClocks)
		}
		if n := min(h.g.IdleFor(), h.Quiet(), end-h.Clocks); n > 1 {
			h.Skip(n)
			continue
		}
		h.Step()
		if h.Err != nil {
			return h.Err
		}
	}
	return h.bad
}

// reg reads a register of node 0.
func (h *hardware) reg(off uint64) (v uint32, err error) {
	h.Reg(cpreg.Base+off, func(got uint32) { v = got })
	return v, h.settle(func() bool { return !h.Busy() })
}

// run executes packets after another context has used the node: its surfaces are where no allocation is. No packet may
// stop the node, and allowed decides about each read and each write, but not about fetches of packets and reads of the
// aperture's table.
func (h *hardware) run(dma []byte, allowed func(a refmodel.Range, write bool) bool) error {
	if len(dma) > bufferBytes {
		return fmt.Errorf("hostile: a portion has %d bytes, want at most %d", len(dma), bufferBytes)
	}
	ring, err := entry(len(dma))
	if err != nil {
		return err
	}
	h.portions++
	h.bytes = uint64(len(dma))
	h.g.PokeVRAM(bufferAt, dma)
	for i := 0; i < len(ring); i += 4 {
		at := ringAt + uint64(4*h.write&(1<<ringLog2-1))
		h.g.PokeVRAM(at, ring[i:i+4])
		h.write++
	}
	h.allowed = allowed
	h.SetReg(cpreg.Base+cpreg.Wptr, h.write&(1<<ringLog2/4-1))
	if err := h.settle(func() bool { return !h.Busy() }); err != nil {
		return err
	}
	return h.ended(dma)
}

// entry returns the packets in the ring that execute a buffer of some bytes.
func entry(bytes int) (ring []byte, err error) {
	for _, s := range []pkt.Surface{pkt.Source, pkt.Dest} {
		ring, err = pkt.SetState{Surface: s, Base: strayAt, Pitch: 64, X1: 8, Y1: 8}.Append(ring)
		if err != nil {
			return nil, fmt.Errorf("hostile: %w", err)
		}
	}
	if ring, err = (pkt.Indirect{Addr: bufferAt, Dwords: uint32(bytes / 4)}).Append(ring); err != nil {
		return nil, fmt.Errorf("hostile: %w", err)
	}
	return ring, nil
}

// ended waits until the node has executed its ring.
func (h *hardware) ended(dma []byte) error {
	for end := h.Clocks + mostClocks; h.Clocks < end; {
		status, err := h.reg(cpreg.Status)
		if err != nil {
			return err
		}
		info, err := h.reg(cpreg.FaultInfo)
		switch {
		case err != nil:
			return err
		case info&cpreg.FaultCause != 0:
			op, err := h.reg(cpreg.FaultOp)
			if err != nil {
				return err
			}
			return fmt.Errorf("the RTL stops at packet %#x with cause %d", op, info&cpreg.FaultCause)
		case status&cpreg.StatusIdle != 0:
			return h.executed()
		}
	}
	return fmt.Errorf("the RTL does not execute %d bytes, from %#x on, in %d clocks", len(dma), binary.LittleEndian.Uint32(dma), mostClocks)
}

// executed compares the read position of the ring with what was written.
func (h *hardware) executed() error {
	read, err := h.reg(cpreg.Rptr)
	if want := h.write & (1<<ringLog2/4 - 1); err == nil && read != want {
		err = fmt.Errorf("the RTL is idle at dword %d of the ring, want %d", read, want)
	}
	return err
}
