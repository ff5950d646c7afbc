// Package core is a processor for RV32I with Zicsr and Zifencei, in machine mode, with its
// local memory.
package core

import "github.com/hilgpu/hilgpu/rtl/hdl"

// The largest and the smallest local memory, in bytes.
const (
	MinBytes = 8 << 10
	MaxBytes = 64 << 10
)

// Config configures a core.
//
//	Bytes     size of the local memory at address 0, a power of two, MinBytes to MaxBytes
//	Counters  the counters mcycle and minstret exist; without them they read 0. They stop in a
//	          halt, and in WFI
//	Debug     the core obeys Control.Halt, Control.Resume and Debug; without it they are ignored
type Config struct {
	Bytes    int
	Counters bool
	Debug    bool
}

// Interrupts are the levels of the three interrupts of machine mode.
type Interrupts struct {
	Software bool
	Timer    bool
	External bool
}

// Request is an access outside of the local memory.
//
//	Valid   there is one; it stays until Answer.Done
//	Enable  bytes that a write writes, bit i for bits 8*i+7 to 8*i of Data; 0: a read
//	Addr    byte address; a read returns the word that has it
//	Data    of a write
type Request struct {
	Valid  bool
	Enable uint8 `w:"4"`
	Addr   uint32
	Data   uint32
}

// Answer ends an access.
//
//	Done   the access is complete in this clock; only with Request.Valid
//	Fault  it failed: the core takes an access fault
//	Data   the word that has the address, of a read
type Answer struct {
	Done  bool
	Fault bool
	Data  uint32
}

// Control starts and stops the core.
//
//	Hold    level: the core is reset, and held at its start; its memory may be written with Load
//	        from the next clock on
//	Halt    level: the core halts before its next instruction
//	Resume  pulse: a halted core continues
//	Step    with Resume: it halts again after one instruction, without interrupts
type Control struct {
	Hold   bool
	Halt   bool
	Resume bool
	Step   bool
}

// Debug is what a debugger asks of the core.
//
//	Exec  pulse, of a halted core: it executes Word. pc stays, unless Word is a jump
//	Stop  level: the core halts before the instruction at PC, unless it was resumed there
//	Catch level: an EBREAK halts the core and is no exception
//	Word  an instruction
//	Data  what the register dscratch0 reads
type Debug struct {
	Exec  bool
	Stop  bool
	Catch bool
	Word  uint32
	Data  uint32
}

// Load is a word for the local memory of a core that is held.
type Load struct {
	Valid bool
	Addr  uint16 `w:"14"` // word address
	Data  uint32
}

// A Cause is why the core halted.
type Cause uint8

// Causes of a halt.
const (
	NoCause   Cause = iota
	Requested       // Control.Halt
	Stepped         // Control.Step
	Stopped         // Debug.Stop
	Break           // an EBREAK with Debug.Catch
	Executed        // Debug.Exec, complete
	Failed          // Debug.Exec, with an exception that was not taken
)

// State is what a core is doing.
//
//	Asleep   it is in WFI
//	Halted   it is halted, for Cause
//	Retired  pulse: an instruction is complete that minstret counts
//	Cause    of the halt
type State struct {
	Asleep  bool
	Halted  bool
	Retired bool
	Cause   Cause
}

// state is the step of an instruction.
type state uint8

const (
	stateStart   state = iota // at the end of Hold x0 is cleared
	stateFetch                // the instruction is read, the last result is written
	stateDecode               // its operands are read
	stateExecute              // acc gets the result or the address
	stateJump                 // pc gets the target of a JAL or of a branch
	stateNext                 // pc gets the address of the next instruction
	stateShift                // acc is shifted
	stateMemory               // the local memory is read or written
	stateBus                  // an access outside is waited for
	stateModify               // acc gets the new value of a CSR
	stateCSR                  // the CSR is written
	stateValue                // acc gets mtval
	stateCause                // mtval is written
	stateVector               // mcause is written, mtvec is read
	stateTrap                 // mepc is written
	stateWait                 // WFI
	stateHalt                 // halted
)

