// Package dirty leaves a GPU in the state of a host that disconnects without
// cleaning up.
//
// A board keeps its registers and its VRAM from one session to the next, and
// hardware may hold anything in them after power on. Leave simulates such an
// earlier session: a host programs every register with random values, has the
// nodes run packets, makes mistakes and disconnects. It uses only the GPU's
// ports, so the hardware can reach the resulting state; only the initial
// contents of VRAM are set directly.
package dirty

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"math/rand/v2"

	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/bus/inproc"
	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pcicfg"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/abi/reg"
	"github.com/hilgpu/hilgpu/rtl/abi/regmap"
)

// ErrNotIdle is returned for a device that still uses its ports long after its
// last work.
var ErrNotIdle = errors.New("dirty: the device does not become idle")

// A VRAM is device memory that can be written between clocks, as by gpu.GPU's
// PokeVRAM: off is in bytes.
type VRAM interface {
	PokeVRAM(off uint64, p []byte)
}

// Options of Leave. The zero value is the default.
type Options struct {
	Seed uint64
	Idle uint64 // longest idle time of the session, used twice, in clocks; at most 1<<48
}

// Addresses of the session's BARs.
const (
	bar0 = 0xe0000000
	bar2 = 0x2_0000_0000
)

// Leave runs a session on dev, which has just been powered on, and disconnects.
// The same seed leaves the same state. If dev is a VRAM, its memory is first
// filled with random bytes; otherwise only the session's packets write to it.
//
// Nothing is in flight at the ports when Leave returns, so another host can be
// connected. The device may be in any state in which it does not use the ports:
// nodes may run, wait or have stopped, and interrupts may be pending. Leave
// fails with ErrNotIdle, or with bus.ErrLinkDown if the device does not answer.
func Leave(dev port.Device, o Options) error {
	s := &session{dev: dev, seed: o.Seed, rng: rand.New(rand.NewPCG(o.Seed, 0))}
	var err error
	wire := inproc.Options{Latency: 1 + s.rng.IntN(64), BytesPerClock: 1 + s.rng.IntN(8)}
	if s.link, err = inproc.New(dev, &s.mem, wire); err != nil {
		return err
	}
	defer s.link.Close()
	s.pass(s.time(o.Idle))
	s.begin()
	s.fillVRAM()
	s.program(func(reg.Reg) bool { return true }, false)
	s.refused()
	for node := range s.nodes {
		if s.chance(3, 4) {
			s.work(node)
		}
	}
	s.pass(s.time(o.Idle))
	s.settle()
	s.program(func(r reg.Reg) bool { return r.Poke != reg.Destructive && s.chance(3, 4) }, true)
	s.processor()
	s.latch()
	s.refused()
	s.configure()
	s.settle()
	if s.err != nil {
		return fmt.Errorf("dirty: seed %d: %w", o.Seed, s.err)
	}
	return nil
}

// A session is the session of the earlier host. It ends at its first error.
type session struct {
	dev  port.Device
	link *inproc.Link
	seed uint64
	rng  *rand.Rand
	mem  memory
	err  error

	caps     caps.Set
	hostBits uint32
	vram     uint64 // bytes
	nodes    int
	regs     []regmap.Entry // registers that the device has
}

// check records an error that ends the session. A request refused by the device
// is one of the session's mistakes, not an error.
func (s *session) check(err error) {
	if s.err == nil && err != nil && !errors.Is(err, bus.ErrUnsupported) && !errors.Is(err, bus.ErrAbort) {
		s.err = err
	}
}

// chance returns true with probability n/d.
func (s *session) chance(n, d int) bool { return s.rng.IntN(d) < n }

// number returns 32 random bits, or a number of random magnitude, so that
// limits and times are short as often as long.
func (s *session) number() uint32 {
	if s.chance(1, 2) {
		return s.rng.Uint32()
	}
	return s.rng.Uint32() >> s.rng.IntN(32)
}

// time returns a random number of clocks below limit, of any magnitude, or 0.
func (s *session) time(limit uint64) uint64 {
	if limit == 0 {
		return 0
	}
	if s.chance(1, 2) {
		return s.rng.Uint64N(limit)
	}
	return s.rng.Uint64N(limit) >> s.rng.IntN(bits.Len64(limit))
}

func (s *session) config(off int, v uint32) {
	if s.err == nil {
		s.check(s.link.WriteConfig(off, v))
	}
}

func (s *session) read(off uint32) uint32 {
	var p [4]byte
	if s.err == nil {
		s.check(s.link.Read(0, uint64(off), p[:]))
	}
	return binary.LittleEndian.Uint32(p[:])
}

func (s *session) write(off, v uint32) {
	if s.err == nil {
		s.check(s.link.Write(0, uint64(off), binary.LittleEndian.AppendUint32(nil, v)))
	}
}

