// Package pcie is the PCIe function at its target port: configuration space,
// the register BAR and the VRAM aperture.
package pcie

import (
	"math"

	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pcicfg"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/ident"
	"github.com/hilgpu/hilgpu/rtl/regbus"
)

// Target is the input of the target port, except the ready of the completion.
type Target struct {
	Req  port.Request
	Beat port.Beat
}

// Master is the status that the initiator side reports into configuration space.
type Master struct {
	Status  port.Status // of the completion that arrives in this clock
	Pending bool        // reads of the device are in flight
}

// Share is the function's part in a register bus that it shares with a second
// master.
type Share struct {
	Held  bool // an access of the second master is in progress: the function does not begin one
	Owned bool // in the clock of an answer: the second master owns the register, so it was not written
}

// state of the target port.
type state uint8

const (
	stateIdle       state = iota // ready for a header
	stateDecode                  // checks the address
	stateCfgRead                 // reads configuration space
	stateCfgWrite                // waits for the beat of a configuration write
	stateDrop                    // drops the beats of a refused write
	stateCpl                     // offers a completion
	stateRegRead                 // a register read is on the bus
	stateRegReadRsp              // waits for its answer
	stateRegBeat                 // checks half of a beat of a register write
	stateRegWrite                // a register write is on the bus
	stateRegRsp                  // waits for its answer
	stateRegNext                 // done with a half of a beat of a register write
	stateVRAMRead                // streams a read of the aperture to the host
	stateVRAMWrite               // streams a write of the aperture to VRAM
)

// noBAR is the value of ident.Error.BAR for an address outside both BARs.
const noBAR = 7

// Module is the PCIe function. It serves one target request at a time, in order:
// it takes a request when the previous one has taken effect.
//
//	In      in Target, a header and a beat stream, valid/ready each; cplReady,
//	        whether the completion is taken; regs regbus.Rsp, the OR of all
//	        blocks; vram VRAM; master Master; share Share; rst, a function-level
//	        reset
//	Out     Target; Regs, for Carry; VRAM; VRAMWrite; Streams; BusMaster, MSIX;
//	        Err and Function, pulses; all functions of registers
//	Timing  configuration read: 2 clocks from header to completion; register
//	        read: 2 clocks a dword; register write: 4 clocks, 2 for a half of a
//	        beat that writes nothing; aperture: 1 beat a clock. Without the
//	        aperture there is no BAR 2. While the register bus is held, an access
//	        waits, and so does the check that may refuse one
//	Reset   command and BARs 0, MSI-X disabled; ready in the first clock. A
//	        function-level reset resets configuration space but not the current
//	        request; the configuration write that requests it is completed
//	Order   requests take effect, and completions leave, in the order of the
//	        headers. A beat of a register write is taken after its upper half:
//	        the host holds it until then
//	Paths   Takes, from the host's ready to VRAM's; Carry, from the host's beat
//	        to the register bus. The parent connects the beats of an aperture
//	        write from the host to VRAM, and VRAM's ready to the host
//	Size    284 bits
//	Faults  no BAR hit: CplUnsupported, or the write is dropped, cause DECODE.
//	        An unmapped register: CplAbort, or the dword is dropped, cause
//	        UNMAPPED. A dword with only some bytes enabled: dropped, cause
//	        PARTIAL. A register that the second master owns: the dword is dropped,
//	        cause OWNER
//	Source  pcicfg; PCIe 3.0 §2.3.1, §6.6.2, §7.5, §7.8; PCI 3.0 §6.8.2
type Module struct {
	vramBytes  uint64
	aperture   bool
	shared     bool   // the register bus has a second master
	maxPayload uint32 // field of DevCap

	cfg config

	state state `w:"4"`
	write bool  // the current request is a MemWrite
	tag   uint8
	left  uint8  `w:"6"` // its length, or the dwords left of a register read
	addr  uint64 // of the current dword, as the host sent it

	low    uint32      // half of a completion's data
	high   uint32      // the other half
	status port.Status `w:"2"` // of the completion
	last   bool        // of the completion

	foreign  bool  // the dword at addr was refused because the second master owns it
	cause    uint8 `w:"2"` // why the dword at addr is refused, for one clock
	function bool  // requests a function-level reset
	headerUp bool  // offers the header of an aperture request
	full     bool  // the completion is a beat of an aperture read
}

