package gart

import "github.com/hilgpu/hilgpu/rtl/abi/gartreg"

// Table returns the GPU address of the table and its number of entries, outside of any clock. An
// aperture that is not enabled has none.
func (m *Module) Table() (addr uint64, pages uint32) {
	if !m.enable {
		return m.table, 0
	}
	return m.table, min(m.pages, gartreg.MaxPages)
}

// Kept returns the entry of a page that an access uses without a read of the table, outside of any
// clock. It reports false if an access reads the table.
func (m *Module) Kept(page uint32) (entry uint64, ok bool) {
	for i := range uint32(lines) {
		if m.held>>i&1 != 0 && m.tags[i] == page/entries {
			return m.ram.Word(i*entries + page%entries), true
		}
	}
	return 0, false
}
