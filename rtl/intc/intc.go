// Package intc is the interrupt controller: it turns events into MSI-X
// messages.
package intc

import (
	"github.com/hilgpu/hilgpu/rtl/abi/pcicfg"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/regbus"
)

// Events are the pulses that the controller turns into messages.
type Events struct {
	Done0, Done1   bool // a node executed a FENCE with IRQ set
	Fault0, Fault1 bool // a node stopped on a fault
}

// Module is the interrupt controller. An event sets its STATUS bit and is due
// until a message of its vector starts; events that are due together share one
// message, and an event while a message is on its way is due again.
//
//	In      ev Events, pulses; enable, functionMask bool, levels of the MSI-X
//	        capability; reqReady, beatReady for the message; regs regbus.Req
//	Out     Message (port.Request, port.Beat), valid/ready each, a write of 4
//	        bytes to host memory; Rsp regbus.Rsp
//	Timing  2 clocks from event to message; one message at a time
//	Reset   STATUS, MASK and the table 0, the vectors masked
//	Order   vector 0 before vector 1 if both are due; an event in the clock of
//	        its acknowledge wins
//	Paths   none
//	Size    430 bits
//	Faults  none
//	Source  intcreg.Block, msixreg.Table; PCI 3.0 §6.8.3
type Module struct {
	status uint16 `w:"10"`
	mask   uint16 `w:"10"`
	due    uint16 `w:"10"`

	addr    [pcicfg.Vectors]uint64
	data    [pcicfg.Vectors]uint32
	control [pcicfg.Vectors]bool

	headerUp bool
	beatUp   bool
	msgAddr  uint64
	msgData  uint32
	rsp      regbus.Rsp
}

// New returns the controller after reset.
func New() Module {
	var m Module
	m.Reset()
	return m
}

// Tick is one rising clock edge.
func (m *Module) Tick(ev Events, enable, functionMask, reqReady, beatReady bool, regs regbus.Req) {
}

// Message returns the header and the beat of a message.
func (m *Module) Message() (req port.Request, beat port.Beat) { return req, beat }

// Rsp returns the answer to the register access of the clock before.
func (m *Module) Rsp() regbus.Rsp { return m.rsp }

// Reset clears the registers and masks the vectors.
func (m *Module) Reset() {}

// IdleFor returns math.MaxUint64 if only an input can wake the controller, and
// 0 otherwise.
func (m *Module) IdleFor() uint64 { return 0 }

// Skip is n clocks without input: nothing counts.
func (m *Module) Skip(n uint64) {}