// New returns the function after reset. vramBytes is the size of BAR 2, a power
// of two of at least 16. have are the capabilities of the device: without the
// aperture there is no BAR 2. maxPayload is the largest payload that the function
// accepts: 128 bytes shifted left by 0 to 5.
func New(vramBytes uint64, have caps.Set, maxPayload uint32) Module {
	m := Module{vramBytes: vramBytes, aperture: have.Has(caps.Aperture), shared: have.Has(caps.Master), maxPayload: maxPayload}
	m.Reset()
	return m
}

// Reset sets the registers to their values after power on.
func (m *Module) Reset() {
	*m = Module{vramBytes: m.vramBytes, aperture: m.aperture, shared: m.shared, maxPayload: m.maxPayload, cfg: resetConfig()}
}

// Target returns the outputs of the target port: a completion, which is taken if
// Tick gets cplReady, and whether a header and a beat are taken in this clock.
// VRAM takes the beats of an aperture write.
func (m *Module) Target() (cpl port.Completion, reqReady, dataReady bool) {
	cpl = port.Completion{Tag: m.tag, Last: m.last, Data: uint64(m.high)<<32 | uint64(m.low)}
	if m.state == stateCpl || m.full {
		cpl.Status = m.status
	}
	return cpl, m.state == stateIdle, m.beatReady()
}

func (m *Module) beatReady() bool {
	return m.state == stateCfgWrite || m.state == stateDrop || m.state == stateRegNext && m.upper()
}

// upper reports whether the current dword is the upper half of its beat.
func (m *Module) upper() bool { return m.addr&4 != 0 }

// Regs returns the access of the register bus, for Carry. It stays while the bus is
// held. Its answer is an input of the next clock's Tick.
func (m *Module) Regs() regbus.Req {
	op := regbus.None
	if m.state == stateRegRead {
		op = regbus.Read
	} else if m.state == stateRegWrite {
		op = regbus.Write
	}
	return regbus.Req{Op: op, Off: uint16(m.addr) & (pcicfg.BAR0Size - 1) &^ 3}
}

// Carry returns an access with the data of a write, which is in the host's beat.
func Carry(r regbus.Req, b port.Beat) regbus.Req {
	_, r.Data = half(b, r.Off&4 != 0)
	return r
}

// Awaits reports whether this clock takes the answer of the register bus.
func (m *Module) Awaits() bool { return m.state == stateRegReadRsp || m.state == stateRegRsp }

// Full reports whether a beat of the VRAM aperture is offered to the host, for
// Takes.
func (m *Module) Full() bool { return m.full }

// Takes reports whether a beat from VRAM is taken in this clock. A function that
// is full takes one if the host takes the previous one.
func Takes(full, cplReady bool) bool { return !full || cplReady }

// BusMaster reports whether the function may send requests.
func (m *Module) BusMaster() bool { return m.cfg.busMaster }

// MSIX returns the enable bit of the MSI-X capability, ANDed with BusMaster, and
// its function mask.
func (m *Module) MSIX() (enable, functionMask bool) {
	return m.cfg.msixEnable && m.cfg.busMaster, m.cfg.functionMask
}

// Pending returns the Master.Pending that the last clock saw, for IdleFor of the
// parent: the function is awake while the level differs.
func (m *Module) Pending() bool { return m.cfg.pending }

// Err returns a refused access. Its Cause is valid for one clock. In that clock
// and the next there is no access of the register bus. The high half of Addr is
// also valid in the next clock.
func (m *Module) Err() ident.Error {
	bar := uint8(0)
	if m.cause == idreg.ErrDecode {
		bar = noBAR
	}
	cause := m.cause
	if m.foreign {
		cause = idreg.ErrOwner
	}
	return ident.Error{Cause: cause, Write: m.write, BAR: bar, Addr: m.addr}
}

// Function reports whether a function-level reset is requested, for one clock.
func (m *Module) Function() bool { return m.function }

// Sleeps reports whether a Tick with these inputs changes nothing, whatever the
// other inputs are.
func (m *Module) Sleeps(in Target, master Master, rst bool) bool {
	reports := master.Status != port.CplNone && master.Status != port.CplSuccess || master.Pending != m.cfg.pending
	return m.state == stateIdle && in.Req.Kind == port.None && !reports && !rst && m.IdleFor() != 0
}

