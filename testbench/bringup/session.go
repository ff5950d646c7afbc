package bringup

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"math/rand/v2"

	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pcicfg"
)

// Where the BARs are placed.
const (
	base0 = 0xe0000000
	base2 = 0x2_0000_0000
)

// patience is how long the board may take for what it does at once, in
// seconds.
const patience = 2

const commandOn = pcicfg.CommandMemory | pcicfg.CommandBusMaster | pcicfg.CommandINTxDisable

// A session is the way to the board. The first error of an access ends the
// stage: every access after it does nothing, reads as 0, and the error is what
// the stage fails with.
type session struct {
	ctx   context.Context
	link  bus.Link
	clock bus.Clock
	host  *host
	opt   Options

	err    error
	still  int // waits in a row without any time passing
	device Device

	prepared bool
	was      []configWord // what prepare found
	vram     uint64       // size of BAR2, in bytes
	used     bool         // node 0 was run
	fence    uint32       // what its FENCE was before
}

// A configWord is a dword of configuration space.
type configWord struct {
	off int
	v   uint32
}

// alive says whether accesses go on.
func (s *session) alive() bool {
	if s.err == nil {
		s.err = s.ctx.Err()
	}
	return s.err == nil
}

func (s *session) config(off int) uint32 {
	if !s.alive() {
		return 0
	}
	v, err := s.link.ReadConfig(off)
	s.err = err
	return v
}

func (s *session) setConfig(off int, v uint32) {
	if s.alive() {
		s.err = s.link.WriteConfig(off, v)
	}
}

// attempt reads a dword and returns an error that is an answer; one that is
// none ends the stage.
func (s *session) attempt(bar int, off uint64) error {
	if !s.alive() {
		return s.err
	}
	var p [4]byte
	err := s.link.Read(bar, off, p[:])
	if err != nil && mute(err) {
		s.err = err
	}
	return err
}

// reg and setReg access a register of BAR0.
func (s *session) reg(off uint32) uint32 {
	var p [4]byte
	s.read(0, uint64(off), p[:])
	return binary.LittleEndian.Uint32(p[:])
}

func (s *session) setReg(off, v uint32) {
	var p [4]byte
	binary.LittleEndian.PutUint32(p[:], v)
	s.write(0, uint64(off), p[:])
}

// word and setWord access 8 bytes of VRAM.
func (s *session) word(off uint64) uint64 {
	var p [8]byte
	s.read(2, off, p[:])
	return binary.LittleEndian.Uint64(p[:])
}

func (s *session) setWord(off, v uint64) {
	var p [8]byte
	binary.LittleEndian.PutUint64(p[:], v)
	s.write(2, off, p[:])
}

// read fills p from a BAR, with zeros if that fails.
func (s *session) read(bar int, off uint64, p []byte) {
	if s.alive() {
		s.err = s.link.Read(bar, off, p)
	}
	if s.err != nil {
		clear(p)
	}
}

func (s *session) write(bar int, off uint64, p []byte) {
	if s.alive() {
		s.err = s.link.Write(bar, off, p)
	}
}

// pass lets a part of a second pass.
func (s *session) pass(of uint64) {
	for end := s.clock.Now() + max(1, s.clock.Hz()/of); s.clock.Now() < end && s.alive(); {
		s.wait(end)
	}
}

// maxStill is how many waits in a row may end without any time passing.
const maxStill = 1_000_000

var errStill = errors.New("bringup: the clock of the board does not run")

// wait waits until deadline, or less long.
func (s *session) wait(deadline uint64) {
	from := s.clock.Now()
	_, s.err = s.clock.Wait(deadline)
	if s.still++; s.clock.Now() != from {
		s.still = 0
	}
	if s.err == nil && s.still > maxStill {
		s.err = errStill
	}
}

// until waits until done, and returns whether it was before the deadline. It
// looks again after a time that grows.
func (s *session) until(done func() bool) bool {
	end := s.clock.Now() + patience*s.clock.Hz()
	for step := max(1, s.clock.Hz()/1_000_000); s.alive(); step = min(2*step, max(1, s.clock.Hz()/1000)) {
		if done() {
			return s.err == nil
		}
		now := s.clock.Now()
		if now >= end || !s.alive() {
			return false
		}
		s.wait(min(now+step, end))
	}
	return false
}

// rng returns the random numbers of a stage.
func (s *session) rng(stage uint64) *rand.Rand { return rand.New(rand.NewPCG(s.opt.Seed, stage)) }

// prepare sizes BAR2, places the BARs and enables memory decode and bus
// mastering, once.
func (s *session) prepare() error {
	if s.prepared {
		return nil
	}
	for _, off := range []int{pcicfg.Command, pcicfg.BAR0, pcicfg.BAR2, pcicfg.BAR3, pcicfg.MSIX} {
		s.was = append(s.was, configWord{off, s.config(off)})
	}
	s.was[0].v &= 0xffff // the upper half is status, cleared by writing 1
	s.setConfig(pcicfg.Command, 0)
	s.vram = s.size(pcicfg.BAR2)
	s.place()
	if s.err == nil && (bits.OnesCount64(s.vram) != 1 || s.vram < 4096) {
		s.err = fmt.Errorf("bringup: BAR 2 sizes as %#x, want a power of two", s.vram)
	}
	if s.err != nil {
		s.was = nil
		return s.err
	}
	s.device.VRAM = s.vram
	s.prepared = true
	return nil
}

// place puts the BARs to their addresses and enables the device.
func (s *session) place() {
	s.setConfig(pcicfg.BAR0, base0)
	s.setConfig(pcicfg.BAR2, base2&0xffffffff)
	s.setConfig(pcicfg.BAR3, base2>>32)
	s.setConfig(pcicfg.MSIX, 0)
	s.setConfig(pcicfg.Command, commandOn)
}

// size returns the size of the BAR at off, 0 if there is none, and leaves ones
// in it (PCI 3.0 §6.2.5.1).
func (s *session) size(off int) uint64 {
	s.setConfig(off, 0xffffffff)
	lo := s.config(off)
	if lo == 0 {
		return 0
	}
	hi := uint32(0)
	wide := lo&(3<<1) == pcicfg.BARMem64
	if wide {
		s.setConfig(off+4, 0xffffffff)
		hi = s.config(off + 4)
	}
	size := -(uint64(hi)<<32 | uint64(lo&^pcicfg.BARFlags))
	if !wide {
		size &= 0xffffffff
	}
	return size
}

// restore resets the node if it was used, and gives the configuration back what
// prepare found, also after a run that was cancelled.
func (s *session) restore() error {
	s.ctx, s.err = context.WithoutCancel(s.ctx), nil
	if s.used {
		s.resetNode()
		s.setReg(cpreg.Base+cpreg.Fence, s.fence)
	}
	for i := len(s.was) - 1; i >= 0; i-- {
		s.setConfig(s.was[i].off, s.was[i].v)
	}
	return s.err
}
