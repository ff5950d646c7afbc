package bringup

import (
	"fmt"

	"github.com/hilgpu/hilgpu/rtl/abi/intcreg"
	"github.com/hilgpu/hilgpu/rtl/abi/msixreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pcicfg"
	"github.com/hilgpu/hilgpu/rtl/abi/regmap"
	"github.com/hilgpu/hilgpu/testbench/device/bare"
)

// An event is a row of the table of events.
type event struct {
	name   string
	bit    uint32
	vector int
}

func events() []event {
	return []event{
		{"DONE0", intcreg.Done0, intcreg.VectorDone},
		{"DONE1", intcreg.Done1, intcreg.VectorDone},
		{"FAULT0", intcreg.Fault0, intcreg.VectorFault},
		{"FAULT1", intcreg.Fault1, intcreg.VectorFault},
	}
}

// An irq tests the interrupt path.
type irq struct {
	s    *session
	f    finding
	data [pcicfg.Vectors]uint32
}

// irqMessage raises every event by software, under each mask between the event and
// its message.
func irqMessage(s *session) outcome {
	q := &irq{s: s}
	rng := s.rng(4)
	var was []configWord
	save := func(off uint32) { was = append(was, configWord{int(off), s.Reg(off)}) }
	s.quiesce()
	save(intcreg.Base + intcreg.Mask)
	for v := range uint32(pcicfg.Vectors) {
		for off := uint32(0); off < msixreg.Stride; off += 4 {
			save(msixreg.Base + v*msixreg.Stride + off)
		}
	}
	s.SetReg(intcreg.Base+intcreg.Status, intcreg.All)
	for v := range uint32(pcicfg.Vectors) {
		q.data[v] = rng.Uint32()
		entry := msixreg.Base + v*msixreg.Stride
		s.SetReg(entry+msixreg.AddrLo, uint32(messageAddr(int(v))))
		s.SetReg(entry+msixreg.AddrHi, 0)
		s.SetReg(entry+msixreg.Data, q.data[v])
		s.SetReg(entry+msixreg.Control, 0)
	}
	s.SetConfig(pcicfg.MSIX, pcicfg.MSIXEnable)
	from := s.Clock.Now()
	for _, e := range events() {
		if s.Err == nil {
			q.event(e)
		}
	}
	took := float64(s.Clock.Now()-from) / float64(s.Clock.Hz()) / float64(len(events()))
	s.SetConfig(pcicfg.MSIX, 0)
	s.SetReg(intcreg.Base+intcreg.Status, intcreg.All)
	for _, w := range was {
		s.SetReg(uint32(w.off), w.v)
	}
	return q.f.outcome(fmt.Sprintf("%d events, each under 4 masks, %s per event", len(events()), seconds(took)))
}

// messageAddr returns the address that vector v writes to.
func messageAddr(v int) uint64 { return bare.MessageBase + 0x1000 + 0x10*uint64(v) }

// event tests one event under the mask of the controller, the mask of its vector,
// the mask of the function, and no mask.
func (q *irq) event(e event) {
	control := msixreg.Base + uint32(e.vector)*msixreg.Stride + msixreg.Control
	for _, gate := range []struct {
		name        string
		close, open func()
		pending     bool // the event shows in the pending bits
	}{
		{"INTC.MASK", func() { q.setMask(0) }, func() { q.setMask(e.bit) }, false},
		{
			fmt.Sprintf("MSIX.CONTROL%d.MASK", e.vector),
			func() { q.setMask(e.bit); q.s.SetReg(control, msixreg.ControlMask) },
			func() { q.s.SetReg(control, 0) }, true,
		},
		{
			"the function mask",
			func() { q.s.SetConfig(pcicfg.MSIX, pcicfg.MSIXEnable|pcicfg.MSIXFunctionMask) },
			func() { q.s.SetConfig(pcicfg.MSIX, pcicfg.MSIXEnable) }, true,
		},
		{"no mask", nil, nil, false},
	} {
		q.s.Host.ForgetMessages()
		if gate.close != nil {
			gate.close()
		}
		q.s.SetReg(intcreg.Base+intcreg.Raise, e.bit)
		q.checkStatus(e, gate.name)
		if gate.close != nil {
			q.checkHeld(e, gate.name, gate.pending)
			gate.open()
		}
		if !q.await(e, gate.name) {
			q.setMask(0)
			q.s.SetReg(intcreg.Base+intcreg.Status, e.bit)
			return
		}
		q.acknowledge(e)
	}
	q.setMask(0)
}

func (q *irq) setMask(v uint32) { q.s.SetReg(intcreg.Base+intcreg.Mask, v) }

// checkStatus checks the status bit of a raised event.
func (q *irq) checkStatus(e event, gate string) {
	if got := q.s.Reg(intcreg.Base + intcreg.Status); got != e.bit && q.s.Err == nil {
		q.f.add("the event does not reach the controller", "INTC.STATUS is %#x after %s was raised under %s, want %#x", got, e.name, gate, e.bit)
	}
}

// checkHeld checks that a mask holds the message back.
func (q *irq) checkHeld(e event, gate string, pending bool) {
	q.drain()
	if n := len(q.s.Host.Messages()); n > 0 {
		q.f.add("a mask that does not mask", "%s: %d messages passed %s", e.name, n, gate)
	}
	want := uint32(0)
	if pending {
		want = 1 << e.vector
	}
	if got := q.s.Reg(msixreg.PendingBase); got != want && q.s.Err == nil {
		q.f.add("", "PBA.PENDING_LO is %#x while %s is held by %s, want %#x", got, e.name, gate, want)
	}
}

// await waits for the message of an event, and checks that it is the only one, its
// address and its data.
func (q *irq) await(e event, gate string) bool {
	s := q.s
	if !s.Until(func() bool { return len(s.Host.Messages()) > 0 }) {
		if s.Err == nil {
			status, _ := regmap.New().Lookup(intcreg.Base + intcreg.Status)
			q.f.add("the message is lost between the device and the host: bus mastering, the message window, or the link",
				"%s, %s: no message of vector %d for %d s; %s, PBA.PENDING_LO=%#x", e.name, gate, e.vector, s.Limit(),
				status.Format(s.Reg(intcreg.Base+intcreg.Status)), s.Reg(msixreg.PendingBase))
		}
		return false
	}
	q.drain()
	m := s.Host.Messages()[0]
	if want := (bare.Message{Addr: messageAddr(e.vector), Data: q.data[e.vector], Size: 4}); m != want {
		q.f.add("the message of another vector, or a table entry that does not keep its value",
			"%s: message of %d bytes, %#x, at %#x, want 4 bytes, %#x, at %#x", e.name, m.Size, m.Data, m.Addr, want.Data, want.Addr)
	}
	if n := len(s.Host.Messages()); n > 1 {
		q.f.add("a storm: the message is sent repeatedly", "%s, %s: %d messages for one event", e.name, gate, n)
	}
	return true
}

// acknowledge clears the event.
func (q *irq) acknowledge(e event) {
	q.s.SetReg(intcreg.Base+intcreg.Status, e.bit)
	if got := q.s.Reg(intcreg.Base + intcreg.Status); got != 0 && q.s.Err == nil {
		q.f.add("", "INTC.STATUS is %#x after %s was acknowledged, want 0", got, e.name)
	}
}

// drain waits until messages in flight have arrived. The read at its end pushes
// earlier writes of the device ahead of its completion.
func (q *irq) drain() {
	q.s.sleep(100_000)
	q.s.Reg(intcreg.Base + intcreg.Status)
}
