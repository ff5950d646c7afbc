package inproc

import "github.com/hilgpu/hilgpu/rtl/abi/port"

// A Register is a register, or some bits of it, that IgnoreWrite keeps from the device.
type Register struct {
	Off  uint64 // in BAR0, in bytes
	Bits uint32 // the other bits of a write arrive; 0: nothing of it does
}

// writes are the addresses of the host's memory writes whose beats are due, in order.
type writes []dueWrite

// A dueWrite is the rest of a write.
type dueWrite struct {
	addr   uint64 // in the next beat
	beats  uint8
	memory bool // not a configuration write
}

// begin adds a write that the device has taken.
func (w *writes) begin(req port.Request) {
	if req.Kind == port.MemWrite || req.Kind == port.CfgWrite {
		*w = append(*w, dueWrite{req.Addr, port.Beats(req.Addr, req.Len), req.Kind == port.MemWrite})
	}
}

// take removes a beat.
func (w *writes) take() {
	first := &(*w)[0]
	first.addr += 8
	first.beats--
	if first.beats == 0 {
		*w = (*w)[1:]
	}
}

// ignore returns a beat of the due write without what the device ignores. It counts the
// events if the beat is taken.
func (f *Faulty) ignore(beat port.Beat, taken bool) port.Beat {
	due := f.writes[0]
	for _, r := range f.fault.Registers {
		at := f.base + r.Off
		lanes, bits := uint8(0xf)<<(at&4), uint64(r.Bits)<<(8*(at&4))
		asks := r.Bits == 0 || beat.Data&bits != 0
		if !due.memory || at&^7 != due.addr&^7 || beat.Enable&lanes != lanes || !asks {
			continue
		}
		if f.affects() {
			beat.Data &^= bits
			if r.Bits == 0 {
				beat.Enable &^= lanes
			}
		}
		if taken {
			f.events++
		}
	}
	if taken {
		f.writes.take()
	}
	return beat
}
