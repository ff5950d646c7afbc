package hostile

import (
	"encoding/binary"

	"github.com/hilgpu/hilgpu/rtl/abi/gartreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/rtl/refmodel"
)

// tableAt is the place of the aperture's table in VRAM, where no allocation is.
const tableAt = 0xe000

// The pages [firstMapped, endMapped) of the aperture have a page of host memory. Allocations are in them, and no page before or after
// them can be accessed.
const (
	firstMapped = 2
	endMapped   = 8
	hostPages   = 16 // that the table has entries for, and that host memory has
)

// inAperture are the addresses of the allocations on a GPU with an aperture. Those in it cross its pages.
var inAperture = [listed]struct {
	at, moved uint64
	local     bool // it is only in VRAM, so TIMESTAMP and PREDICATE may use it
}{
	source:      {gartreg.Start + 0x6e00, 0x1000, false},
	destination: {0xd000, 0x9000, true},
	canvas:      {gartreg.Start + 0x2e00, 0x8000, false},
	foreign:     {0x7000, 0xa000, false},
	outside:     {0, gartreg.Start + 0x4e00, false},
	closed:      {0x6000, 0xb000, false},
	image:       {0x4000, 0xc000, true},
}

// hostPage returns the page of host memory of a page of the aperture, from hostAt on. They are not in order.
func hostPage(page uint64) uint64 { return (7*page + 3) % hostPages }

// vram returns the memory with the table of the aperture.
func vram() []byte {
	b := memory()
	for page := uint64(0); page < hostPages; page++ {
		entry := uint64(0)
		if page >= firstMapped && page < endMapped {
			entry = hostAt + hostPage(page)*gartreg.PageBytes | gartreg.EntryValid | gartreg.EntryWritable
		}
		binary.LittleEndian.PutUint64(b[tableAt+gartreg.EntryBytes*page:], entry)
	}
	return b
}

// throughTable returns the range of the aperture whose pages are at a range of host memory, which is in one page. A page without
// an entry stays as it is.
func throughTable(a refmodel.Range) refmodel.Range {
	page, at := (a.At&^pkt.Host-hostAt)/gartreg.PageBytes, a.At%gartreg.PageBytes
	for p := uint64(firstMapped); p < endMapped; p++ {
		if hostPage(p) == page {
			return refmodel.Range{At: gartreg.Start + p*gartreg.PageBytes + at, N: a.N}
		}
	}
	return a
}

// mapAperture makes the hardware look host memory up in the table.
func (h *hardware) mapAperture() error {
	h.g.PokeVRAM(0, vram())
	h.aperture = true
	for _, r := range [][2]uint32{
		{gartreg.TableLo, tableAt}, {gartreg.TableHi, 0}, {gartreg.Pages, hostPages}, {gartreg.Flush, gartreg.FlushBusy}, {gartreg.Ctl, gartreg.CtlEnable},
	} {
		h.SetReg(uint64(gartreg.Base+r[0]), r[1])
	}
	return h.settle(func() bool { return !h.Busy() })
}
