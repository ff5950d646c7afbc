package gpu_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/arbreg"
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/rtl/abi/intcreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pcicfg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/rtl/arbiter"
	"github.com/hilgpu/hilgpu/rtl/gpu"
)

// Each master has its own events, and the host's messages do not depend on them.
func TestEventsOfBoth(t *testing.T) {
	const events = arbreg.Base + arbreg.Events
	p := bootPair(t, gpu.Default(), 1)
	p.submit(0, pkt.Fence{Addr: at(fenceAt), ID: 1, IRQ: true})
	p.submitBytes(1, []byte{0, 0, 0, 0xff})
	p.idle()
	assert.ElementsMatch(t, []uint32{0x50, 0x51}, p.msgs)
	want := uint32(arbreg.Fence0 | arbreg.Fault1)
	assert.Equal(t, want, p.get(events))
	assert.Equal(t, want, p.readReg(events))
	p.put(events, arbreg.Fence0)
	assert.Equal(t, uint32(arbreg.Fault1), p.get(events))
	assert.Equal(t, want, p.readReg(events))
	p.writeReg(events, arbreg.Fault1)
	assert.Equal(t, uint32(arbreg.Fault1), p.get(events))
	assert.Equal(t, uint32(arbreg.Fence0), p.readReg(events))
	p.writeReg(cpreg.Base+cpreg.Preempt, 5)
	p.writeReg(intcreg.Base+intcreg.Raise, intcreg.All)
	p.idle()
	assert.Equal(t, uint32(arbreg.Preempt0|arbreg.Fault1), p.get(events), "raised events are not events of a node")
	for node := range uint32(2) {
		for owner := range uint32(4) {
			p.writeReg(arbreg.Base+arbreg.Owner, owner)
			p.writeReg(intcreg.Base+intcreg.Status, intcreg.All)
			at := cpreg.Base + node*cpreg.Stride
			if owner>>node&1 == 0 {
				p.writeReg(uint64(at+cpreg.Preempt), 6+owner)
			} else {
				p.put(uint16(at+cpreg.Preempt), 6+owner)
			}
			p.idle()
			assert.Equal(t, 6+owner, p.readReg(uint64(at+cpreg.Preempted)))
			want := uint32(intcreg.Done0) << node
			if owner>>node&1 != 0 {
				want = 0
			}
			assert.Equal(t, want, p.readReg(intcreg.Base+intcreg.Status)&(intcreg.Done0|intcreg.Done1), "node %d stops, OWNER %d", node, owner)
		}
	}
	p.writeReg(arbreg.Base+arbreg.Owner, 0)
	p.writeReg(idreg.Reset, idreg.ResetWhole)
	p.idle()
	assert.Zero(t, p.get(events))
	assert.Zero(t, p.readReg(events))
}

// Reads of low halves by one master do not disturb the high half that the other has
// latched: of the time, and of a timeline.
func TestLatchesOfBoth(t *testing.T) {
	const lo, hi = cpreg.Base + cpreg.LineLo, cpreg.Base + cpreg.LineHi
	p := bootPair(t, gpu.Default(), 1)
	line := func(high, low uint32) {
		p.writeReg(cpreg.Base+cpreg.LineHi, high)
		p.writeReg(cpreg.Base+cpreg.Fence, low)
	}
	line(1, 10)
	assert.Equal(t, uint32(10), p.readReg(lo))
	line(2, 20)
	assert.Equal(t, uint32(20), p.get(lo))
	assert.Equal(t, uint32(1), p.readReg(hi), "the host's")
	line(3, 30)
	assert.Equal(t, uint32(30), p.readReg(lo))
	assert.Equal(t, uint32(2), p.get(hi), "the second master's")
	assert.Equal(t, uint32(3), p.readReg(hi))
	p.writeReg(arbreg.Base+arbreg.Owner, arbreg.OwnerNode0)
	assert.Equal(t, arbiter.Answer{Done: true, Hit: true}, p.put(hi, 7))
	assert.Equal(t, uint32(2), p.get(hi), "a preset of the timeline is no read of it")
	assert.Equal(t, uint32(3), p.readReg(hi))
	assert.Equal(t, uint32(30), p.get(lo))
	assert.Equal(t, uint32(7), p.get(hi))

	clocks := func(v uint64) { // sets the time
		words := make([]uint64, gpu.GPUWords)
		p.g.Snapshot(words)
		for i, s := range p.g.Signals("gpu", nil) {
			if s.Name == "gpu.ident.time" {
				words[i] = v
			}
		}
		p.g.Restore(words)
	}
	clocks(5 << 32)
	low := p.readReg(idreg.TimeLo)
	clocks(6 << 32)
	assert.Less(t, p.get(idreg.TimeLo), low+1000)
	assert.Equal(t, uint32(5), p.readReg(idreg.TimeHi))
	assert.Equal(t, uint32(6), p.get(idreg.TimeHi))
	clocks(7 << 32)
	p.readReg(idreg.TimeLo)
	assert.Equal(t, uint32(6), p.get(idreg.TimeHi))
	assert.Equal(t, uint32(7), p.readReg(idreg.TimeHi))
}

