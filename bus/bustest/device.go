package bustest

import (
	"math"

	"github.com/hilgpu/hilgpu/rtl/abi/pcicfg"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
)

// Registers of the reference device: byte offsets in BAR0. All other offsets
// except the MSI-X table are unmapped: a read is a completer abort.
const (
	RegMagic   = 0x00 // reads MagicValue
	RegScratch = 0x04 // read-write
	RegHostLo  = 0x08 // host address of a job, in bytes
	RegHostHi  = 0x0c
	RegMem     = 0x10 // offset in the device's memory, in bytes
	RegLen     = 0x14 // bytes of a job, or clocks of JobDelay
	RegJob     = 0x18 // a write starts a job; reads as the job that runs, or 0
	RegDone    = 0x1c // number of completed jobs
	RegErrors  = 0x20 // number of failed jobs
	RegTime    = 0x24 // clocks since power on
	regEnd     = 0x28

	MagicValue = 0x52454644
)

// Jobs. Each ends with a message of vector 0.
const (
	JobWrite = 1 // memory to host, any alignment
	JobRead  = 2 // host to memory, multiples of 4
	JobNone  = 3 // message only
	JobDelay = 4 // completes after RegLen clocks
)

// DeviceOptions vary the reference device. The zero value is a well-behaved
// device.
type DeviceOptions struct {
	// MemBytes is the size of BAR2, a power of two of at least 16; 0: 64 KiB.
	MemBytes int

	// Stall, if not 0, selects the clocks in which the device is not ready.
	Stall uint64

	// Config replaces dwords of configuration space, by offset, with read-only values.
	Config map[int]uint32
}

// Device is a small PCIe function other than a GPU: registers and memory with a
// type-0 header, and a DMA engine. It tests links and device enumeration. It is
// written simply, from the rules of the ports only.
type Device struct {
	opt  DeviceOptions
	cfg  [1024]uint32
	mask [1024]uint32 // writable bits
	mem  []byte
	regs [regEnd / 4]uint32
	msix [pcicfg.Vectors * 4]uint32
	now  uint64

	requests uint64 // accepted at the target port
	req      port.Request
	beat     int               // beats of a write received for req
	answer   []port.Completion // completions to be sent

	engine engine
}

var _ port.Device = (*Device)(nil)

// NewDevice returns the device after power on.
func NewDevice(opt DeviceOptions) *Device {
	if opt.MemBytes == 0 {
		opt.MemBytes = 64 << 10
	}
	d := &Device{opt: opt, mem: make([]byte, opt.MemBytes)}
	d.define(pcicfg.ID, pcicfg.VendorID|pcicfg.DeviceID<<16, 0)
	d.define(pcicfg.Command, pcicfg.StatusCapList, 0x406)
	d.define(pcicfg.Class, pcicfg.ClassCode<<8|pcicfg.Revision, 0)
	d.define(pcicfg.BAR0, 0, ^uint32(pcicfg.BAR0Size-1))
	size := uint64(opt.MemBytes)
	d.define(pcicfg.BAR2, pcicfg.BARMem64|pcicfg.BARPrefetchable, uint32(-size)&^pcicfg.BARFlags)
	d.define(pcicfg.BAR3, 0, uint32(-size>>32))
	d.define(pcicfg.CapPtr, pcicfg.PCIe, 0)
	d.define(pcicfg.PCIe, pcicfg.PCIeCapID|pcicfg.MSIX<<8|pcicfg.PCIeCapVal<<16, 0)
	d.define(pcicfg.MSIX, pcicfg.MSIXCapID|(pcicfg.Vectors-1)<<16, pcicfg.MSIXEnable|pcicfg.MSIXFunctionMask)
	d.define(pcicfg.MSIXTable, pcicfg.MSIXTableOffset, 0)
	d.define(pcicfg.MSIXPending, pcicfg.MSIXPendingOffset, 0)
	d.define(pcicfg.IntLine, 0, 0xff)
	for off, v := range opt.Config {
		d.define(off, v, 0)
	}
	d.regs[RegMagic/4] = MagicValue
	for v := range pcicfg.Vectors {
		d.msix[4*v+3] = 1
	}
	d.engine.d = d
	return d
}

func (d *Device) define(off int, v, mask uint32) {
	d.cfg[off/4], d.mask[off/4] = v, mask
}

// Requests returns the number of requests the device has accepted at its target
// port.
func (d *Device) Requests() uint64 { return d.requests }

// stalled reports whether the device is not ready in this clock.
func (d *Device) stalled() bool {
	if d.opt.Stall == 0 {
		return false
	}
	x := (d.now + d.opt.Stall) * 0x9e3779b97f4a7c15
	return (x^x>>29)>>40&3 != 0
}

func isWrite(k port.Kind) bool { return k == port.MemWrite || k == port.CfgWrite }

// Target takes one request at a time.
func (d *Device) Target() (cpl port.Completion, reqReady, dataReady bool) {
	if len(d.answer) > 0 {
		cpl = d.answer[0]
	}
	ready := !d.stalled()
	return cpl, ready && d.req.Kind == port.None && len(d.answer) == 0, ready && isWrite(d.req.Kind)
}

// Initiator sends the engine's requests.
func (d *Device) Initiator() (req port.Request, beat port.Beat) { return d.engine.out() }

