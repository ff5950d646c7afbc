package fwtest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"

	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/rtl/abi/mcureg"
	"github.com/hilgpu/hilgpu/rtl/mcu/rv32"
)

const (
	// instructionClocks is how far an instruction of the model advances the time.
	instructionClocks = 4

	// hostClocks is how far an access of the host advances the time.
	hostClocks = 100
)

// ErrUnmapped is the error of an access of the host to a register that does not exist.
var ErrUnmapped = errors.New("fwtest: no register")

// A Model is a microcontroller made of the model of its processor.
type Model struct {
	surroundings
	cpu     rv32.Processor
	bytes   int
	clock   uint64
	silent  bool // an access that never ends has begun
	run     bool
	hung    bool
	limit   uint32
	age     uint64
	blocks  uint32
	loadAt  uint32
	loaded  []byte
	mails   [mcureg.Mails]uint32
	windows [mcureg.Windows][4]uint32
	bells   uint32
	events  uint32
	compare uint64
	high    uint32 // the latch of ID.TIME_HI
	writes  int
}

// NewModel returns a microcontroller with a memory of the given size in bytes.
func NewModel(bytes int, f Faults) *Model {
	m := &Model{surroundings: newSurroundings(f), bytes: bytes, compare: math.MaxUint64}
	m.cpu.Memory = make([]byte, bytes)
	m.registers[mcureg.Base+mcureg.Info] = info(bytes)
	m.cpu.Bus = program{m}
	return m
}

// Writes returns how many writes the host has made.
func (m *Model) Writes() int { return m.writes }

// PC returns the address of the next instruction.
func (m *Model) PC() uint32 { return m.cpu.PC }

// Asleep reports whether the program waits in WFI.
func (m *Model) Asleep() bool { return m.cpu.Waits }

// advance lets time pass.
func (m *Model) advance(clocks uint64) {
	for end := m.clock + clocks; m.clock < end; m.clock += instructionClocks {
		if m.run && !m.hung && !m.silent {
			m.execute()
		}
		m.age += instructionClocks
		if !m.run || m.cpu.Waits || m.limit == 0 {
			m.age = 0
		}
		m.hung = m.hung || m.limit != 0 && m.age >= uint64(m.limit)
	}
}

// execute executes an instruction, or takes an interrupt.
func (m *Model) execute() {
	pending := uint32(0)
	if m.bells != 0 {
		pending |= rv32.Software
	}
	if m.time(m.clock) >= m.compare {
		pending |= rv32.Timer
	}
	if m.faults.Interrupt != nil {
		pending = m.faults.Interrupt(pending)
	}
	if !m.cpu.Interrupt(pending) && !m.cpu.Waits {
		m.cpu.Execute(pending)
	}
	if m.faults.Memory != nil {
		m.faults.Memory(m.cpu.Memory)
	}
}

// Read reads a register of BAR0 for the host.
func (m *Model) Read(off uint32) (uint32, error) {
	m.advance(hostClocks)
	at := off - mcureg.Base
	switch {
	case off == idreg.Base+idreg.TimeLo:
		m.high = uint32(m.clock >> 32)
		return uint32(m.clock), nil
	case off == idreg.Base+idreg.TimeHi:
		return m.high, nil
	case at == mcureg.Status:
		return bitIf(m.cpu.Waits, mcureg.StatusAsleep) | bitIf(m.hung, mcureg.StatusHung), nil
	case at == mcureg.CRC:
		return crc32.ChecksumIEEE(m.loaded), nil
	case at >= mcureg.Mail && at < mcureg.Mail+4*mcureg.Mails:
		return m.mails[(at-mcureg.Mail)/4], nil
	}
	if v, ok := m.registers[off]; ok {
		return v, nil
	}
	return 0, fmt.Errorf("%w: %#x", ErrUnmapped, off)
}

// bitIf returns a bit if v, else 0.
func bitIf(v bool, bit uint32) uint32 {
	if v {
		return bit
	}
	return 0
}

// Write writes a register of BAR0 for the host.
func (m *Model) Write(off, v uint32) error {
	m.advance(hostClocks)
	m.writes++
	at := off - mcureg.Base
	switch {
	case at == mcureg.Ctl:
		m.start(v&mcureg.CtlRun != 0)
	case at == mcureg.Limit:
		m.limit, m.age = v, 0
	case at == mcureg.LoadAddr && !m.run:
		m.loadAt, m.loaded = v, nil
	case at == mcureg.LoadData && !m.run:
		binary.LittleEndian.PutUint32(m.cpu.Memory[m.loadAt:], v)
		m.loadAt, m.loaded = m.loadAt+4, binary.LittleEndian.AppendUint32(m.loaded, v)
	case at == mcureg.Blocks && !m.run:
		m.blocks = v
	case at == mcureg.Doorbell:
		m.bells |= v
	case at >= mcureg.Mail && at < mcureg.Mail+4*mcureg.Mails:
		m.mails[(at-mcureg.Mail)/4] = v
	case at >= mcureg.Window && at < mcureg.Window+mcureg.Stride*mcureg.FreeWindow && !m.run:
		m.windows[(at-mcureg.Window)/mcureg.Stride][at%mcureg.Stride/4] = v
	default:
		return fmt.Errorf("%w: %#x", ErrUnmapped, off)
	}
	return nil
}

// start sets or clears CTL.RUN. The processor begins with its registers after reset.
func (m *Model) start(run bool) {
	if !run {
		m.cpu = rv32.Processor{Memory: m.cpu.Memory, Bus: program{m}}
		m.silent, m.hung, m.age = false, false, 0
	}
	m.run = run
}
