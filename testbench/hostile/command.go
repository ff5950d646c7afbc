package hostile

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"

	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

// A command is a command buffer with its patch list, as an application gives them to
// Render.
type command struct {
	words   []uint32
	patches []kmddi.PatchLocation
	extra   int // bytes appended to or removed from the encoding
}

// bytes encodes the command.
func (c *command) bytes() []byte {
	b := make([]byte, 0, 4*len(c.words)+4)
	for _, w := range c.words {
		b = binary.LittleEndian.AppendUint32(b, w)
	}
	if c.extra < 0 {
		return b[:max(0, len(b)+c.extra)]
	}
	return append(b, make([]byte, c.extra)...)
}

// A writer composes legal commands.
type writer struct {
	*rand.Rand
	command
	split uint32
	set   [2]bool // surfaces set in this portion
	log2  uint32  // of the bytes of their elements
	bound bool    // a PREDICATE may skip the packet: it may not set state, nor begin a portion
	wild  bool    // ignores bound, and writes wrong lengths of what a PREDICATE skips
}

// newCommand returns a command of up to 10 packets. It is legal, unless it is wild and
// has a PREDICATE.
func newCommand(r *rand.Rand, wild bool) *command {
	w := &writer{Rand: r, log2: r.Uint32N(4), wild: wild}
	for range r.IntN(11) {
		w.packet()
	}
	return &w.command
}

// patch adds the patch of the next dword. Its allocation is at index i of the list,
// with n bytes used at a multiple of align.
func (w *writer) patch(ahead uint32, i, n, align uint32) {
	size := uint32(allocations[i].bytes)
	off := w.Uint32N(size-min(n, size-1)) / align * align
	if w.IntN(4) == 0 {
		off = (size - min(n, size)) / align * align // ends with the allocation
		if off == size {
			off -= align
		}
	}
	at := 4 * (uint32(len(w.words)) + ahead)
	w.patches = append(w.patches, kmddi.PatchLocation{AllocationIndex: i, AllocationOffset: off, PatchOffset: at, SplitOffset: w.split})
}

// packet appends a packet.
func (w *writer) packet() {
	if !w.bound && w.IntN(3) == 0 {
		w.next()
	}
	readable, writable := []uint32{source, destination, canvas, outside, image}, []uint32{destination, canvas, outside}
	one := func(of []uint32) uint32 { return of[w.IntN(len(of))] }
	junk := w.Uint32()
	switch k := w.IntN(13); {
	case k == 0:
		n := w.Uint32N(300)
		w.patch(1, one(readable), n, 1)
		w.patch(3, one(writable), n, 1)
		w.words = append(w.words, 4<<24|5, junk, junk, junk, junk, n)
	case k == 1:
		n := w.Uint32N(300)
		w.patch(1, one(writable), n, 1)
		w.words = append(w.words, 6<<24|5, junk, junk, n, junk, ^junk)
	case k == 2:
		w.words = append(w.words, 8<<24|2, 0x20+4*w.Uint32N(4), junk)
	case k == 3:
		w.patch(1, one(writable), 8, 8)
		w.words = append(w.words, 9<<24|2, junk, junk)
	case k == 4:
		n := w.IntN(5)
		w.words = append(w.words, 1<<24|uint32(n))
		for range n {
			w.words = append(w.words, w.Uint32())
		}
	case k == 5 && !w.bound:
		w.predicate(one(readable))
	case k >= 8 && w.set[1]:
		w.rectangle()
	case !w.bound:
		w.surface(w.Uint32N(2), one([]uint32{canvas, image}))
	}
}

// next starts a portion, if the next packet has a patch, which it may not. The state of
// earlier portions does not count.
func (w *writer) next() {
	w.split = 4 * uint32(len(w.words))
	w.set, w.log2 = [2]bool{}, w.Uint32N(4)
	w.patch(1, destination, 4, 1)
	w.words = append(w.words, 6<<24|5, 0, 0, w.Uint32N(4), 1, 2)
}

