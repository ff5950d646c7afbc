package sweep

import (
	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pcicfg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/hostbfm"
	"github.com/hilgpu/hilgpu/rtl/noc"
)

// reads returns the sweeps of answers to the device's reads.
func reads() []Sweep {
	return []Sweep{
		{
			Name: "late answer", Why: "the answer to a read from before a reset arrives while reads with other tags are awaited",
			Cases: 3 * readers, Distances: 12, before: (*host).rest, meet: late,
		},
		{
			Name: "answer and reset", Why: "the answer to a read arrives in the clock in which a reset begins or ends",
			Cases: 3 * readers, Distances: 24, before: (*host).rest, meet: answered,
		},
		{
			Name: "answer and register", Why: "a register of a stopped node is read or written as the answer to its read arrives",
			Cases: readers, Distances: 36, before: (*host).rest, meet: stoppedRead,
		},
		{
			Name: "refused read", Why: "a late answer arrives while a read is refused and reads with higher tags are awaited",
			Cases: 2, Distances: 24, before: (*host).rest, meet: refusedRead,
		},
		{
			Name: "answer and time-out", Why: "the answer to a read arrives as its time ends, before and after its reader is told",
			Needs: caps.ReadTimeout, Cases: readers, Distances: 24, before: (*host).limit, meet: expired,
		},
		{
			Name: "aperture", Why: "the host accesses a word of VRAM as the DMA engine reads or writes it",
			Needs: caps.Aperture, Cases: 4, Distances: 24, before: (*host).rest, meet: shared,
		},
	}
}

// readers is the number of kinds of reads that read makes.
const readers = 4

// read makes node 0 read host memory, and holds the answers to one kind of read.
func (h *host) read(kind int) {
	h.start(0)
	dmaReads := func(r port.Request) bool { return r.Tag>>4 == noc.ReadDMA }
	nodeReads := func(r port.Request) bool { return r.Tag>>4 == noc.ReadCP0 && r.Tag&15 != 0 }
	switch kind {
	case 0:
		h.held = func(port.Request) bool { return true }
		h.load(0, pkt.NOP{})
	case 1:
		h.held = nodeReads
		h.load(0, h.indirect(0, false, pkt.NOP{Skip: 4}))
	case 2:
		h.held = nodeReads
		h.load(0, pkt.Predicate{Addr: data(dataFrom), Dwords: 1}, pkt.NOP{})
	default:
		h.held = dmaReads
		h.load(0, pkt.Copy{Src: data(dataFrom), Dst: data(dataFrom + 0x1000), Bytes: 200})
	}
	h.ring(0)
	h.until(func() bool { return len(h.Reads) > 0 && h.Reads[0].Due > h.Clocks })
	h.step(4)
}

// restart requests a reset of a kind: of the node, of the device, or of the function.
func (h *host) restart(kind int) {
	switch kind {
	case 0:
		h.SetReg(cp(0, cpreg.Ctl), cpreg.CtlReset)
	case 1:
		h.SetReg(idreg.Reset, idreg.ResetWhole)
	default:
		h.SetConfig(pcicfg.DevCtl, pcicfg.DevCtlReset)
	}
}

// late answers old reads while a copy awaits its own, some of which are answered earlier and
// some later.
func late(h *host, which, at int) {
	kind := which / 3
	h.read(kind)
	old := len(h.Reads)
	h.restart(which % 3)
	h.drain()
	h.step(6)
	h.boot()
	h.held = func(r port.Request) bool { return r.Tag>>4 == noc.ReadDMA }
	if kind != 0 { // the ring needs the tag of the old read otherwise
		h.submit(0, pkt.Copy{Src: data(dataFrom + 0x2000), Dst: data(dataFrom + 0x3000), Bytes: 300})
	} else {
		h.start(0)
		h.ring(0)
	}
	h.step(40)
	reads := append([]*hostbfm.Read(nil), h.Reads...)
	for i, r := range reads {
		r.Due = h.Clocks + 6
		if i < old {
			r.Due = h.Clocks + uint64(at)
		}
	}
	h.step(30)
	h.settle()
}

// refusedRead turns bus mastering off while a copy awaits its reads, and moves WPTR: the read of
// the ring is refused. The answer to an old read arrives at about that time.
func refusedRead(h *host, which, at int) {
	h.read(1 + which)
	old := h.Reads[0]
	h.restart(1)
	h.drain()
	h.step(6)
	h.start(0)
	h.held = func(r port.Request) bool { return r.Tag>>4 == noc.ReadDMA }
	h.load(0, pkt.Copy{Src: data(dataFrom + 0x2000), Dst: data(dataFrom + 0x3000), Bytes: 300})
	h.ring(0)
	h.drain()
	h.step(40)
	h.SetConfig(pcicfg.Command, pcicfg.CommandMemory)
	h.load(0, pkt.NOP{})
	h.ring(0)
	old.Due = h.Clocks + uint64(at)
	h.step(24)
	h.settle()
	h.SetConfig(pcicfg.Command, commandOn)
	h.settle()
}

// answered answers reads at some distance from a reset.
func answered(h *host, which, at int) {
	h.read(which / 3)
	h.restart(which % 3)
	h.step(at)
	h.release()
	h.look(cp(0, cpreg.Ctl), cp(0, cpreg.Status))
	h.settle()
	h.boot()
}

// stoppedRead stops a node that awaits a read, accesses its registers, and answers.
func stoppedRead(h *host, which, at int) {
	h.read(which)
	h.SetReg(cp(0, cpreg.Ctl), 0)
	h.drain()
	h.look(cp(0, cpreg.Status))
	h.SetReg(cp(0, cpreg.RingLo), uint32(at)<<8)
	h.SetReg(cp(0, cpreg.RingHi), 1)
	h.SetReg(cp(0, cpreg.Wptr), 3)
	h.SetReg(cp(0, cpreg.RingSize), 9)
	h.look(cp(0, cpreg.RingLo), cp(0, cpreg.RingHi), cp(0, cpreg.Wptr), cp(0, cpreg.Status))
	h.step(at)
	h.release()
	h.settle()
}

// limit turns the time-out of reads on, with the shortest period.
func (h *host) limit(int) {
	h.SetReg(idreg.ReadTimeout, 1)
	h.drain()
}

// expired answers reads around the clock in which the device no longer awaits them.
func expired(h *host, which, at int) {
	const period = 128
	h.read(which)
	for h.Clocks%period != 0 {
		h.Step()
	}
	for i, r := range h.Reads {
		r.Due = h.Clocks + period - 4 + uint64(8*at+3*i)%(2*period)
	}
	h.step(3 * period)
	h.settle()
}

// shared accesses a block of VRAM through the aperture while a copy moves it.
func shared(h *host, which, at int) {
	const there = 0x400
	from, to := uint64(there), data(dataFrom)
	if which&1 != 0 {
		from, to = to, from
	}
	h.start(0)
	h.load(0, pkt.Copy{Src: from, Dst: to, Bytes: 64})
	h.ring(0)
	h.drain()
	h.step(at)
	for i := range uint64(4) {
		if which&2 != 0 {
			h.Queue(hostbfm.Write(bar2+there+16*i, []byte{1, 2, 3, 4, 5, 6, 7, 8}))
			continue
		}
		h.Queue(hostbfm.Op{Req: port.Request{Kind: port.MemRead, Tag: uint8(i), Len: 2, Addr: bar2 + there + 16*i}})
	}
	h.settle()
}
