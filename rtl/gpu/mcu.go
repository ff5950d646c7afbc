package gpu

import (
	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/arbiter"
	"github.com/hilgpu/hilgpu/rtl/hdl"
	"github.com/hilgpu/hilgpu/rtl/mcu"
	"github.com/hilgpu/hilgpu/rtl/noc"
	"github.com/hilgpu/hilgpu/rtl/regbus"
)

// The microcontroller reads with a tag of node 0's reader that the node does not use. It writes as
// the writer of messages, when there is no message. So it needs no place of its own in the
// network. While it writes, a message waits.

// message returns the header of a message, or of a write of the microcontroller to host memory.
func (g *GPU) message() port.Request {
	req, _ := g.intc.Message()
	if g.writing() {
		req, _ = g.mcu.Write()
	}
	return req
}

// messageBeat returns the beat of a message, or of a write of the microcontroller.
func (g *GPU) messageBeat() port.Beat {
	_, beat := g.intc.Message()
	if g.writing() {
		_, beat = g.mcu.Write()
	}
	return beat
}

// fabric has what a clock takes of the readers and writers, one bit for each, and the completion
// for the microcontroller.
type fabric struct {
	host    uint8
	vram    uint8
	header  uint8
	beat    uint8
	refused uint8
	cpl     port.Completion
}

// tickMCU ticks the microcontroller, unless it begins to sleep.
func (g *GPU) tickMCU(regs regbus.Req, ctl control, f fabric) {
	now, events := g.ident.Time(), g.arbiter.Pending()
	req, beat := g.intc.Message()
	mem := mcu.Mem{
		ReadReady:  has(f.host, noc.HostReadMCU) || has(f.vram, noc.VRAMReadMCU),
		WriteReady: has(f.header, noc.WriteMessage) && g.mcu.Writing(),
		BeatReady:  has(f.beat, noc.WriteMessage) && g.mcu.Writing(),
		Refused:    has(f.refused, noc.WriteMessage),
		Free:       req.Kind == port.None && !beat.Valid,
		Cpl:        f.cpl,
	}
	g.mcuSlept = hdl.Nap(hdl.Asleep(g.mcu.Sleeps(regs, now, events, ctl.rst)))
	if !hdl.Asleep(bool(g.mcuSlept)) {
		answer := arbiter.AnswerOf(g.arbiter.Awaits(), g.arbiter.Refused(), ctl.rsp)
		g.mcu.Tick(regs, answer, mem, now, events, ctl.rst)
	}
}

// asksMCU reports whether the microcontroller may have an access or an event. If its last Tick was
// left out, it has none.
func (g *GPU) asksMCU() bool { return !hdl.Asleep(bool(g.mcuSlept)) && g.hasMCU() }

// writing reports whether the microcontroller has the place of the writer of messages.
func (g *GPU) writing() bool { return g.asksMCU() && g.mcu.Writing() }

// idleMCU is IdleFor of the microcontroller.
func (g *GPU) idleMCU() uint64 { return g.mcu.IdleFor(g.ident.Time(), g.arbiter.Pending()) }
