// Package pcie is the PCIe function at its target port: configuration space,
// the register BAR and the VRAM aperture.
package pcie

import (
	"math"

	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pcicfg"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/hdl"
	"github.com/hilgpu/hilgpu/rtl/ident"
	"github.com/hilgpu/hilgpu/rtl/regbus"
)

// Target is the target port's input.
type Target struct {
	Req      port.Request
	Beat     port.Beat
	CplReady bool
}

// VRAM is what comes back from the memory side.
type VRAM struct {
	ReadReady bool            // the header of VRAM is taken
	Cpl       port.Completion // of the read, taken if Takes says so
	ReqReady  bool            // the header of VRAMWrite is taken
	BeatReady bool            // the beat of VRAMWrite is taken
}

// Master is what the initiator side reports into configuration space.
type Master struct {
	Status  port.Status // of the completion that arrives in this clock
	Pending bool        // reads of the device are in flight
}

// state of the target port.
type state uint8

const (
	stateIdle       state = iota // a header is taken
	stateDecode                  // the request is looked at
	stateCfgWrite                // the beat of a configuration write is awaited
	stateDrop                    // the beats of a refused write are taken
	stateCpl                     // a completion is offered
	stateRegRead                 // a register read is on the bus
	stateRegReadRsp              // its answer is due
	stateRegBeat                 // a beat of a register write is awaited
	stateRegDword                // half of it is looked at
	stateRegWrite                // a register write is on the bus
	stateRegRsp                  // its answer is due
	stateVRAMRead                // a read of the aperture streams back
	stateVRAMWrite               // a write of the aperture streams through
)

// noBAR is what ident.Error.BAR says outside of both BARs.
const noBAR = 7

// Module is the PCIe function. It serves one target request at a time, in
// order: a request is taken when the one before it has had its effect.
//
//	In      in Target, a header and a beat stream, valid/ready each; regs
//	        regbus.Rsp, the OR of all blocks; vram VRAM; master Master; rst, a
//	        function-level reset
//	Out     Target; Regs; VRAM; VRAMWrite; BusMaster, MSIX; Err and Function,
//	        pulses; all registered
//	Timing  configuration read 2 clocks from header to completion; register
//	        read 2 clocks a dword; register write 3; aperture 1 beat a clock
//	        without the aperture BAR 2 is not implemented, and neither is what is
//	        said of it here
//	Reset   command and BARs 0, MSI-X disabled; ready in the first clock. A
//	        function-level reset does that to configuration space and leaves the
//	        request in work alone; the configuration write that asks for it is
//	        completed
//	Order   requests have their effect, and completions leave, in the order of
//	        the headers
//	Paths   Takes, from the host's ready to VRAM's
//	Size    770 bits
//	Faults  no BAR hit: CplUnsupported, or the write is dropped, cause DECODE. A
//	        register that is not there: CplAbort, or the dword is dropped, cause
//	        UNMAPPED. A dword with some bytes enabled: dropped, cause PARTIAL
//	Source  pcicfg; PCIe 3.0 §2.3.1, §6.6.2, §7.5, §7.8; PCI 3.0 §6.8.2
type Module struct {
	vramBytes uint64
	aperture  bool

	cfg config

	state state `w:"4"`
	req   port.Request
	addr  uint64 // of the dword or the beat in work, as the host sent it
	left  uint8  `w:"6"` // dwords left of a register read
	beat  port.Beat
	upper bool // the upper half of beat is in work
	cpl   port.Completion
	reg   regbus.Req
	err   ident.Error

	function bool // a function-level reset is asked for

	headerUp bool      // the header of an aperture request is offered
	lastIn   bool      // the last beat of an aperture write is taken
	out0     port.Beat // offered to VRAM
	out1     port.Beat // behind it
	full     bool      // cpl is a beat of an aperture read
}

// New returns the function after reset. vramBytes is the size of BAR2, a power
// of two of at least 16; without the aperture there is no BAR2.
func New(vramBytes uint64, aperture bool) Module {
	m := Module{vramBytes: vramBytes, aperture: aperture}
	m.Reset()
	return m
}

