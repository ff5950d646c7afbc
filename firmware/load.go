package firmware

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/hilgpu/hilgpu/rtl/abi/fwabi"
	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/rtl/abi/mcureg"
)

// Why Load fails, besides the errors of Parse. ErrHung, ErrFailed and ErrTrap are in a BootError.
var (
	ErrOptions = errors.New("firmware: bad options")
	ErrMemory  = errors.New("firmware: memory of the microcontroller too small")
	ErrLoad    = errors.New("firmware: program differs after the load")
	ErrHung    = errors.New("firmware: boot hangs")
	ErrFailed  = errors.New("firmware: self-test failed")
	ErrTrap    = errors.New("firmware: exception during the boot")
)

// Registers accesses the registers of BAR0, by offset in bytes.
type Registers interface {
	Read(off uint32) (uint32, error)
	Write(off, value uint32) error
}

// A Window is memory that the program may access.
//
//	Base   GPU address, a multiple of 4
//	Bytes  its size, a multiple of 4 up to 256 MiB; 0: closed
//	Write  the program may write it
type Window struct {
	Base  uint64
	Bytes uint32
	Write bool
}

// Options are what the host allows the program, and how long it waits.
//
//	Windows     windows 0 to 6
//	Blocks      MCU.BLOCKS: the blocks of registers that the program may write
//	Limit       MCU.LIMIT, in clocks; 0: no watchdog
//	Test        the self-test overwrites TestWindow, which has Write
//	TestWindow  number of a window that is open
//	Clocks      of ID.TIME from the start to ready; 0: no limit
//	Polls       how often the host reads the result; 0: no limit, if Clocks has one
type Options struct {
	Windows    [mcureg.FreeWindow]Window
	Blocks     uint32
	Limit      uint32
	Test       bool
	TestWindow uint32
	Clocks     uint64
	Polls      uint64
}

// check returns an error that wraps ErrOptions if an option is out of range.
func (o Options) check() error {
	for i, w := range o.Windows {
		if w.Base&3 != 0 || w.Bytes&3 != 0 || w.Bytes > mcureg.WindowMax {
			return fmt.Errorf("%w: window %d has %d bytes at %#x, want multiples of 4 and at most %d bytes", ErrOptions, i, w.Bytes, w.Base, mcureg.WindowMax)
		}
	}
	switch {
	case o.Clocks == 0 && o.Polls == 0:
		return fmt.Errorf("%w: no limit of clocks or polls", ErrOptions)
	case !o.Test:
		return nil
	case o.TestWindow >= mcureg.FreeWindow:
		return fmt.Errorf("%w: test of window %d, want 0 to %d", ErrOptions, o.TestWindow, mcureg.FreeWindow-1)
	case o.Windows[o.TestWindow].Bytes == 0 || !o.Windows[o.TestWindow].Write:
		return fmt.Errorf("%w: test of window %d, which the program may not write", ErrOptions, o.TestWindow)
	}
	return nil
}

// test returns the mail word TEST.
func (o Options) test() uint32 {
	v := uint32(0)
	if o.Blocks>>(idreg.Base/mcureg.BlockBytes)&1 != 0 {
		v |= fwabi.TestScratch
	}
	if o.Test {
		v |= o.TestWindow<<29 | o.Windows[o.TestWindow].Bytes&fwabi.TestBytes
	}
	return v
}

// Load checks an image, loads it into the microcontroller, starts it, and waits until it is ready.
// Before the checks are complete it writes no register. After an error of the boot, a BootError,
// the microcontroller is in reset again, with the mail words and the memory as they were.
func Load(r Registers, data []byte, o Options) (Boot, error) {
	m, err := Parse(data)
	if err != nil {
		return Boot{}, err
	}
	if err := o.check(); err != nil {
		return Boot{}, err
	}
	a := access{r: r}
	have := a.read(mcureg.Base+mcureg.Info) & mcureg.InfoMemory << 10
	hash := a.read(idreg.Base + idreg.MapHash)
	switch {
	case a.err != nil:
		return Boot{}, a.err
	case m.Memory > have:
		return Boot{}, fmt.Errorf("%w: %d bytes, want %d", ErrMemory, have, m.Memory)
	}
	if err := a.load(m); err != nil {
		return Boot{}, err
	}
	a.limits(o)
	a.mail(fwabi.MailMapHash, hash)
	a.mail(fwabi.MailTest, o.test())
	start := a.time()
	a.write(mcureg.Base+mcureg.Ctl, mcureg.CtlRun)
	return a.wait(o, start)
}

// An access is a run of accesses to registers. After an error the later ones do nothing.
type access struct {
	r   Registers
	err error
}

func (a *access) read(off uint32) uint32 {
	if a.err != nil {
		return 0
	}
	v, err := a.r.Read(off)
	if err != nil {
		a.err = fmt.Errorf("firmware: read of BAR0 at %#x: %w", off, err)
	}
	return v
}

func (a *access) write(off, v uint32) {
	if a.err != nil {
		return
	}
	if err := a.r.Write(off, v); err != nil {
		a.err = fmt.Errorf("firmware: write to BAR0 at %#x: %w", off, err)
	}
}

// mail writes a mail word.
func (a *access) mail(i int, v uint32) { a.write(mcureg.Base+mcureg.Mail+4*uint32(i), v) }

// mailed reads a mail word.
func (a *access) mailed(i int) uint32 { return a.read(mcureg.Base + mcureg.Mail + 4*uint32(i)) }

// time returns ID.TIME. The read of the low half latches the high half.
func (a *access) time() uint64 {
	lo := a.read(idreg.Base + idreg.TimeLo)
	return uint64(a.read(idreg.Base+idreg.TimeHi))<<32 | uint64(lo)
}

// load stops the microcontroller and writes the program to its memory.
func (a *access) load(m Image) error {
	a.write(mcureg.Base+mcureg.Ctl, 0)
	a.write(mcureg.Base+mcureg.LoadAddr, 0)
	for at := 0; at < len(m.Program); at += 4 {
		a.write(mcureg.Base+mcureg.LoadData, binary.LittleEndian.Uint32(m.Program[at:]))
	}
	crc := a.read(mcureg.Base + mcureg.CRC)
	if a.err == nil && crc != m.CRC {
		return fmt.Errorf("%w: MCU.CRC %#08x, want %#08x", ErrLoad, crc, m.CRC)
	}
	return a.err
}

// limits sets what the program may access, and clears the mail words.
func (a *access) limits(o Options) {
	for i, w := range o.Windows {
		at, size := uint32(mcureg.Base+mcureg.Window+mcureg.Stride*i), w.Bytes
		if w.Write && size != 0 {
			size |= mcureg.SizeWrite
		}
		a.write(at+mcureg.BaseLo, uint32(w.Base))
		a.write(at+mcureg.BaseHi, uint32(w.Base>>32))
		a.write(at+mcureg.WindowSize, size)
	}
	a.write(mcureg.Base+mcureg.Blocks, o.Blocks)
	a.write(mcureg.Base+mcureg.Limit, o.Limit)
	for i := range mcureg.Mails {
		a.mail(i, 0)
	}
}