// surface sets one of at most 16 rows of 64 bytes, the destination in a canvas. Often it
// sets both.
func (w *writer) surface(i, of uint32) {
	if i == 1 {
		of = canvas
	}
	width, height := w.Uint32N(64>>w.log2+1), w.Uint32N(17)
	n := uint32(0)
	if width > 0 && height > 0 {
		n = (height-1)*64 + width<<w.log2
	}
	w.patch(2, of, n, 1)
	w.words = append(w.words, 3<<24|7, i, 0, 0, 64, w.log2, w.Uint32N(4), width|height<<16)
	w.set[i] = true
	if !w.set[1-i] && w.IntN(2) == 0 {
		w.surface(1-i, of)
	}
}

// rectangle appends a 2D packet that the surfaces allow.
func (w *writer) rectangle() {
	corner := func() uint32 { return w.Uint32N(20) | w.Uint32N(20)<<16 }
	if w.set[0] && w.IntN(2) == 0 {
		w.words = append(w.words, 5<<24|3, corner(), corner(), corner())
		return
	}
	w.words = append(w.words, 7<<24|4, corner(), corner(), w.Uint32(), w.Uint32())
}

// predicate appends a PREDICATE and the packets that it may skip.
func (w *writer) predicate(of uint32) {
	w.patch(1, of, 8, 8)
	flag := w.Uint32N(2) << 16
	w.words = append(w.words, 10<<24|3, 0, 0, flag)
	operand, start := len(w.words)-1, len(w.words)
	for range 1 + w.IntN(3) {
		w.bound = !w.wild
		w.packet()
	}
	w.bound = false
	n := uint32(len(w.words) - start)
	if w.wild && w.IntN(2) == 0 {
		n += w.Uint32N(7) - 3
	}
	w.words[operand] |= n & 0xffff
}

// edges are values at which something overflows or ends.
var edges = []uint32{
	0, 1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 63, 64, 255, 256, 257, 1023, 1024, 1025, 4088, 4095, 4096, 4097,
	16383, 16384, 16385, 65535, 65536, 1<<20 - 1, 1 << 20, 1<<31 - 1, 1 << 31, 0xfffffffc, 0xffffffff, 16384 | 16384<<16,
}

// mutate changes a command in one place.
func (c *command) mutate(r *rand.Rand) {
	value := func(old uint32) uint32 {
		switch r.IntN(4) {
		case 0:
			return old ^ 1<<r.IntN(32)
		case 1:
			return edges[r.IntN(len(edges))]
		case 2:
			return old + r.Uint32N(17) - 8
		}
		return r.Uint32() >> r.IntN(32)
	}
	n, k := len(c.words), len(c.patches)
	switch op := r.IntN(12); {
	case op == 0:
		c.extra = r.IntN(7) - 3
	case op == 1 && n > 0: // a dword less
		i := r.IntN(n)
		c.words = slices.Delete(c.words, i, i+1)
	case op == 2: // a dword more
		c.words = slices.Insert(c.words, r.IntN(n+1), r.Uint32()>>r.IntN(32))
	case op == 3 && n > 0: // another opcode
		i := r.IntN(n)
		c.words[i] = c.words[i]&0xffffff | r.Uint32N(24)<<24
	case op == 4 && k > 0: // a patch less
		i := r.IntN(k)
		c.patches = slices.Delete(c.patches, i, i+1)
	case op == 5 && k > 0: // a patch twice
		c.patches = slices.Insert(c.patches, r.IntN(k+1), c.patches[r.IntN(k)])
	case op == 6 && k > 1: // two patches in another order
		i, j := r.IntN(k), r.IntN(k)
		c.patches[i], c.patches[j] = c.patches[j], c.patches[i]
	case op <= 9 && k > 0:
		p := &c.patches[r.IntN(k)]
		v := []*uint32{&p.AllocationIndex, &p.AllocationOffset, &p.PatchOffset, &p.SplitOffset}[r.IntN(4)]
		if *v = value(*v); r.IntN(2) == 0 {
			p.AllocationIndex = r.Uint32N(listed + 1)
		}
	case n > 0:
		i := r.IntN(n)
		c.words[i] = value(c.words[i])
	}
}
