package sanitize

import (
	"encoding/binary"
	"slices"

	"github.com/hilgpu/hilgpu/rtl/abi/gartreg"
	"github.com/hilgpu/hilgpu/runtime/ddi"
)

// tableBytes is the size of the largest table of an aperture.
const tableBytes = gartreg.MaxPages * gartreg.EntryBytes

// An aperture is what the CPU has written of the aperture of the GPU: its registers, and words of its table in VRAM.
// The zero value is the aperture after a reset.
type aperture struct {
	table   span // PAGES entries from TABLE on
	set     bool // TABLE has been written
	enabled bool
	words   map[uint64]word          // by index, those that the CPU has written since TABLE and ENABLE
	sent    map[*ddi.Thread][]uint64 // indexes of the words that each thread has sent, and of which no answer tells
}

// A word is a dword of the table. The GPU has its value once an answer of the device has followed the write: writes
// are posted. Before that it may have one of the values before. Posted writes keep their order, so work has the value if
// the thread that has sent it rings the doorbell of the work later.
type word struct {
	value  uint32
	before []uint32
	any    bool        // it may have every value
	by     *ddi.Thread // that has sent it; nil: the GPU has it
}

// maxBefore bounds the values before of a word. One with more may have every value.
const maxBefore = 8

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
		a.forget()
	}
	a.table = span{from, from + size}
}

// forget forgets all entries.
func (a *aperture) forget() { a.words, a.sent = nil, nil }

// write follows a write of VRAM by a thread. PAGES may follow the entries, so one after the table is kept too.
func (a *aperture) write(t *ddi.Thread, addr uint64, p []byte) {
	table := a.table.from
	inside := span{table, table + tableBytes}.has(span{addr, addr + uint64(len(p))})
	if !a.set || !a.enabled || !inside || addr%4 != 0 || len(p)%4 != 0 {
		return
	}
	if a.words == nil {
		a.words, a.sent = map[uint64]word{}, map[*ddi.Thread][]uint64{}
	}
	for i := (addr - table) / 4; len(p) > 0; i, p = i+1, p[4:] {
		w, ok := a.words[i]
		a.words[i] = w.then(binary.LittleEndian.Uint32(p), ok, t)
		if !ok || w.by != t {
			a.sent[t] = append(a.sent[t], i)
		}
	}
}

// failed follows a write of VRAM that has failed: its words are not known.
func (a *aperture) failed(addr, n uint64) {
	table := a.table.from
	for i := range a.words {
		if (span{table + 4*i, table + 4*i + 4}).overlaps(span{addr, addr + n}) {
			delete(a.words, i)
		}
	}
}

// then returns a word after a thread has sent another value. Without known it was not written before.
func (w word) then(value uint32, known bool, t *ddi.Thread) word {
	n := word{value: value, any: w.any || !known, by: t}
	if known {
		n.before = append(slices.Clip(w.before), w.value)
	}
	if len(n.before) > maxBefore {
		n.before, n.any = nil, true
	}
	return n
}

// answered follows an answer to a read of a thread: the GPU has what the thread has written before.
func (a *aperture) answered(t *ddi.Thread) {
	for _, i := range a.sent[t] {
		if w := a.words[i]; w.by == t {
			a.words[i] = word{value: w.value}
		}
	}
	delete(a.sent, t)
}

// values returns the values that a word may have for work whose doorbell a thread rings, the last one first. Without a
// thread the work has no doorbell yet. There are none if the word is not known.
func (w word) values(t *ddi.Thread) []uint32 {
	switch {
	case w.by == t:
		return []uint32{w.value}
	case w.any:
		return nil
	}
	return append([]uint32{w.value}, w.before...)
}

// entries returns the entries that a page may have for work whose doorbell a thread rings, or nil before that. The one
// that was written last is the first. There are none if the page has none in the table, or if the entry is not known.
func (a *aperture) entries(page uint64, t *ddi.Thread) (all []uint64) {
	if page >= (a.table.to-a.table.from)/gartreg.EntryBytes {
		return nil
	}
	low, ok := a.words[2*page]
	high, both := a.words[2*page+1]
	if !ok || !both {
		return nil
	}
	for _, h := range high.values(t) {
		for _, l := range low.values(t) {
			all = append(all, uint64(h)<<32|uint64(l))
		}
	}
	return all
}
