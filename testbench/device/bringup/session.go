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

// A session accesses the board. The first error of an access ends the stage, which
// fails with it: later accesses do nothing and reads return 0.
type session struct {
	*bare.Access
	opt Options

	device Device

	prepared bool
	was      []configWord // configuration before prepare
	vram     uint64       // bytes
	aperture bool         // BAR 2 maps VRAM; otherwise packets access it
	resume   func()       // undoes quiesce, nil before it
	used     bool         // node 0 has run
	line     uint64       // its timeline before that
	baseline measure      // of the link, when no stage had found it wrong
	faulty   bool         // the line has a fault that another rate does not mend
	mcu      mcuState
}

// A configWord is a dword of configuration space.
type configWord struct {
	off int
	v   uint32
}

// attempt reads a dword and returns an error that is an answer of the device. Any
// other error ends the stage.
func (s *session) attempt(bar int, off uint64) error {
	if !s.Alive() {
		return s.Err
	}
	var p [4]byte
	err := s.Link.Read(bar, off, p[:])
	if err != nil && isLost(err) {
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

// sleep waits for 1/n of a second.
func (s *session) sleep(n uint64) {
	for end := s.Clock.Now() + max(1, s.Clock.Hz()/n); s.Clock.Now() < end && s.Alive(); {
		s.Wait(end)
	}
}

// rng returns the random number generator of a stage.
func (s *session) rng(stage uint64) *rand.Rand { return rand.New(rand.NewPCG(s.opt.Seed, stage)) }

// prepare sizes BAR 2, or reads the size of VRAM if there is none, sets the BARs,
// and enables memory decode and bus mastering. Only the first call has an effect.
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
	s.PlaceBARs()
	s.aperture = s.vram != 0 || s.Capabilities().Has(caps.Aperture)
	if !s.aperture {
		s.vram = uint64(s.Reg(idreg.Base + idreg.VRAMSize))
		s.UsePackets()
	}
	if s.Err == nil && !s.aperture && (bits.OnesCount64(s.vram) != 1 || s.vram < 4096) {
		s.Err = fmt.Errorf("bringup: no BAR 2, and ID.VRAM_SIZE is %#x, want a power of two of at least 0x1000", s.vram)
	}
	if s.Err == nil && (bits.OnesCount64(s.vram) != 1 || s.vram < 4096) {
		s.Err = fmt.Errorf("bringup: BAR 2 has size %#x, want a power of two of at least 0x1000", s.vram)
	}
	if s.Err != nil {
		s.was = nil
		return s.Err
	}
	s.device.VRAM = s.vram
	s.prepared = true
	return nil
}

// quiesce ends what an earlier host left running. Stages that use nodes or
// interrupts call it; only the first call has an effect.
func (s *session) quiesce() {
	if s.resume == nil {
		s.resume = s.Quiesce()
	}
}

// restore resets the node if it has run, and restores the configuration, masks and
// limits, also after a cancelled run.
func (s *session) restore() error {
	s.Ctx, s.Err = context.WithoutCancel(s.Ctx), nil
	if s.used {
		s.resetNode()
		s.Node(0).SetTimeline(s.line)
	}
	s.restoreMCU()
	if s.resume != nil {
		s.resume()
	}
	for i := len(s.was) - 1; i >= 0; i-- {
		s.SetConfig(s.was[i].off, s.was[i].v)
	}
	return s.Err
}
