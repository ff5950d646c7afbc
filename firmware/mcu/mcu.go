// Package mcu reaches the microcontroller of a board through its registers: it loads a
// program, starts it, stops it and debugs it.
package mcu

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/rtl/abi/mcureg"
)

// Registers are the registers of a function, by offset in BAR0.
type Registers interface {
	Read(off uint32) (uint32, error)
	Write(off, value uint32) error
}

// A Reacher reads and writes BARs, as bus.Link does.
type Reacher interface {
	Read(bar int, off uint64, p []byte) error
	Write(bar int, off uint64, p []byte) error
}

// Over returns the registers of BAR0 through a link.
func Over(r Reacher) Registers { return bar0{r} }

type bar0 struct{ Reacher }

// Read implements Registers.
func (b bar0) Read(off uint32) (uint32, error) {
	var p [4]byte
	err := b.Reacher.Read(0, uint64(off), p[:])
	return binary.LittleEndian.Uint32(p[:]), err
}

// Write implements Registers.
func (b bar0) Write(off, value uint32) error {
	return b.Reacher.Write(0, uint64(off), binary.LittleEndian.AppendUint32(nil, value))
}

// Kinds of errors.
var (
	// ErrMissing: the GPU has no microcontroller, or one without breakpoints.
	ErrMissing = errors.New("mcu: no microcontroller")
	// ErrImage: the memory cannot take an image, or holds another one.
	ErrImage = errors.New("mcu: image")
	// ErrReset: the processor is in reset, since MCU.CTL.RUN is 0.
	ErrReset = errors.New("mcu: the processor is in reset")
	// ErrRunning: the processor must be halted, and is not.
	ErrRunning = errors.New("mcu: the processor is not halted")
	// ErrWait: the processor was not halted in the given number of reads.
	ErrWait = errors.New("mcu: the processor does not halt")
	// ErrAccess: a load or a store of the debugger, or its access to a CSR, failed.
	ErrAccess = errors.New("mcu: access failed")
	// ErrPoint: the debug unit cannot have this breakpoint or watchpoint.
	ErrPoint = errors.New("mcu: breakpoint or watchpoint")
	// ErrAddress: an address that no instruction can have, or a range beyond the last address.
	ErrAddress = errors.New("mcu: address")
)

// Memory returns the size of the local memory in bytes. It fails with ErrMissing.
func Memory(r Registers) (uint32, error) {
	info, err := r.Read(mcureg.Base + mcureg.Info)
	if err != nil {
		return 0, err
	}
	if info&mcureg.InfoMemory == 0 || info == ^uint32(0) {
		return 0, fmt.Errorf("%w: MCU.INFO = %#x, want a size of the memory", ErrMissing, info)
	}
	return info & mcureg.InfoMemory << 10, nil
}

// Load writes an image to the local memory at an address that is a multiple of 4, and compares
// the CRC that the hardware computes. Zeros follow an image that ends within a word. The
// processor must be in reset.
func Load(r Registers, at uint32, image []byte) error {
	size, err := Memory(r)
	if err != nil {
		return err
	}
	ctl, err := r.Read(mcureg.Base + mcureg.Ctl)
	switch {
	case err != nil:
		return err
	case ctl&mcureg.CtlRun != 0:
		return fmt.Errorf("%w: the processor runs, want MCU.CTL.RUN = 0", ErrImage)
	case at%4 != 0:
		return fmt.Errorf("%w: address %#x, want a multiple of 4", ErrImage, at)
	case uint64(at)+uint64(len(image)) > uint64(size):
		return fmt.Errorf("%w: %d bytes at %#x, want at most %d bytes of memory", ErrImage, len(image), at, size)
	}
	padded := append(append([]byte(nil), image...), make([]byte, -len(image)&3)...)
	if err := r.Write(mcureg.Base+mcureg.LoadAddr, at); err != nil {
		return err
	}
	for i := 0; i < len(padded); i += 4 {
		if err := r.Write(mcureg.Base+mcureg.LoadData, binary.LittleEndian.Uint32(padded[i:])); err != nil {
			return err
		}
	}
	crc, err := r.Read(mcureg.Base + mcureg.CRC)
	if want := crc32.ChecksumIEEE(padded); err == nil && crc != want {
		err = fmt.Errorf("%w: MCU.CRC = %#08x after %d bytes, want %#08x", ErrImage, crc, len(padded), want)
	}
	return err
}

// Check fails with ErrMissing if the GPU has no microcontroller.
func Check(r Registers) error {
	low, err := r.Read(idreg.Base + idreg.Caps)
	high, err2 := r.Read(idreg.Base + idreg.Caps2)
	if err = errors.Join(err, err2); err == nil && !caps.Of(low, high).Has(caps.MCU) {
		err = fmt.Errorf("%w: ID.CAPS2 has no MCU, want a board with the option mcu=1", ErrMissing)
	}
	return err
}

// Clear stops the processor, and undoes what a debugger may have left: a halt, breakpoints and
// the watchpoint.
func Clear(r Registers) error {
	err := Stop(r)
	for _, off := range [...]uint32{mcureg.DebugCtl, mcureg.Break, mcureg.Break + 4, mcureg.Break + 8, mcureg.Break + 12, mcureg.Watch} {
		if err == nil {
			err = r.Write(mcureg.DebugBase+off, 0)
		}
	}
	return err
}

// Run starts the program at address 0.
func Run(r Registers) error { return r.Write(mcureg.Base+mcureg.Ctl, mcureg.CtlRun) }

// Stop resets the processor and holds it in reset.
func Stop(r Registers) error { return r.Write(mcureg.Base+mcureg.Ctl, 0) }