// Tick advances the device by one clock.
func (d *Device) Tick(req port.Request, beat port.Beat, cplReady bool, cpl port.Completion, reqReady, dataReady bool) {
	_, takesReq, takesBeat := d.Target()
	if len(d.answer) > 0 && cplReady {
		d.answer = d.answer[1:]
	}
	if takesBeat && beat.Valid {
		d.write(beat)
	}
	if takesReq && req.Kind != port.None {
		d.requests++
		d.req, d.beat = req, 0
	}
	switch d.req.Kind {
	case port.CfgRead:
		d.complete(port.CplSuccess, d.cfg[d.req.Addr/4])
	case port.MemRead:
		d.read()
	}
	d.engine.tick(cpl, reqReady, dataReady)
	d.now++
}

// complete answers the request with one dword of data, or with an error.
func (d *Device) complete(s port.Status, v uint32) {
	d.answer = append(d.answer, port.Completion{
		Tag: d.req.Tag, Status: s, Last: true, Data: uint64(v) << (8 * (d.req.Addr & 4)),
	})
	d.req = port.Request{}
}

// read answers a memory read.
func (d *Device) read() {
	r := d.req
	var all []port.Completion
	var b port.Completion
	for i := range uint64(r.Len) {
		addr := r.Addr + 4*i
		v, s := d.load(addr)
		if s != port.CplSuccess {
			d.complete(s, 0)
			return
		}
		b.Data |= uint64(v) << (8 * (addr & 4))
		if addr&4 != 0 || i == uint64(r.Len)-1 {
			b.Tag, b.Status, b.Last = r.Tag, port.CplSuccess, i == uint64(r.Len)-1
			all = append(all, b)
			b = port.Completion{}
		}
	}
	d.answer = append(d.answer, all...)
	d.req = port.Request{}
}

// write takes one beat of the request.
func (d *Device) write(b port.Beat) {
	base := d.req.Addr&^7 + uint64(8*d.beat)
	d.beat++
	for lane := 0; lane < 8; lane += 4 {
		if b.Enable>>lane&0xf == 0xf {
			d.store(base+uint64(lane), uint32(b.Data>>(8*lane)))
		}
	}
	if b.Last {
		if d.req.Kind == port.CfgWrite {
			d.complete(port.CplSuccess, 0)
		}
		d.req = port.Request{}
	}
}

// decode returns the BAR that contains an address.
func (d *Device) decode(addr uint64) (bar int, off uint64) {
	if d.cfg[pcicfg.Command/4]&pcicfg.CommandMemory == 0 {
		return -1, 0
	}
	bar0 := uint64(d.cfg[pcicfg.BAR0/4])
	bar2 := uint64(d.cfg[pcicfg.BAR2/4]&^pcicfg.BARFlags) | uint64(d.cfg[pcicfg.BAR3/4])<<32
	switch {
	case addr >= bar0 && addr-bar0 < pcicfg.BAR0Size:
		return 0, addr - bar0
	case addr >= bar2 && addr-bar2 < uint64(len(d.mem)):
		return 2, addr - bar2
	}
	return -1, 0
}

func (d *Device) load(addr uint64) (uint32, port.Status) {
	bar, off := d.decode(addr)
	switch {
	case bar == 2:
		return le32(d.mem[off:]), port.CplSuccess
	case bar == 0 && off == RegTime:
		return uint32(d.now), port.CplSuccess
	case bar == 0 && off == RegJob:
		return d.engine.job, port.CplSuccess
	case bar == 0 && off < regEnd:
		return d.regs[off/4], port.CplSuccess
	case bar == 0 && off-pcicfg.MSIXTableOffset < 16*pcicfg.Vectors:
		return d.msix[(off-pcicfg.MSIXTableOffset)/4], port.CplSuccess
	case bar == 0:
		return 0, port.CplAbort
	}
	return 0, port.CplUnsupported
}

func (d *Device) store(addr uint64, v uint32) {
	if d.req.Kind == port.CfgWrite {
		m := d.mask[addr/4]
		d.cfg[addr/4] = d.cfg[addr/4]&^m | v&m
		return
	}
	bar, off := d.decode(addr)
	switch {
	case bar == 2:
		putLE32(d.mem[off:], v)
	case bar == 0 && off == RegJob:
		d.engine.start(v)
	case bar == 0 && off >= RegScratch && off < RegJob:
		d.regs[off/4] = v
	case bar == 0 && off-pcicfg.MSIXTableOffset < 16*pcicfg.Vectors:
		d.msix[(off-pcicfg.MSIXTableOffset)/4] = v
	}
}

// IdleFor returns the rest of a delay, or the largest value without one.
func (d *Device) IdleFor() uint64 {
	switch {
	case d.req.Kind != port.None || len(d.answer) > 0 || d.engine.busy():
		return 0
	case d.engine.delay > 0:
		return d.engine.delay
	}
	return math.MaxUint64
}

// Skip advances the device by n clocks without input.
func (d *Device) Skip(n uint64) {
	d.now += n
	d.engine.delay -= min(n, d.engine.delay)
}

func le32(p []byte) uint32 {
	return uint32(p[0]) | uint32(p[1])<<8 | uint32(p[2])<<16 | uint32(p[3])<<24
}

func putLE32(p []byte, v uint32) {
	p[0], p[1], p[2], p[3] = byte(v), byte(v>>8), byte(v>>16), byte(v>>24)
}
