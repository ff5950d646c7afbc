package dxgkrnl

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
	"github.com/hilgpu/hilgpu/runtime/hal"
)

// poison is the content of memory that the miniport must not use: the guards
// around a buffer, and a buffer between two uses.
const poison = 0xa5

// guardPrivate is the size of a guard around private data.
const guardPrivate = 64

// A lent is a buffer with its private data, as it is lent to the miniport. With
// Config.Poison it is between guards, and the kernel checks that it changes only
// while it is lent. The guards are for the GPU, since Go checks the miniport's
// indices.
type lent struct {
	pages   hal.Pages
	private []byte

	whole        hal.Pages // pages with the guards
	wholePrivate []byte
	guarded      bool
	submitted    bool   // the GPU may change the content
	clean        bool   // given back: the content is poison
	fresh        bool   // not used before: private data are zero
	kept         bool   // saved and savedPrivate are the content at the last return
	saved        []byte // used part
	savedPrivate []byte
}

// lend allocates a buffer.
func (k *Kernel) lend(size, private uint32) (lent, bool) {
	if !k.poison {
		p, ok := k.pages(uint64(size), hal.PageSize)
		return lent{pages: p, whole: p, private: make([]byte, private)}, ok
	}
	p, ok := k.pages(uint64(size)+2*hal.PageSize, hal.PageSize)
	if !ok {
		return lent{}, false
	}
	spoil(p.Bytes)
	whole := make([]byte, private+2*guardPrivate)
	spoil(whole)
	l := lent{
		whole: p, wholePrivate: whole, guarded: true, clean: true, fresh: true,
		pages:   hal.Pages{Phys: p.Phys + hal.PageSize, Bytes: p.Bytes[hal.PageSize : hal.PageSize+size : hal.PageSize+size]},
		private: whole[guardPrivate : guardPrivate+private : guardPrivate+private],
	}
	clear(l.private)
	return l, true
}

// spoil fills b with poison.
func spoil(b []byte) { repeatFill(b, poison) }

// repeatFill fills s with v.
func repeatFill[T any](s []T, v T) {
	if len(s) > 0 {
		s[0] = v
	}
	for n := 1; n < len(s); n *= 2 {
		copy(s[n:], s[:n])
	}
}

// handOut returns the user-mode buffers of a context that are written next. With poison the
// command buffer is filled with it.
func (k *Kernel) handOut(c *context) *userBuffer {
	u := &c.users[c.current]
	if k.poison {
		spoil(u.command)
	}
	return u
}

// unpoisoned returns the index of the first byte that is not poison, or -1.
func unpoisoned(b []byte) int {
	if len(b) == 0 || b[0] == poison && bytes.Equal(b[1:], b[:len(b)-1]) {
		return -1
	}
	return slices.IndexFunc(b, func(v byte) bool { return v != poison })
}

// begin is called when the buffer is lent again. It returns what is wrong, or "".
func (l *lent) begin() string {
	l.kept = false
	if !l.clean {
		return ""
	}
	l.clean, l.submitted = false, false
	if i := unpoisoned(l.pages.Bytes); i >= 0 {
		return fmt.Sprintf("byte %#x of the buffer was written after it was given back", i)
	}
	if i := unpoisoned(l.private); i >= 0 && !l.fresh {
		return fmt.Sprintf("byte %#x of the private data was written after it was given back", i)
	}
	l.fresh = false
	return ""
}

// end is called when a function that the buffer was lent to has returned.
func (l *lent) end(used uint32) {
	if l.guarded && !l.submitted {
		l.kept, l.saved = true, append(l.saved[:0], l.pages.Bytes[:used]...)
		l.savedPrivate = append(l.savedPrivate[:0], l.private...)
	}
}

// overrun returns which guard was written, or "", and the first parameter of the bugcheck for it.
func (l *lent) overrun() (found string, p1 uint32) {
	if !l.guarded {
		return "", 0
	}
	size := len(l.pages.Bytes)
	for _, g := range []struct {
		name string
		b    []byte
		p1   uint32
	}{
		{"before the buffer", l.whole.Bytes[:hal.PageSize], MemoryOverflow}, {"after the buffer", l.whole.Bytes[hal.PageSize+size:], MemoryOverflow},
		{"before the private data", l.wholePrivate[:guardPrivate], MemoryPrivate},
		{"after the private data", l.wholePrivate[guardPrivate+len(l.private):], MemoryPrivate},
	} {
		if i := unpoisoned(g.b); i >= 0 {
			return fmt.Sprintf("memory %s was written, at byte %#x of the guard", g.name, i), g.p1
		}
	}
	return "", 0
}

// changed returns what changed since end, or "".
func (l *lent) changed() string {
	if !l.kept {
		return ""
	}
	if i := difference(l.pages.Bytes[:len(l.saved)], l.saved); i >= 0 {
		return fmt.Sprintf("byte %#x of the buffer changed after the function returned", i)
	}
	if i := difference(l.private, l.savedPrivate); i >= 0 {
		return fmt.Sprintf("byte %#x of the private data changed after the function returned", i)
	}
	return ""
}

