package sweep

import (
	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/abi/intcreg"
	"github.com/hilgpu/hilgpu/rtl/abi/msixreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pcicfg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
)

// Offsets in BAR0.
const (
	status  = intcreg.Base + intcreg.Status
	mask    = intcreg.Base + intcreg.Mask
	raise   = intcreg.Base + intcreg.Raise
	pending = msixreg.PendingBase
	done    = msixreg.Base + intcreg.VectorDone*msixreg.Stride  // entry of the table
	faults  = msixreg.Base + intcreg.VectorFault*msixreg.Stride // entry of the table
)

// interrupts returns the sweeps of messages and their registers.
func interrupts() []Sweep {
	return []Sweep{
		{
			Name: "message refused", Why: "a register of the interrupts is read or written in the clock in which a message is refused",
			Cases: accesses, Distances: 18, before: (*host).listen, meet: refused,
		},
		{
			Name: "message taken", Why: "a register of the interrupts is read or written as the host takes a header, or its beat",
			Cases: 2 * accesses, Distances: 9, before: (*host).listen, meet: taken,
		},
		{
			Name: "event held", Why: "an event is acknowledged while MASK or its vector holds its message, but not that of another event",
			Cases: len(masks()) * 1 << pcicfg.Vectors, Distances: 10, before: (*host).hold, meet: acknowledged,
		},
		{
			Name: "events wait", Why: "an event, an acknowledge or a change arrives as a waiting event has waited long enough",
			Needs: caps.Coalescing, Cases: accesses, Distances: 24, before: (*host).coalesce, meet: waited,
		},
		{
			Name: "many events wait", Why: "the number of waiting events, or the clocks that they have waited, passes a power of two",
			Needs: caps.Coalescing, Cases: 2, Distances: 12, before: (*host).listen, meet: gathered,
		},
	}
}

// accesses is the number of kinds of accesses that use makes.
const accesses = 7

// use queues some accesses of one kind to the registers of the interrupts.
func (h *host) use(kind int) {
	for range 4 {
		switch kind {
		case 0:
			h.look(pending, pending)
		case 1:
			h.SetReg(status, intcreg.All)
			h.look(status)
		case 2:
			h.SetReg(mask, intcreg.Fault0)
			h.SetReg(mask, intcreg.All)
		case 3:
			h.SetReg(done+msixreg.Control, 1)
			h.SetReg(done+msixreg.Control, 0)
		case 4:
			h.SetReg(faults+msixreg.Data, 0x1234)
			h.SetReg(done+msixreg.AddrLo, uint32(messages)+0x24)
		case 5:
			h.SetReg(raise, intcreg.Done0|intcreg.Fault0)
			h.look(pending)
		default:
			h.SetConfig(pcicfg.MSIX, pcicfg.MSIXEnable|pcicfg.MSIXFunctionMask)
			h.SetConfig(pcicfg.MSIX, pcicfg.MSIXEnable)
		}
	}
}

// listen enables all messages.
func (h *host) listen(int) { h.vectors() }

// calm acknowledges all events when nothing is in flight.
func (h *host) calm() {
	h.settle()
	h.SetReg(status, intcreg.All)
	h.look(status, pending)
	h.settle()
}

// refused makes a message wait until two writes have their beats, turns bus mastering off,
// and lets the beats go.
func refused(h *host, which, at int) {
	h.HoldBeats = true
	h.submit(0, pkt.Fill{Dst: data(dataFrom + 120), Bytes: 16})
	h.until(func() bool { return len(h.Writes) == 2 })
	h.SetReg(raise, intcreg.All)
	h.drain()
	h.step(12)
	h.SetConfig(pcicfg.Command, pcicfg.CommandMemory)
	h.drain()
	h.use(which)
	h.step(at)
	h.HoldBeats = false
	h.settle()
	h.SetConfig(pcicfg.Command, commandOn)
	h.calm()
}

// taken lets the header, or the beat, of a message go.
func taken(h *host, which, at int) {
	h.HoldHeaders, h.HoldBeats = which < accesses, which >= accesses
	h.SetReg(raise, intcreg.Done0|intcreg.Fault1)
	h.drain()
	h.step(10)
	h.use(which % accesses)
	h.step(at)
	h.HoldHeaders, h.HoldBeats = false, false
	h.calm()
}

// masks returns some values of MASK.
func masks() []uint32 {
	return []uint32{intcreg.Done0, intcreg.Done1, intcreg.Fault0, intcreg.Fault1, intcreg.Done0 | intcreg.Fault1, intcreg.All}
}

// hold enables some events and some vectors.
func (h *host) hold(which int) {
	h.vectors()
	h.SetReg(mask, masks()[which>>pcicfg.Vectors])
	h.SetReg(done+msixreg.Control, uint32(which)&1)
	h.SetReg(faults+msixreg.Control, uint32(which)>>1&1)
	h.drain()
}

// acknowledged raises all events while a message is offered, acknowledges some of them, and
// then takes what is left.
func acknowledged(h *host, which, at int) {
	acks := []uint32{intcreg.Done0, intcreg.Done1, intcreg.Fault0, intcreg.Fault1, intcreg.All}
	h.HoldHeaders = true
	h.SetReg(raise, masks()[which>>pcicfg.Vectors])
	h.SetReg(raise, intcreg.All)
	h.drain()
	h.step(at)
	h.SetReg(status, acks[at%len(acks)])
	h.look(status, pending)
	h.drain()
	h.calm()
}

// coalesce makes events of vector 0 wait for a second one, or for 16 clocks.
func (h *host) coalesce(int) {
	h.vectors()
	h.SetReg(intcreg.Base+intcreg.CoalesceCount, 2)
	h.SetReg(intcreg.Base+intcreg.CoalesceTime, 16)
	h.drain()
}

// gathered makes events wait for about a power of two of them, or of clocks.
func gathered(h *host, which, at int) {
	power := uint32(1) << at
	limit := []uint32{min(power, 255), 0}[which]
	h.SetReg(intcreg.Base+intcreg.CoalesceCount, limit)
	h.SetReg(intcreg.Base+intcreg.CoalesceTime, []uint32{1 << 23, power}[which])
	h.drain()
	for range limit + 1 {
		h.SetReg(raise, []uint32{intcreg.Done0, intcreg.Done0 | intcreg.Done1}[at%2])
	}
	h.drain()
	h.step(int(power) + 20)
	h.calm()
}

// waited makes an event wait.
func waited(h *host, which, at int) {
	h.SetReg(raise, intcreg.Done0)
	h.step(at)
	h.use(which)
	h.calm()
}