// Module executes instructions, one at a time.
//
// The registers x0 to x31 and the CSRs that only software uses are in two RAMs with equal
// contents, which are read together.
//
//	In      irq Interrupts; bus Answer; ctl Control; dbg Debug; load Load
//	Out     Request, for the bus; PC; Stored, an address written to; Sent, a value for the
//	        debugger; State
//	Timing  3 clocks an instruction; 4 for JAL, AUIPC, a branch that is taken, and a
//	        load or a store to the local memory; the answer of the bus for others; 5 for a
//	        CSR; one more for each bit of a shift; 4 more for an exception or an interrupt;
//	        2 or 3 when the lower half of a counter wraps
//	Reset   the core starts at address 0; memory and registers keep their values, but x0 is 0
//	Order   an access is complete before the next instruction begins
//	Paths   none
//	Size    Config.Bytes, and 194 bits with all options; the registers of software are in 64 words
//	Faults  exceptions are precise: mepc is the instruction, and it has changed nothing
//	Source  RISC-V Unprivileged ISA 20191213, chapters 2, 3 and 9; Privileged
//	        Architecture 20211203, chapter 3
type Module struct {
	cfg    Config
	words  uint32 // of the local memory
	ram    hdl.RAM
	left   hdl.RAM // registers, for rs1
	right  hdl.RAM // registers, for rs2 and CSRs
	state  state
	pc     uint32
	ir     uint32
	acc    uint32 // result, address, or value for a CSR
	count  uint8  `w:"5"` // bits to shift
	cause  uint8  `w:"4"` // of the exception or the interrupt
	irq    bool   // it is an interrupt
	writes bool   // acc is written to rd in the next clock
	loads  bool   // what was read is written to rd in the next clock
	stored bool   // acc is the address of a store that is complete

	mie    bool  // mstatus.MIE
	mpie   bool  // mstatus.MPIE
	enable uint8 `w:"3"` // mie: software, timer, external

	cycle   uint32 // lower half of mcycle
	instret uint32 // lower half of minstret
	retired bool
	carry   uint8 `w:"2"` // the upper half of a counter must be incremented: mcycle, minstret
	carries bool  // that of row counted is
	counted uint8 `w:"1"`

	debug  bool // the instruction is the debugger's
	passes bool // Debug.Stop is ignored for the next instruction
	steps  bool // the core halts after the next instruction
	halted Cause
}

// New returns a core after reset, with a memory of zeros.
func New(c Config) Module {
	hdl.Assert(c.Bytes >= MinBytes && c.Bytes <= MaxBytes && c.Bytes&(c.Bytes-1) == 0, "core: a memory that is no power of two, or below 8 or above 64 KiB")
	m := Module{
		cfg: c, words: uint32(c.Bytes / 4), ram: hdl.NewNarrowRAM(c.Bytes/4, 32),
		left: hdl.NewNarrowRAM(rows, 32), right: hdl.NewNarrowRAM(rows, 32),
	}
	m.Reset()
	return m
}

// Reset restarts the core.
func (m *Module) Reset() {
	m.state, m.pc, m.ir, m.acc, m.count = stateStart, 0, 0, 0, 0
	m.cause, m.irq, m.writes, m.loads, m.stored = 0, false, false, false, false
	m.mie, m.mpie, m.enable = false, false, 0
	m.cycle, m.instret, m.retired, m.carry, m.carries, m.counted = 0, 0, false, 0, false, 0
	m.debug, m.passes, m.steps, m.halted = false, false, false, NoCause
}

// Request returns the access that the core waits for.
func (m *Module) Request() Request {
	r := Request{Valid: m.state == stateBus, Addr: m.acc, Data: spread(m.ir, uint32(m.right.Out()))}
	if opcode(m.ir) == opStore {
		r.Enable = lanes(m.ir, m.acc)
	}
	return r
}

// PC returns the address of the instruction.
func (m *Module) PC() uint32 { return m.pc }

// Stored returns the address of the store that the last instruction did, and false if it was
// none. It is valid until the next instruction is read.
func (m *Module) Stored() (addr uint32, ok bool) { return m.acc, m.stored }

// Sent returns the value that an instruction writes to dscratch0, and false if it does not.
func (m *Module) Sent() (value uint32, ok bool) {
	return m.acc, m.cfg.Debug && m.state == stateCSR && register(m.ir) == csrScratch
}

// State returns what the core is doing.
func (m *Module) State() State {
	return State{Asleep: m.state == stateWait, Halted: m.state == stateHalt && m.settled(), Retired: m.retired, Cause: m.halted}
}

// A Rest tells what a core waits for. A Tick without that changes nothing.
//
//	Start   the end of Control.Hold
//	Asleep  an interrupt of Enable, Control.Halt, or Control.Hold
//	Halted  Control.Resume, Control.Hold, or Debug.Exec
type Rest struct {
	Start  bool
	Asleep bool
	Halted bool
	Enable uint8 `w:"3"`
}

// Rest returns what the core waits for.
func (m *Module) Rest() Rest {
	idle := m.settled() && !m.retired
	return Rest{
		Start: m.state == stateStart, Asleep: m.state == stateWait && idle,
		Halted: m.state == stateHalt && idle && !m.stored && !m.carries, Enable: m.enable,
	}
}

// Sleeps reports whether a Tick of a core changes nothing, with these inputs and without Load and
// Debug.Exec.
func Sleeps(r Rest, irq Interrupts, ctl Control) bool {
	wakes := pending(irq)&r.Enable != 0
	return r.Start && ctl.Hold || !ctl.Hold && (r.Asleep && !wakes && !ctl.Halt || r.Halted && !ctl.Resume)
}

// settled reports whether no result is still to be written.
func (m *Module) settled() bool { return !m.writes && !m.loads }

// Outputs are the methods whose results are the outputs.
var Outputs = []string{"Request", "PC", "Stored", "Sent", "State"}
