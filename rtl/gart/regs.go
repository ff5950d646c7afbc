package gart

import (
	"github.com/hilgpu/hilgpu/rtl/abi/gartreg"
	"github.com/hilgpu/hilgpu/rtl/regbus"
)

// A fault is the record of a page that could not be accessed.
type fault struct {
	valid  bool
	lost   bool  // another one followed
	node   uint8 `w:"1"`
	writes bool
	kind   uint8  `w:"2"`
	addr   uint32 // low half of the address of the first byte
}

// record keeps the fault of the current descriptor, if it is the first one.
func (m *Module) record() {
	if m.fault.valid {
		m.fault.lost = true
	} else {
		m.fault = fault{valid: true, node: m.owner, writes: m.writes, kind: m.kind, addr: uint32(m.addr())}
	}
}

// info returns FAULT.
func (f *fault) info() uint32 {
	return bit(f.valid, gartreg.FaultValid) | bit(f.node != 0, gartreg.FaultNode) | bit(f.writes, gartreg.FaultWrite) |
		bit(f.lost, gartreg.FaultLost) | uint32(f.kind)<<4
}

// bit returns mask if b is set, otherwise 0.
func bit(b bool, mask uint32) uint32 {
	if !b {
		mask = 0
	}
	return mask
}

// access serves a register access. busy is set while the address of a read of the table must
// not change.
func (m *Module) access(r regbus.Req, busy bool) {
	m.rsp = regbus.Rsp{}
	off := r.Off & 0xff
	if r.Op != regbus.None && r.Off>>8 == gartreg.Base>>8 && off <= gartreg.FaultHi {
		write := r.Op == regbus.Write
		m.rsp.Hit = true
		m.rsp.Retry = write && busy && (off == gartreg.TableLo || off == gartreg.TableHi)
		if !write {
			m.rsp.Data = m.read(off)
		} else if !m.rsp.Retry {
			m.write(off, r.Data)
		}
	}
}

// read returns a register.
func (m *Module) read(off uint16) uint32 {
	var v uint32
	switch off {
	case gartreg.Ctl:
		v = bit(m.enable, gartreg.CtlEnable)
	case gartreg.TableLo:
		v = uint32(m.table)
	case gartreg.TableHi:
		v = uint32(m.table >> 32)
	case gartreg.Pages:
		v = m.pages
	case gartreg.Flush:
		v = bit(m.flush, gartreg.FlushBusy)
	case gartreg.Fault:
		v = m.fault.info()
	case gartreg.FaultLo:
		v = m.fault.addr
	default:
		v = bit(m.fault.valid, uint32(gartreg.Start>>32))
	}
	return v
}

// write writes a register.
func (m *Module) write(off uint16, v uint32) {
	switch off {
	case gartreg.Ctl:
		m.enable = v&gartreg.CtlEnable != 0
	case gartreg.TableLo:
		m.table = m.table>>32<<32 | uint64(v&gartreg.TableLoBytes)
	case gartreg.TableHi:
		m.table = uint64(v)<<32 | m.table&(1<<32-1)
	case gartreg.Pages:
		m.pages = v & gartreg.PagesCount
	case gartreg.Flush:
		if v&gartreg.FlushBusy != 0 {
			m.flush = true
			m.held = 0
		}
	case gartreg.Fault:
		m.fault = fault{}
	default:
	}
}
