package sanitize

import (
	"encoding/binary"

	"github.com/hilgpu/hilgpu/rtl/abi/gartreg"
)

// tableBytes is the size of the largest table of an aperture.
const tableBytes = gartreg.MaxPages * gartreg.EntryBytes

// An aperture is what the CPU has written of the aperture of the GPU: its registers, and entries of its
// table in VRAM. The zero value is the aperture after a reset.
type aperture struct {
	table   span // PAGES entries from TABLE on
	set     bool // TABLE has been written
	enabled bool
	entries map[uint64]uint64 // by page, those that the CPU has written since TABLE and ENABLE
}

// register follows a write of a register. Entries of a table that moves, or of an aperture that is
// disabled, are not known.
func (a *aperture) register(off, value uint32) {
	from, size := a.table.from, a.table.to-a.table.from
	switch off {
	case gartreg.Ctl:
		a.enabled = value&gartreg.CtlEnable != 0
	case gartreg.TableLo:
		from, a.set = withLow(from, value&gartreg.TableLoBytes), true
	case gartreg.TableHi:
		from, a.set = withHigh(from, value), true
	case gartreg.Pages:
		size = uint64(min(value, gartreg.MaxPages)) * gartreg.EntryBytes
	}
	if from != a.table.from || !a.enabled {
		a.entries = nil
	}
	a.table = span{from, from + size}
}

// write follows a write of VRAM. PAGES may follow the entries, so one after the table is kept too.
func (a *aperture) write(addr uint64, p []byte) {
	table := a.table.from
	inside := span{table, table + tableBytes}.has(span{addr, addr + uint64(len(p))})
	if !a.set || !a.enabled || !inside || addr%4 != 0 || len(p)%4 != 0 {
		return
	}
	if a.entries == nil {
		a.entries = map[uint64]uint64{}
	}
	for off := addr - table; len(p) > 0; off, p = off+4, p[4:] {
		page, shift := off/gartreg.EntryBytes, off%gartreg.EntryBytes*8
		a.entries[page] = a.entries[page]&^(0xffff_ffff<<shift) | uint64(binary.LittleEndian.Uint32(p))<<shift
	}
}

// entry returns the entry of a page. It is false if the page has none in the table, or if the CPU has not
// written it.
func (a *aperture) entry(page uint64) (uint64, bool) {
	if page >= (a.table.to-a.table.from)/gartreg.EntryBytes {
		return 0, false
	}
	entry, ok := a.entries[page]
	return entry, ok
}
