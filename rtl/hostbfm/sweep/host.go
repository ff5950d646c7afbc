package sweep

import (
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/intcreg"
	"github.com/hilgpu/hilgpu/rtl/abi/msixreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pcicfg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/gpu"
	"github.com/hilgpu/hilgpu/rtl/hostbfm"
)

// Layout of the host's memory, in bytes from memBase. The data begin at a multiple of 4 GiB.
const (
	memBase = uint64(0x1_ffff_8000)
	memSize = 1 << 16

	ringsAt  = 0x1000 // a ring of 4 KiB for each node
	ringLog2 = 12
	buffers  = 0x4000 // an indirect buffer of 1 KiB for each node
	fencesAt = 0x6000 // 16 bytes for each node
	statesAt = 0x6400
	dataFrom = 0x8000

	messages = uint64(0xfee0_0000)
	bar0     = uint64(0xe000_0000)
	bar2     = uint64(0x4_0000_0000)
	nowhere  = uint64(0x7000_0000)  // in no BAR
	missing  = pkt.Host | 0x10_0000 // GPU address of no host memory

	commandOn = pcicfg.CommandMemory | pcicfg.CommandBusMaster
	never     = uint64(1) << 40 // a latency that holds a read
	patience  = 16000           // most clocks to wait for something
)

// ErrLate is wrapped by the error of a run in which something took longer than it may.
var ErrLate = errors.New("sweep: late")

// A host is a Bus with a driver that waits.
type host struct {
	*hostbfm.Bus
	dev    hostbfm.Device
	config gpu.Config
	wptr   [cpreg.Nodes]uint32

	held func(r port.Request) bool // reads to leave unanswered until release; nil: none
}

// newHost resets the device and boots the function.
func newHost(dev hostbfm.Device) *host {
	rng := rand.New(rand.NewPCG(1, 0x7377656570))
	h := &host{dev: dev, config: dev.Config(), Bus: &hostbfm.Bus{
		Dev: dev, Rng: rng, Mem: make([]byte, memSize), Base: memBase, BARs: hostbfm.BARs{BAR0: bar0, BAR2: bar2},
	}}
	for i := range h.Mem {
		h.Mem[i] = byte(rng.Uint32())
	}
	h.Took = func(r port.Request) {
		if h.Latency = 0; r.Kind == port.MemRead && h.held != nil && h.held(r) {
			h.Latency = never
		}
	}
	h.power()
	return h
}

// power sets the reset input for a clock and boots the function.
func (h *host) power() {
	h.dev.Reset()
	h.Clocks++
	h.Forget()
	h.boot()
}

// boot assigns the BARs and turns memory decode and bus mastering on.
func (h *host) boot() {
	h.SetConfig(pcicfg.BAR0, uint32(bar0))
	h.SetConfig(pcicfg.BAR2, uint32(bar2&(1<<32-1)))
	h.SetConfig(pcicfg.BAR3, uint32(bar2>>32))
	h.SetConfig(pcicfg.Command, commandOn)
	h.drain()
}

// vectors enables MSI-X and all events.
func (h *host) vectors() {
	for v := range uint64(pcicfg.Vectors) {
		at := msixreg.Base + v*msixreg.Stride
		h.SetReg(at+msixreg.AddrLo, uint32(messages)+uint32(0x14*v))
		h.SetReg(at+msixreg.AddrHi, 0)
		h.SetReg(at+msixreg.Data, 0x4321+uint32(v))
		h.SetReg(at+msixreg.Control, 0)
	}
	h.SetConfig(pcicfg.MSIX, pcicfg.MSIXEnable)
	h.SetReg(intcreg.Base+intcreg.Mask, intcreg.All)
	h.drain()
}

// step runs n clocks.
func (h *host) step(n int) {
	for range n {
		h.Step()
	}
}

// until steps until done. It fails with ErrLate after patience.
func (h *host) until(done func() bool) {
	for n := 0; !done() && h.Err == nil; n++ {
		if n == patience {
			h.Err = fmt.Errorf("%w: clock %d: no end of a wait", ErrLate, h.Clocks)
		}
		h.Step()
	}
}

// drain steps until the host's requests are complete.
func (h *host) drain() { h.until(func() bool { return !h.Busy() }) }

// release answers the reads that are held, now.
func (h *host) release() {
	h.held = nil
	for _, r := range h.Reads {
		r.Due = 0
	}
}

// settle lets everything continue and steps until nothing is in flight at the ports and the
// device is idle.
func (h *host) settle() {
	h.HoldHeaders, h.HoldBeats = false, false
	h.release()
	h.until(func() bool { return !h.Busy() && len(h.Reads) == 0 && len(h.Writes) == 0 && h.dev.IdleFor() > 0 })
}

// cp returns the offset of a register of a node.
func cp(n int, off uint64) uint64 { return cpreg.Base + uint64(n)*cpreg.Stride + off }

// look reads registers.
func (h *host) look(offs ...uint64) {
	for _, off := range offs {
		h.Reg(off, func(uint32) {})
	}
}

// start resets a node and gives it an empty ring.
func (h *host) start(n int) {
	base := pkt.Host | memBase + ringsAt + uint64(n)<<ringLog2
	h.wptr[n] = 0
	h.SetReg(cp(n, cpreg.Ctl), cpreg.CtlReset)
	h.SetReg(cp(n, cpreg.RingLo), uint32(base&(1<<32-1)))
	h.SetReg(cp(n, cpreg.RingHi), uint32(base>>32))
	h.SetReg(cp(n, cpreg.RingSize), ringLog2)
	h.SetReg(cp(n, cpreg.Ctl), cpreg.CtlRun)
	h.drain()
}

// A packet is any of package pkt.
type packet interface {
	Append(b []byte) ([]byte, error)
}

// encode returns packets as bytes. It panics if one is not valid.
func encode(ps ...packet) []byte {
	var b []byte
	for _, p := range ps {
		var err error
		if b, err = p.Append(b); err != nil {
			panic(err)
		}
	}
	return b
}

// load stores packets in the ring of a node, after the others. It must not wrap.
func (h *host) load(n int, ps ...packet) {
	b := encode(ps...)
	copy(h.Mem[ringsAt+n<<ringLog2+4*int(h.wptr[n]):], b)
	h.wptr[n] += uint32(len(b) / 4)
}

// ring queues the doorbell of a node.
func (h *host) ring(n int) { h.SetReg(cp(n, cpreg.Wptr), h.wptr[n]) }

// submit starts a node and makes it execute packets.
func (h *host) submit(n int, ps ...packet) {
	h.start(n)
	h.load(n, ps...)
	h.ring(n)
}

// indirect stores packets in the indirect buffer of a node, and returns the packet that
// executes them.
func (h *host) indirect(n int, resume bool, ps ...packet) packet {
	b := encode(ps...)
	copy(h.Mem[buffers+n<<10:], b)
	return pkt.Indirect{Addr: data(buffers + uint64(n)<<10), Dwords: uint32(len(b) / 4), Resume: resume}
}

// data returns the GPU address of an offset in the host's memory.
func data(off uint64) uint64 { return pkt.Host | memBase + off }

// fence returns a fence of a node.
func fence(n int, id uint32, irq bool) packet {
	return pkt.Fence{Addr: data(fencesAt + 16*uint64(n)), ID: id, IRQ: irq}
}