// Reset sets the registers to their values after power on.
func (m *Module) Reset() {
	*m = Module{vramBytes: m.vramBytes, aperture: m.aperture, cfg: resetConfig()}
}

// Target returns the target port's outputs: a completion, taken if Tick is told
// CplReady, and whether a header and a beat are taken in this clock.
func (m *Module) Target() (cpl port.Completion, reqReady, dataReady bool) {
	if m.state == stateCpl || m.full {
		cpl = m.cpl
	}
	return cpl, m.state == stateIdle, m.beatReady()
}

func (m *Module) beatReady() bool {
	ready := m.state == stateCfgWrite || m.state == stateDrop || m.state == stateRegBeat
	return ready || m.aperture && m.state == stateVRAMWrite && !m.lastIn && !m.out1.Valid
}

// Regs returns the access of the register bus; its answer is due in the next
// clock's Tick.
func (m *Module) Regs() regbus.Req { return m.reg }

// Awaits reports whether the answer of the register bus is taken in this clock.
func (m *Module) Awaits() bool { return m.state == stateRegReadRsp || m.state == stateRegRsp }

// VRAM returns the read of the VRAM aperture, at an offset in VRAM; its local
// tag is 0.
func (m *Module) VRAM() port.Request {
	var r port.Request
	if m.headerUp && m.state == stateVRAMRead {
		r = port.Request{Kind: port.MemRead, Len: m.req.Len, Addr: m.req.Addr & (m.vramBytes - 1)}
	}
	return r
}

// Full reports that a beat of the VRAM aperture is offered to the host, for Takes.
func (m *Module) Full() bool { return m.full }

// Takes returns whether a beat from VRAM is taken in this clock: a function that is
// full takes one if the host takes the one before.
func Takes(full, cplReady bool) bool { return !full || cplReady }

// VRAMWrite returns the write of the VRAM aperture, at an offset in VRAM.
func (m *Module) VRAMWrite() (req port.Request, beat port.Beat) {
	if m.headerUp && m.state == stateVRAMWrite {
		req = port.Request{Kind: port.MemWrite, Len: m.req.Len, Addr: m.req.Addr & (m.vramBytes - 1)}
	}
	return req, m.out0
}

// BusMaster reports whether the function may send requests.
func (m *Module) BusMaster() bool { return m.cfg.busMaster }

// MSIX returns the MSI-X capability's enable, which includes BusMaster, and its
// function mask.
func (m *Module) MSIX() (enable, functionMask bool) {
	return m.cfg.msixEnable && m.cfg.busMaster, m.cfg.functionMask
}

// Pending returns the level of Master that the last clock saw, for IdleFor of the
// parent: while it has another one, the function is not asleep.
func (m *Module) Pending() bool { return m.cfg.pending }

// Err returns a refused access, its Cause in one clock and the rest until another one
// is refused.
func (m *Module) Err() ident.Error { return m.err }

// Function reports that a function-level reset is asked for, in one clock.
func (m *Module) Function() bool { return m.function }

