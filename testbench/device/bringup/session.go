package bringup

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/bits"
	"math/rand/v2"

	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pcicfg"
	"github.com/hilgpu/hilgpu/testbench/device/bare"
)

// A session is the way to the board. The first error of an access ends the
// stage: every access after it does nothing, reads as 0, and the error is what
// the stage fails with.
type session struct {
	*bare.Access
	opt Options

	device Device

	prepared bool
	was      []configWord // what prepare found
	vram     uint64       // bytes
	aperture bool         // BAR2 is VRAM; otherwise packets move it
	wake     func()       // undoes quiesce, nil if it has not been called
	used     bool         // node 0 was run
	line     uint64       // what its timeline was before
}

// A configWord is a dword of configuration space.
type configWord struct {
	off int
	v   uint32
}

// attempt reads a dword and returns an error that is an answer; one that is
// none ends the stage.
func (s *session) attempt(bar int, off uint64) error {
	if !s.Alive() {
		return s.Err
	}
	var p [4]byte
	err := s.Link.Read(bar, off, p[:])
	if err != nil && mute(err) {
		s.Err = err
	}
	return err
}

// word and setWord access 8 bytes of VRAM.
func (s *session) word(off uint64) uint64 {
	var p [8]byte
	s.ReadVRAM(off, p[:])
	return binary.LittleEndian.Uint64(p[:])
}

func (s *session) setWord(off, v uint64) {
	var p [8]byte
	binary.LittleEndian.PutUint64(p[:], v)
	s.WriteVRAM(off, p[:])
}

// pass lets a part of a second pass.
func (s *session) pass(of uint64) {
	for end := s.Clock.Now() + max(1, s.Clock.Hz()/of); s.Clock.Now() < end && s.Alive(); {
		s.Wait(end)
	}
}

// rng returns the random numbers of a stage.
func (s *session) rng(stage uint64) *rand.Rand { return rand.New(rand.NewPCG(s.opt.Seed, stage)) }

// prepare sizes BAR2, or asks for the size of VRAM if there is none, places the BARs and enables memory decode and bus
// mastering, once.
func (s *session) prepare() error {
	if s.prepared {
		return nil
	}
	for _, off := range []int{pcicfg.Command, pcicfg.BAR0, pcicfg.BAR2, pcicfg.BAR3, pcicfg.MSIX} {
		s.was = append(s.was, configWord{off, s.Config(off)})
	}
	s.was[0].v &= 0xffff // the upper half is status, cleared by writing 1
	s.SetConfig(pcicfg.Command, 0)
	s.vram = s.Size(pcicfg.BAR2)
	s.Place()
	s.aperture = s.vram != 0 || s.Capabilities().Has(caps.Aperture)
	if !s.aperture {
		s.vram = uint64(s.Reg(idreg.Base + idreg.VRAMSize))
		s.Copies()
	}
	if s.Err == nil && !s.aperture && (bits.OnesCount64(s.vram) != 1 || s.vram < 4096) {
		s.Err = fmt.Errorf("bringup: there is no BAR 2, and ID.VRAM_SIZE is %#x, want a power of two", s.vram)
	}
	if s.Err == nil && (bits.OnesCount64(s.vram) != 1 || s.vram < 4096) {
		s.Err = fmt.Errorf("bringup: BAR 2 sizes as %#x, want a power of two", s.vram)
	}
	if s.Err != nil {
		s.was = nil
		return s.Err
	}
	s.device.VRAM = s.vram
	s.prepared = true
	return nil
}

// quiesce ends what an earlier host left going, once: a stage that uses nodes or
// interrupts would find it in its way.
func (s *session) quiesce() {
	if s.wake == nil {
		s.wake = s.Still()
	}
}

// restore resets the node if it was used, and gives the configuration back what
// prepare found, and the masks and limits what quiesce did, also after a run
// that was cancelled.
func (s *session) restore() error {
	s.Ctx, s.Err = context.WithoutCancel(s.Ctx), nil
	if s.used {
		s.resetNode()
		s.Node(0).SetTimeline(s.line)
	}
	if s.wake != nil {
		s.wake()
	}
	for i := len(s.was) - 1; i >= 0; i-- {
		s.SetConfig(s.was[i].off, s.was[i].v)
	}
	return s.Err
}
