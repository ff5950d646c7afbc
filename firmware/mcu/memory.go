package mcu

import (
	"encoding/binary"
	"fmt"
)

// reach is the largest offset of a word in a load or a store.
const reach = 0x7fc

// ReadMemory reads bytes from an address of the processor. It uses the widest aligned loads.
// It returns how many bytes were read before an access failed.
func (d *Debugger) ReadMemory(addr uint32, p []byte) (n int, err error) {
	return d.move(addr, p, func(width, offset uint32, at []byte) error {
		if err := d.exec(load(width, regData, regAddr, offset)); err != nil {
			return err
		}
		v, err := d.got(regData)
		var word [4]byte
		binary.LittleEndian.PutUint32(word[:], v)
		copy(at, word[:width])
		return err
	}, "load")
}

// WriteMemory writes bytes to an address of the processor. It uses the widest aligned stores.
// It returns how many bytes were written before an access failed.
func (d *Debugger) WriteMemory(addr uint32, p []byte) (n int, err error) {
	return d.move(addr, p, func(width, offset uint32, at []byte) error {
		var word [4]byte
		copy(word[:], at[:width])
		if err := d.put(regData, binary.LittleEndian.Uint32(word[:])); err != nil {
			return err
		}
		return d.exec(store(width, regData, regAddr, offset))
	}, "store")
}

// move calls access for each load or store of a range, with the base address in regAddr.
func (d *Debugger) move(addr uint32, p []byte, access func(width, offset uint32, at []byte) error, what string) (n int, err error) {
	if uint64(addr)+uint64(len(p)) > 1<<32 {
		return 0, fmt.Errorf("%w: %d bytes at %#x, want an end of at most 0x100000000", ErrAddress, len(p), addr)
	}
	if err := d.begin(); err != nil || len(p) == 0 {
		return 0, err
	}
	err = d.borrow(func() error {
		base, valid := uint32(0), false
		for n < len(p) {
			at := addr + uint32(n)
			if !valid || at-base > reach {
				if err := d.put(regAddr, at); err != nil {
					return err
				}
				base, valid = at, true
			}
			width := widest(at, len(p)-n)
			if err := access(width, at-base, p[n:]); err != nil {
				return failed(err, "a %s of %d bytes at %#08x", what, width, at)
			}
			n += int(width)
		}
		return nil
	})
	return n, err
}

// widest returns the width of the widest aligned access within n bytes.
func widest(addr uint32, n int) uint32 {
	switch {
	case addr%4 == 0 && n >= 4:
		return 4
	case addr%2 == 0 && n >= 2:
		return 2
	default:
		return 1
	}
}