// enumerate assigns the BARs and turns the function on.
func (m *machine) enumerate() {
	m.writeConfig(pcicfg.BAR0, uint32(bar0))
	m.writeConfig(pcicfg.BAR2, uint32(bar2&0xffffffff))
	m.writeConfig(pcicfg.BAR3, uint32(bar2>>32))
	m.writeConfig(pcicfg.Command, pcicfg.CommandMemory|pcicfg.CommandBusMaster)
}

// resetBoth gives nodes away, resets the device, and checks that the host owns them.
func (p *pair) resetBoth() {
	const owner = arbreg.Base + arbreg.Owner
	p.writeReg(owner, 3)
	p.writeReg(idreg.Reset, idreg.ResetWhole)
	p.idle()
	require.Zero(p.t, p.readReg(owner))
	p.writeReg(owner, 2)
	p.writeConfig(pcicfg.DevCtl, pcicfg.DevCtlReset)
	p.idle()
	p.enumerate()
	require.Zero(p.t, p.readReg(owner))
}

// A write of the host to a node that it does not own has no effect and is captured.
// So is one of the second master.
func TestOwner(t *testing.T) {
	const owner, ctl, size = arbreg.Base + arbreg.Owner, cpreg.Base + cpreg.Ctl, cpreg.Base + cpreg.RingSize
	p := bootPair(t, gpu.Default(), 1)
	captured := func() (info uint32, addr uint64) {
		info = p.readReg(idreg.ErrInfo)
		addr = uint64(p.readReg(idreg.ErrAddrHi))<<32 | uint64(p.readReg(idreg.ErrAddrLo))
		p.writeReg(idreg.ErrInfo, 0)
		return info, addr
	}
	check := func(wantInfo uint32, wantAddr uint64) {
		t.Helper()
		info, addr := captured()
		assert.Equal(t, wantInfo, info)
		assert.Equal(t, wantAddr, addr)
	}
	const host, second = uint32(idreg.ErrOwner | idreg.ErrInfoWrite), uint32(idreg.ErrOwner | idreg.ErrInfoWrite | idreg.ErrInfoSecond)
	refused := arbiter.Answer{Done: true, Refused: true}

	p.readBAR2(0, 4) // an address whose high half is not 0
	assert.Equal(t, refused, p.put(ctl, cpreg.CtlReset))
	check(second, ctl)
	assert.Equal(t, uint32(cpreg.CtlRun), p.get(ctl), "the node still runs")
	assert.Equal(t, refused, p.put(owner, 1))
	check(second, owner)

	p.writeReg(owner, arbreg.OwnerNode0)
	assert.Equal(t, uint32(arbreg.OwnerNode0), p.get(owner))
	p.writeReg(ctl, cpreg.CtlReset)
	check(host, bar0+ctl)
	assert.Equal(t, uint32(cpreg.CtlRun), p.readReg(ctl), "reads are free")
	p.writeReg(ctl+cpreg.Stride, 0)
	check(0, 0)
	assert.Equal(t, arbiter.Answer{Done: true, Hit: true}, p.put(ctl, 0))
	assert.Equal(t, arbiter.Answer{Done: true, Hit: true}, p.put(size, 9))
	assert.Equal(t, uint32(9), p.readReg(size))
	assert.Equal(t, refused, p.put(size+cpreg.Stride, 9))
	check(second, size+cpreg.Stride)
	assert.Equal(t, uint32(4), p.readReg(idreg.ErrCount))
	p.resetBoth()
}