// Tick is one rising clock edge. regs is the OR of all blocks' answers; rst is a
// function-level reset.
func (m *Module) Tick(in Target, cplReady bool, regs regbus.Rsp, vram VRAM, master Master, share Share, rst bool) {
	free := !m.shared || !share.Held
	m.cause = idreg.ErrNone
	if m.shared {
		m.foreign = m.state == stateRegRsp && share.Owned
	}
	m.function = false
	if rst {
		m.cfg = resetConfig()
	}
	word := regs.Data // of a read; no block answers while configuration space is read
	if m.state == stateCfgRead {
		word |= m.readConfig(uint16(m.addr) & 0xffc)
	}
	switch m.state {
	case stateIdle:
		if in.Req.Kind != port.None {
			m.take(in.Req)
		}
	case stateDecode:
		if free {
			m.decode()
		}
	case stateCfgRead:
		m.answer(word)
		m.complete(port.CplSuccess, true)
	case stateCfgWrite:
		if in.Beat.Valid {
			m.configBeat(in.Beat)
		}
	case stateDrop:
		if in.Beat.Valid && in.Beat.Last {
			m.state = stateIdle
		}
	case stateCpl:
		if cplReady {
			m.next()
		}
	case stateRegRead:
		if free {
			m.state = stateRegReadRsp
		}
	case stateRegReadRsp:
		m.readRegister(regs, word)
	case stateRegBeat:
		if in.Beat.Valid && free {
			m.writeRegister(in.Beat)
		}
	case stateRegWrite:
		if free {
			m.state = stateRegRsp
		}
	case stateRegRsp:
		switch {
		case regs.Retry:
			m.state = stateRegWrite
		case regs.Hit:
			m.state = stateRegNext
		default:
			m.refuseHalf(idreg.ErrUnmapped)
		}
	case stateRegNext:
		m.nextHalf(in.Beat.Last)
	case stateVRAMRead:
		if m.aperture {
			m.tickRead(cplReady, vram)
		}
	case stateVRAMWrite:
		if m.aperture {
			m.tickWrite(in.Beat.Last, vram)
		}
	default:
	}
	m.report(master)
}

// take takes a header.
func (m *Module) take(r port.Request) {
	m.write = r.Kind == port.MemWrite
	m.tag = r.Tag
	m.left = r.Len & 0x3f
	m.addr = r.Addr
	switch r.Kind {
	case port.CfgRead:
		m.state = stateCfgRead
	case port.CfgWrite:
		m.state = stateCfgWrite
	default:
		m.state = stateDecode
	}
}

// decode starts the memory request at the current address.
func (m *Module) decode() {
	switch {
	case m.hitBAR0():
		m.state = stateRegRead
		if m.write {
			m.state = stateRegBeat
		}
	case m.hitBAR2():
		m.headerUp = true
		m.state = stateVRAMRead
		if m.write {
			m.state = stateVRAMWrite
		}
	default:
		m.cause = idreg.ErrDecode
		m.unsupported(m.write)
		m.complete(port.CplUnsupported, true)
		if m.write {
			m.state = stateDrop
		}
	}
}

// configBeat performs a configuration write and completes it.
func (m *Module) configBeat(b port.Beat) {
	enable, data := half(b, m.upper())
	m.writeConfig(uint16(m.addr)&0xffc, data, byteMask(enable))
	m.complete(port.CplSuccess, true)
}

// half returns the byte enables and the dword of the lower or the upper half of a beat.
func half(b port.Beat, upper bool) (enable uint8, data uint32) {
	enable, data = b.Enable&0xf, uint32(b.Data)
	if upper {
		enable, data = b.Enable>>4, uint32(b.Data>>32)
	}
	return enable, data
}

// byteMask returns the bits of the enabled bytes.
func byteMask(enable uint8) uint32 {
	var mask uint32
	for i := range 4 {
		if enable>>i&1 != 0 {
			mask |= 0xff << (8 * i)
		}
	}
	return mask
}

// answer stores a dword that was read at addr in its half of the completion. The
// upper half is read after the lower one, so the lower one may be in both.
func (m *Module) answer(data uint32) {
	m.high = data
	if !m.upper() {
		m.low = data
	}
}

// complete offers a completion.
func (m *Module) complete(s port.Status, last bool) {
	m.status, m.last = s&3, last
	m.state = stateCpl
}

// IdleFor returns math.MaxUint64 if only an input can wake the function, and 0
// otherwise.
func (m *Module) IdleFor() uint64 {
	streams := m.state == stateVRAMRead && !m.full || m.state == stateVRAMWrite
	waits := m.state == stateIdle || m.state == stateCfgWrite || m.state == stateDrop || m.state == stateRegBeat || streams && !m.headerUp
	if waits && !m.function && m.cause == idreg.ErrNone {
		return math.MaxUint64
	}
	return 0
}

// Skip skips n clocks without input. It changes nothing.
func (m *Module) Skip(n uint64) {}