// begin enumerates the device and reads its features.
func (s *session) begin() {
	for _, w := range [][2]uint32{
		{pcicfg.BAR0, bar0}, {pcicfg.BAR2, bar2 & 0xffffffff}, {pcicfg.BAR3, bar2 >> 32},
		{pcicfg.Command, pcicfg.CommandMemory | pcicfg.CommandBusMaster}, {pcicfg.MSIX, s.rng.Uint32()},
	} {
		s.config(int(w[0]), w[1])
	}
	word := s.read(idreg.Caps)
	s.caps, s.hostBits = caps.Of(word, s.read(idreg.Caps2)), s.read(idreg.HostBits)
	s.vram = uint64(s.read(idreg.VRAMSize))
	s.nodes = min(int(word&idreg.CapsNodes), cpreg.Nodes)
	for _, e := range regmap.New().Entries() {
		if e.In(s.caps) {
			s.regs = append(s.regs, e)
		}
	}
	s.mem.base = s.rng.Uint64() >> (65 - s.hostBits) &^ (memoryBytes - 1)
	for i := range s.mem.bytes {
		s.mem.bytes[i] = byte(s.rng.Uint32())
	}
}

// fillVRAM fills VRAM with random contents, as after power on.
func (s *session) fillVRAM() {
	v, ok := s.dev.(VRAM)
	if !ok || s.err != nil {
		return
	}
	rng := rand.New(rand.NewPCG(s.seed, 1)) // separate: the session does not depend on the fill
	var p [512]byte
	for off := uint64(0); off < s.vram; off += uint64(len(p)) {
		for i := 0; i < len(p); i += 8 {
			binary.LittleEndian.PutUint64(p[i:], rng.Uint64())
		}
		s.link.Sample(func() { v.PokeVRAM(off, p[:]) })
	}
}

// program writes random values to the chosen writable registers. It includes
// fields that start something if triggers is set.
func (s *session) program(chosen func(reg.Reg) bool, triggers bool) {
	for _, e := range s.regs {
		if e.Reg.Access != reg.RO && chosen(e.Reg) {
			s.write(e.Off(), s.number()&writable(e.Reg, triggers))
		}
	}
}

// writable returns the bits of a register that belong to fields, including
// fields that start something if triggers is set.
func writable(r reg.Reg, triggers bool) uint32 {
	if len(r.Fields) == 0 {
		return 0xffffffff
	}
	mask := uint32(0)
	for _, f := range r.Fields {
		if triggers || f.Write != reg.Trigger {
			mask |= f.Mask
		}
	}
	return mask
}

// latch reads some of the registers whose read latches another one.
func (s *session) latch() {
	for _, e := range s.regs {
		if e.Reg.Read == reg.Latch && s.chance(1, 2) {
			s.read(e.Off())
		}
	}
}

// refused makes some accesses that the device refuses: outside the registers,
// and with memory decode off.
func (s *session) refused() {
	for range s.rng.IntN(4) {
		if off := s.rng.Uint32N(pcicfg.BAR0Size) &^ 3; !s.mapped(off) {
			s.access(0, uint64(off))
		}
	}
	if s.chance(1, 4) {
		s.config(pcicfg.Command, pcicfg.CommandBusMaster)
		if s.caps.Has(caps.Aperture) && s.chance(1, 2) {
			s.access(2, s.rng.Uint64N(s.vram)&^3)
		} else {
			s.access(0, s.rng.Uint64N(pcicfg.BAR0Size)&^3)
		}
		s.config(pcicfg.Command, pcicfg.CommandMemory|pcicfg.CommandBusMaster)
	}
}

// access reads or writes a dword of a BAR.
func (s *session) access(bar int, off uint64) {
	var p [4]byte
	access := s.link.Read
	if s.chance(1, 2) {
		access = s.link.Write
	}
	if s.err == nil {
		s.check(access(bar, off, p[:]))
	}
}

func (s *session) mapped(off uint32) bool {
	for _, e := range s.regs {
		if e.Off() == off {
			return true
		}
	}
	return false
}

// configure writes random values to all of configuration space, including
// COMMAND and the MSI-X control, but starts no function-level reset.
func (s *session) configure() {
	for off := pcicfg.ID; off < pcicfg.PCIeEnd; off += 4 {
		v := s.rng.Uint32()
		if off == pcicfg.DevCtl {
			v &^= pcicfg.DevCtlReset
		}
		if off == pcicfg.Command || off == pcicfg.DevCtl {
			v &= 0xffff // the status half is write-1-to-clear
		}
		s.config(off, v)
	}
}

// pass runs n clocks.
func (s *session) pass(n uint64) {
	for end := s.link.Now() + n; s.err == nil && s.link.Now() < end; {
		_, err := s.link.Wait(end)
		s.check(err)
	}
}

// A device is idle if nothing crosses its ports for idleClocks, which is longer
// than any packet of the session moves data inside VRAM. settle waits up to
// idleRounds times.
const (
	idleClocks = 16 << 10
	idleRounds = 256
)

// settle waits until the device is idle.
func (s *session) settle() {
	for range idleRounds {
		before := s.link.Stats()
		s.pass(idleClocks)
		if s.err != nil || s.link.Stats() == before {
			return
		}
	}
	s.check(ErrNotIdle)
}
