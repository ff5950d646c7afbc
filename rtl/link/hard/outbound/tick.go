package outbound

import (
	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/hdl"
	"github.com/hilgpu/hilgpu/rtl/link/hard/inbound"
	"github.com/hilgpu/hilgpu/rtl/link/linkport"
)

// Types of packets: byte 0 of the header (PCIe 3.0 table 2-3).
const (
	typeRead     = 0x00
	typeWrite    = 0x40
	typeCpl      = 0x0a
	typeCplD     = 0x4a
	longHeader   = 0x20 // with a 64-bit address
	unsupported  = 1    // status of a completion
	aborted      = 4
	memoryEnable = 2 // bit of the register Command, in the upper half of a beat
)

// Tick is one rising clock edge.
func (m *Module) Tick(gpu linkport.GPU, answer inbound.Answer, room Room) {
	hdl.Assert(answer.Wish == inbound.Nothing || m.Free(), "outbound: a completion is wanted before the last one is made")
	cpl, write := gpu.Cpl.Status != port.CplNone, gpu.Req.Kind == port.MemWrite
	takesCpl, takesReq, _ := m.Takes()
	older := m.older
	m.older = cpl && !takesCpl && (older || !write || takesReq)
	m.keeps = m.keeps && room.Live
	m.issued = false
	if answer.Wish != inbound.Nothing {
		m.pend, m.failed = answer, false
	}
	switch m.state {
	case stateIdle:
		m.pick(gpu, room, cpl, write && !older)
	case stateRequest:
		m.request(gpu.Req, room)
	case stateTake:
		m.take(gpu.Cpl)
	case stateHead:
		m.header()
	case stateData:
		m.data(gpu)
	case statePatch:
		m.state = stateDone
	default:
		m.state = stateIdle
	}
}

// pick begins the next packet.
func (m *Module) pick(gpu linkport.GPU, room Room, cpl, first bool) {
	may := room.Slot || !room.Live
	m.k, m.at, m.begun, m.have, m.source, m.wide, m.reads, m.keeps = 0, 0, false, 0, sourceNone, false, false, room.Live
	m.epoch, m.id = room.Epoch, room.ID
	wish := m.pend.Wish
	if wish >= inbound.Success {
		if may {
			m.finish(wish)
		}
	} else if cpl && !first {
		if may {
			m.answer(gpu.Cpl.Status)
		}
	} else if room.Waits && wish == inbound.Nothing {
		m.state = stateIdle
	} else if first && (may && room.Write || !room.Live) || gpu.Req.Kind == port.MemRead && (may && room.Read || !room.Live) {
		m.state = stateRequest
	}
}

// finish begins a completion without data of the GPU.
func (m *Module) finish(wish inbound.Wish) {
	m.state, m.kind, m.left = stateHead, typeCpl, 0
	switch wish {
	case inbound.Success:
		m.status = 0
	default:
		m.status = unsupported
	}
}

// answer begins a completion that the GPU offers.
func (m *Module) answer(status port.Status) {
	if m.pend.Wish == inbound.Data && status == port.CplSuccess {
		m.state, m.kind, m.status, m.source = stateHead, typeCplD, 0, sourceCompletions
		m.left = m.pend.Len << 2
		return
	}
	m.state = stateTake
}

// fails begins a completion with the status of a failure.
func (m *Module) fails(status port.Status) {
	m.state, m.kind, m.left, m.k, m.at, m.source, m.failed = stateHead, typeCpl, 0, 0, 0, sourceNone, true
	m.status = aborted
	if status == port.CplUnsupported {
		m.status = unsupported
	}
}

// take takes a completion without its data.
func (m *Module) take(cpl port.Completion) {
	wish := m.pend.Wish
	m.state = stateIdle
	if !cpl.Last && cpl.Status == port.CplSuccess {
		return
	}
	if wish == inbound.Silent || wish == inbound.Nothing {
		m.pend.Wish = inbound.Nothing
	} else if cpl.Status != port.CplSuccess {
		m.fails(cpl.Status)
	} else if cpl.Data>>32&memoryEnable == 0 {
		m.fails(port.CplUnsupported)
	} else {
		m.state, m.kind, m.status, m.source, m.left = stateHead, typeCplD, 0, sourceZeros, 4
	}
}

// request takes the header of a request.
func (m *Module) request(req port.Request, room Room) {
	m.addr, m.len, m.tag = req.Addr, req.Len&63, req.Tag&63
	m.wide = req.Addr>>32 != 0
	m.kind, m.left = typeRead, 0
	m.state = stateHead
	if m.wide {
		m.kind = typeRead | longHeader
	}
	if req.Kind == port.MemWrite {
		m.kind |= typeWrite
		m.source, m.left = sourceBeats, m.len<<2
	} else if req.Kind == port.MemRead {
		m.reads, m.issued = true, true
		m.first, m.last = 15, 15
	} else {
		m.state = stateIdle
	}
	if !room.Live && req.Kind == port.MemRead {
		m.state = stateIdle
	}
}

// header moves to the next byte of the header.
func (m *Module) header() {
	end := uint8(11)
	if m.wide {
		end = 15
	}
	written := m.present()
	if m.k == end {
		if m.kind&typeCpl == typeCpl && m.source != sourceCompletions {
			m.pend.Wish = inbound.Nothing
		}
		m.state = stateDone
		if m.source != sourceNone {
			m.state = stateData
		}
	}
	m.k = (m.k + 1) & 15
	if written {
		m.at++
	}
}

// data takes beats and moves to the next byte of data.
func (m *Module) data(gpu linkport.GPU) {
	wants := m.wants()
	if m.have != 0 {
		m.have = (m.have - 1) & 15
		m.left--
		m.at++
		m.beat >>= 8
	}
	if m.source == sourceZeros {
		m.have, m.beat = 4, 0
		if m.left == 0 {
			m.have, m.state = 0, stateDone
		}
		return
	}
	valid, last, v := gpu.Beat.Valid, gpu.Beat.Last, gpu.Beat.Data
	odd := m.addr&4 != 0
	if m.source == sourceCompletions {
		valid, last, v, odd = gpu.Cpl.Status != port.CplNone, gpu.Cpl.Last, gpu.Cpl.Data, m.pend.High
	}
	if wants && valid {
		m.load(gpu, last, v, odd && !m.begun)
	} else if m.left == 0 {
		m.state = stateDone
		if m.source == sourceBeats {
			m.state = statePatch
		}
	}
}

// load takes a beat. half: only its upper half is of the request.
func (m *Module) load(gpu linkport.GPU, last bool, v uint64, half bool) {
	m.have, m.beat = 8, v
	enable := gpu.Beat.Enable
	if half {
		m.have, m.beat, enable = 4, v>>32, enable>>4
	}
	if !m.begun {
		m.first = enable & 15
	}
	m.last = enable & 15
	if m.left > 4 && !half {
		m.last = enable >> 4
	}
	m.begun = true
	m.have = min(m.have, m.left) & 15
	if m.source == sourceCompletions && gpu.Cpl.Status != port.CplSuccess {
		m.fails(gpu.Cpl.Status)
	} else if m.source == sourceCompletions && last {
		m.pend.Wish = inbound.Nothing
	}
}
