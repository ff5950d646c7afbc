package fwtest

import "github.com/hilgpu/hilgpu/rtl/abi/mcureg"

// program is what the program of a model sees outside of its memory. It is written from
// mcureg.go, and not from the RTL.
type program struct{ m *Model }

// Read reads an aligned value of size bytes.
func (p program) Read(addr, size uint32) (uint32, bool) {
	v, ok := p.word(addr &^ 3)
	v >>= addr & 3 * 8
	return v & uint32(1<<(8*size)-1), ok
}

// word reads a word.
func (p program) word(addr uint32) (uint32, bool) {
	switch {
	case addr>>31 != 0:
		gpu, ok := p.through(addr, mcureg.SizeBytes, false)
		if !ok {
			return 0, false
		}
		return p.m.fetch(gpu)
	case addr>>28 == mcureg.Bus>>28:
		return p.m.read(addr - mcureg.Bus)
	case addr>>28 == mcureg.Local>>28:
		return p.local(addr - mcureg.Local)
	}
	return 0, false
}

// through returns the GPU address of an access through a window.
func (p program) through(addr, mask uint32, writes bool) (uint64, bool) {
	i, offset := addr>>28&7, addr&(mcureg.WindowMax-1)
	w := p.m.windows[i]
	free := i == mcureg.FreeWindow
	size := w[mcureg.WindowSize/4]
	switch {
	case p.m.faults.Silent:
		p.m.silent = true
		return 0, false
	case writes && (free || size&mcureg.SizeWrite == 0):
		return 0, false
	case !free && !p.m.faults.Unbounded && offset >= size&mask:
		return 0, false
	}
	return uint64(w[1])<<32 + uint64(w[0]) + uint64(offset), true
}

// local reads a register of the program.
func (p program) local(at uint32) (uint32, bool) {
	now := p.m.time(p.m.clock)
	switch at {
	case mcureg.TimeLo:
		return uint32(now), true
	case mcureg.TimeHi:
		return uint32(now >> 32), true
	case mcureg.CompareLo:
		return uint32(p.m.compare), true
	case mcureg.CompareHi:
		return uint32(p.m.compare >> 32), true
	case mcureg.LocalDoorbell:
		return p.m.bells, true
	case mcureg.Kick:
		return 0, true
	case mcureg.Events:
		return p.m.events, true
	case mcureg.FreeLo, mcureg.FreeHi:
		return p.m.windows[mcureg.FreeWindow][(at-mcureg.FreeLo)/4], true
	}
	if at >= mcureg.Mail && at < mcureg.Mail+4*mcureg.Mails {
		return p.m.mails[(at-mcureg.Mail)/4], true
	}
	return 0, false
}

// Write writes an aligned value of size bytes. Registers are written as complete words.
func (p program) Write(addr, size, v uint32) bool {
	switch {
	case addr>>31 != 0:
		gpu, ok := p.through(addr, mcureg.SizeBytes, true)
		if ok {
			p.m.store(gpu&^3, uint8(1<<size-1)<<(addr&3), v<<(addr&3*8))
		}
		return ok
	case size != 4:
		return false
	case addr>>28 == mcureg.Bus>>28:
		off := addr - mcureg.Bus
		open := off < mcureg.BlocksInMask*mcureg.BlockBytes && p.m.blocks>>(off/mcureg.BlockBytes)&1 != 0
		return (open || p.m.faults.Unlocked) && p.m.write(off, v)
	case addr>>28 == mcureg.Local>>28:
		return p.setLocal(addr-mcureg.Local, v)
	}
	return false
}

// setLocal writes a register of the program.
func (p program) setLocal(at, v uint32) bool {
	switch at {
	case mcureg.CompareLo:
		p.m.compare = p.m.compare>>32<<32 | uint64(v)
	case mcureg.CompareHi:
		p.m.compare = p.m.compare&0xffffffff | uint64(v)<<32
	case mcureg.LocalDoorbell:
		p.m.bells &^= v
	case mcureg.Kick:
		p.m.age = 0
	case mcureg.Events:
		p.m.events = v
	case mcureg.FreeLo, mcureg.FreeHi:
		p.m.windows[mcureg.FreeWindow][(at-mcureg.FreeLo)/4] = v
	default:
		if at < mcureg.Mail || at >= mcureg.Mail+4*mcureg.Mails {
			return false
		}
		p.m.mails[(at-mcureg.Mail)/4] = v
	}
	return true
}