// difference returns the first index at which two slices of one length differ, or
// -1.
func difference(a, b []byte) int {
	if bytes.Equal(a, b) {
		return -1
	}
	i := 0
	for a[i] == b[i] {
		i++
	}
	return i
}

// keepRest saves the buffer before Patch changes the part [at, to).
func (l *lent) keepRest() {
	if l.guarded {
		l.saved = append(l.saved[:0], l.pages.Bytes...)
	}
}

// restChanged returns the first byte outside [at, to) that changed since keepRest,
// or -1.
func (l *lent) restChanged(at, to uint32) int {
	if !l.guarded {
		return -1
	}
	if i := difference(l.pages.Bytes[:at], l.saved[:at]); i >= 0 {
		return i
	}
	if i := difference(l.pages.Bytes[to:], l.saved[to:]); i >= 0 {
		return i + int(to)
	}
	return -1
}

// giveBack poisons the buffer, which no submission uses.
func (l *lent) giveBack() {
	if l.guarded {
		spoil(l.pages.Bytes)
		spoil(l.private)
		l.clean, l.kept = true, false
	}
}

// submitLent checks a buffer that is submitted.
func (k *Kernel) submitLent(l *lent, function string) {
	k.checkLent(l, function)
	l.kept, l.submitted = false, true
}

// checkLent bugchecks if guards were written, or the buffer has changed since it was
// lent last. After its submission it may change: the GPU may write to it. function
// is the last one that it was lent to.
func (k *Kernel) checkLent(l *lent, function string) {
	if k.err != nil {
		return // a GPU that has stopped may write anything
	}
	if found, p1 := l.overrun(); found != "" {
		k.bugcheck(function, CodeMemory, p1, "%s", found)
	}
	if found := l.changed(); found != "" {
		k.bugcheck(function, CodeVerifier, VerifierKept, "%s, by the GPU or through a pointer that was kept", found)
	}
}

// beginLent lends a buffer, and bugchecks if it was used since it was given back.
func (k *Kernel) beginLent(l *lent, function string) {
	if found := l.begin(); found != "" && k.err == nil {
		k.bugcheck(function, CodeVerifier, VerifierKept, "%s, by the GPU or through a pointer that was kept", found)
	}
}

// poisoned is an element of a patch list that is not in use.
var poisoned = kmddi.PatchLocation{
	AllocationIndex: 0xa5a5a5a5, SlotID: 0xa5a5a5a5, DriverID: 0xa5a5a5a5,
	AllocationOffset: 0xa5a5a5a5, PatchOffset: 0xa5a5a5a5, SplitOffset: 0xa5a5a5a5,
}

// beginLists saves the allocation list before it is lent.
func (d *dmaBuffer) beginLists() {
	if d.guarded {
		d.savedList = append(d.savedList[:0], d.list[:d.nList]...)
	}
}

// endLists saves the patch list when a function that wrote it has returned.
func (d *dmaBuffer) endLists() {
	if d.guarded {
		d.savedPatches = append(d.savedPatches[:0], d.patches[:d.nPatches]...)
	}
}

// checkLists bugchecks if function, which has returned, changed the allocation list
// or a patch list that was written before.
func (k *Kernel) checkLists(d *dmaBuffer, function string) {
	if i := mismatch(d.savedList, d.list); i >= 0 {
		k.bugcheck(function, CodeVerifier, VerifierKept, "element %d of the allocation list has changed, which the miniport only reads", i)
	}
	if i := mismatch(d.savedPatches, d.patches); i >= 0 {
		k.bugcheck(function, CodeVerifier, VerifierKept, "element %d of the patch list has changed, which the miniport only reads", i)
	}
}

// checkPatchesKept bugchecks if the patch list has changed since the function that
// wrote it returned.
func (k *Kernel) checkPatchesKept(d *dmaBuffer) {
	if i := mismatch(d.savedPatches, d.patches); i >= 0 {
		k.bugcheck(d.function(), CodeVerifier, VerifierKept, "element %d of the patch list changed after the function returned", i)
	}
}

// mismatch returns the first index at which b differs from a, or -1.
func mismatch[T comparable](a, b []T) int {
	for i, v := range a {
		if b[i] != v {
			return i
		}
	}
	return -1
}

// giveBackLists poisons the lists of a buffer that no submission uses.
func (d *dmaBuffer) giveBackLists() {
	if !d.guarded {
		return
	}
	repeatFill(d.patches, poisoned)
	repeatFill(d.list, kmddi.AllocationList{WriteOperation: true, SegmentID: poisoned.PatchOffset, PhysicalAddress: 0xa5a5a5a5a5a5a5a5})
	d.savedPatches, d.savedList = d.savedPatches[:0], d.savedList[:0]
}