// Tick is one rising clock edge. regs is the OR of all blocks' answers; rst is a
// function-level reset.
func (m *Module) Tick(in Target, regs regbus.Rsp, vram VRAM, master Master, rst bool) {
	asked := in.Req.Kind != port.None || master.Status != port.CplNone || rst
	if hdl.Asleep(m.state == stateIdle && !asked && master.Pending == m.cfg.pending && m.IdleFor() != 0) {
		return
	}
	got := in.Beat.Valid && m.beatReady()
	// Ready was said from the state before the last beat of a read may end it.
	taken := in.Req.Kind != port.None && m.state == stateIdle
	m.err.Cause = idreg.ErrNone
	m.function = false
	m.reg = regbus.Req{}
	if rst {
		m.cfg = resetConfig()
	}
	if m.aperture {
		m.tickRead(in.CplReady, vram)
	}
	switch m.state {
	case stateIdle:
		if taken {
			m.req = in.Req
			m.addr = in.Req.Addr
			m.left = in.Req.Len & 0x3f
			m.state = stateDecode
		}
	case stateDecode:
		m.decode()
	case stateCfgWrite:
		if got {
			m.configBeat(in.Beat)
		}
	case stateDrop:
		if got && in.Beat.Last {
			m.state = stateIdle
		}
	case stateCpl:
		if in.CplReady {
			m.next()
		}
	case stateRegRead:
		m.state = stateRegReadRsp
	case stateRegReadRsp:
		m.readRegister(regs)
	case stateRegBeat:
		if got {
			m.beat = in.Beat
			m.upper = false
			m.state = stateRegDword
		}
	case stateRegDword:
		m.writeRegister()
	case stateRegWrite:
		m.state = stateRegRsp
	case stateRegRsp:
		if regs.Retry {
			m.state = stateRegDword
		} else {
			if !regs.Hit {
				m.refuse(idreg.ErrUnmapped, 0)
			}
			m.nextHalf()
		}
	case stateVRAMWrite:
		if m.aperture {
			m.tickWrite(got, in.Beat, vram)
		}
	default:
	}
	m.report(master)
}

// decode starts the request in req.
func (m *Module) decode() {
	read := m.req.Kind == port.MemRead
	switch {
	case m.req.Kind == port.CfgRead:
		data := uint64(m.readConfig(uint16(m.req.Addr) & 0xffc))
		if m.req.Addr&4 != 0 {
			data <<= 32
		}
		m.complete(port.CplSuccess, true, data)
	case m.req.Kind == port.CfgWrite:
		m.state = stateCfgWrite
	case m.hitBAR0(m.req.Addr) && read:
		m.cpl.Data = 0
		m.issueRead()
	case m.hitBAR0(m.req.Addr):
		m.addr = m.req.Addr &^ 7
		m.state = stateRegBeat
	case m.hitBAR2(m.req.Addr):
		m.headerUp = true
		m.lastIn = false
		m.state = stateVRAMWrite
		if read {
			m.state = stateVRAMRead
		}
	default:
		m.refuse(idreg.ErrDecode, noBAR)
		m.unsupported(!read)
		m.state = stateDrop
		if read {
			m.complete(port.CplUnsupported, true, 0)
		}
	}
}

// configBeat performs a configuration write and completes it.
func (m *Module) configBeat(b port.Beat) {
	enable, data := b.Enable&0xf, uint32(b.Data)
	if m.req.Addr&4 != 0 {
		enable, data = b.Enable>>4, uint32(b.Data>>32)
	}
	m.writeConfig(uint16(m.req.Addr)&0xffc, data, byteMask(enable))
	m.complete(port.CplSuccess, true, 0)
}

// byteMask returns the bits of the bytes whose enable is set.
func byteMask(enable uint8) uint32 {
	var mask uint32
	for i := range 4 {
		if enable>>i&1 != 0 {
			mask |= 0xff << (8 * i)
		}
	}
	return mask
}

// complete offers a completion.
func (m *Module) complete(s port.Status, last bool, data uint64) {
	m.cpl = port.Completion{Tag: m.req.Tag, Status: s, Last: last, Data: data}
	m.state = stateCpl
}

// refuse reports the dword at addr.
func (m *Module) refuse(cause, bar uint8) {
	m.err = ident.Error{Cause: cause, Write: m.req.Kind == port.MemWrite, BAR: bar, Addr: m.addr}
}

// IdleFor returns math.MaxUint64 if only an input can wake the function, and 0
// otherwise.
func (m *Module) IdleFor() uint64 {
	waits := m.state == stateIdle || m.beatReady() && !m.out0.Valid && !m.headerUp ||
		m.state == stateVRAMRead && !m.headerUp && !m.full
	if waits && !m.function && m.err.Cause == idreg.ErrNone {
		return math.MaxUint64
	}
	return 0
}

// Skip is n clocks without input: nothing counts.
func (m *Module) Skip(n uint64) {}

// offset returns the offset of addr in BAR0, in bytes.
func offset(addr uint64) uint16 { return uint16(addr) & (pcicfg.BAR0Size - 1) &^ 3 }
