package umd

import (
	"encoding/binary"
	"fmt"

	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
)

// op is a checked packet.
type op struct {
	name string
	do   func()
	at   int         // in bytes
	skip func() bool // PREDICATE only: reports whether packets before end are skipped
	end  int         // in bytes
}

// target is a surface of the reference model: memory and the placement of
// elements.
type target struct {
	m                  *memory
	base, pitch, shift uint64
	x0, y0, x1, y1     uint64
	write              bool
	set                bool
}

func (g target) inside(x, y uint64) bool { return x >= g.x0 && x < g.x1 && y >= g.y0 && y < g.y1 }

func (g target) element(x, y uint64) []byte {
	return g.m.bytes[g.base+y*g.pitch+x<<g.shift:][:1<<g.shift]
}

// checker walks a command buffer. It reads packets by their documented layout
// and shares no code with the encoders.
type checker struct {
	s       submission
	patch   int    // next patch location
	split   uint32 // SplitOffset of the portion
	surface [2]target
	maxCopy uint64
	ops     []op
	skipEnd int // end of the packet that PREDICATE may skip, in bytes
}

// check checks a submission and returns its packets.
func (s submission) check(maxCopy uint64) ([]op, error) {
	c := checker{s: s, maxCopy: maxCopy}
	for at := 0; at < len(s.cmd); {
		before := len(c.ops)
		n, err := c.packet(at)
		if err != nil {
			return nil, fmt.Errorf("packet at %d: %w", at, err)
		}
		for i := range c.ops[before:] {
			c.ops[before+i].at = at
		}
		inside := at < c.skipEnd && c.word(at)>>24 != pkt.OpPredicate
		if inside && (at+n > c.skipEnd || c.word(at)>>24 == pkt.OpSetState || int(c.split) == at) {
			return nil, fmt.Errorf("packet at %d may be skipped", at)
		}
		at += n
	}
	if c.skipEnd > len(s.cmd) {
		return nil, fmt.Errorf("skips to %d of %d", c.skipEnd, len(s.cmd))
	}
	if c.patch != len(s.patches) {
		return nil, fmt.Errorf("%d of %d patch locations are on address fields", c.patch, len(s.patches))
	}
	return c.ops, nil
}

func (c *checker) word(at int) uint64 { return uint64(binary.LittleEndian.Uint32(c.s.cmd[at:])) }

func (c *checker) pair(at int) (lo, hi uint64) { return c.word(at) & 0xffff, c.word(at) >> 16 }

// address consumes the next patch location, which must be on the address field
// at of the packet at start.
func (c *checker) address(start, at int) (*memory, uint64, bool, error) {
	if c.patch == len(c.s.patches) {
		return nil, 0, false, fmt.Errorf("no patch location for the address at %d", at)
	}
	p := c.s.patches[c.patch]
	c.patch++
	switch {
	case p.PatchOffset != uint32(at):
		return nil, 0, false, fmt.Errorf("patch location at %d, want %d", p.PatchOffset, at)
	case int(p.AllocationIndex) >= len(c.s.mem):
		return nil, 0, false, fmt.Errorf("allocation index %d of %d", p.AllocationIndex, len(c.s.mem))
	case p.SlotID != 0 || p.DriverID != 0:
		return nil, 0, false, fmt.Errorf("slot %d, driver id %d, want 0", p.SlotID, p.DriverID)
	case p.SplitOffset < c.split || p.SplitOffset > uint32(start):
		return nil, 0, false, fmt.Errorf("split offset %d after %d, in packet %d", p.SplitOffset, c.split, start)
	}
	if p.SplitOffset != c.split {
		if p.SplitOffset != uint32(start) {
			return nil, 0, false, fmt.Errorf("split offset %d is not the start of the packet at %d", p.SplitOffset, start)
		}
		c.split, c.surface = p.SplitOffset, [2]target{}
	}
	return c.s.mem[p.AllocationIndex], uint64(p.AllocationOffset), c.s.write[p.AllocationIndex], nil
}

func (c *checker) packet(at int) (int, error) {
	h := c.word(at)
	n := 4 * (1 + int(h&0xffff))
	if at+n > len(c.s.cmd) {
		return 0, fmt.Errorf("header %#x runs past the end", h)
	}
	switch {
	case h == pkt.OpSetState<<24|7:
		return n, c.setState(at)
	case h == pkt.OpCopy<<24|5:
		return n, c.copy(at)
	case h == pkt.OpCopy2D<<24|3:
		return n, c.copy2D(at)
	case h == pkt.OpFill2D<<24|4:
		return n, c.fill2D(at)
	case h == pkt.OpTimestamp<<24|2:
		return n, c.timestamp(at)
	case h == pkt.OpFill<<24|5:
		return n, c.fill(at)
	case h == pkt.OpPredicate<<24|3:
		return n, c.predicate(at)
	}
	return 0, fmt.Errorf("header %#x", h)
}

func (c *checker) setState(at int) error {
	m, off, write, err := c.address(at, at+8)
	if err != nil {
		return err
	}
	g := target{m: m, base: off, pitch: c.word(at + 16), shift: c.word(at + 20), write: write, set: true}
	g.x0, g.y0 = c.pair(at + 24)
	g.x1, g.y1 = c.pair(at + 28)
	if c.word(at+4) > 1 || g.shift > 4 || g.x0 >= g.x1 || g.y0 >= g.y1 {
		return fmt.Errorf("state %+v", g)
	}
	if end := g.base + (g.y1-1)*g.pitch + g.x1<<g.shift; end > uint64(len(m.bytes)) {
		return fmt.Errorf("surface ends at %d of %d", end, len(m.bytes))
	}
	c.surface[c.word(at+4)] = g
	return nil
}

func (c *checker) copy(at int) error {
	src, from, _, err := c.address(at, at+4)
	if err != nil {
		return err
	}
	dst, to, write, err := c.address(at, at+12)
	if err != nil {
		return err
	}
	n := c.word(at + 20)
	if !write || n == 0 || n > c.maxCopy || from+n > uint64(len(src.bytes)) || to+n > uint64(len(dst.bytes)) {
		return fmt.Errorf("copy of %d bytes from %d of %d to %d of %d, write %v", n, from, len(src.bytes), to, len(dst.bytes), write)
	}
	if src == dst && from < to+n && to < from+n {
		return fmt.Errorf("copy of %d bytes overlaps", n)
	}
	c.ops = append(c.ops, op{name: "COPY", do: func() { copy(dst.bytes[to:to+n], src.bytes[from:]) }})
	return nil
}

func (c *checker) copy2D(at int) error {
	src, dst := c.surface[0], c.surface[1]
	if !src.set || !dst.set || !dst.write || src.shift != dst.shift {
		return fmt.Errorf("COPY_2D from %+v to %+v", src, dst)
	}
	sx, sy := c.pair(at + 4)
	dx, dy := c.pair(at + 8)
	w, h := c.pair(at + 12)
	c.ops = append(c.ops, op{name: "COPY_2D", do: func() {
		for y := range h {
			for x := range w {
				if src.inside(sx+x, sy+y) && dst.inside(dx+x, dy+y) {
					copy(dst.element(dx+x, dy+y), src.element(sx+x, sy+y))
				}
			}
		}
	}})
	return nil
}

func (c *checker) fill2D(at int) error {
	dst := c.surface[1]
	if !dst.set || !dst.write || dst.shift > 3 {
		return fmt.Errorf("FILL_2D of %+v", dst)
	}
	x0, y0 := c.pair(at + 4)
	w, h := c.pair(at + 8)
	value := c.s.cmd[at+12 : at+20]
	c.ops = append(c.ops, op{name: "FILL_2D", do: func() {
		for y := range h {
			for x := range w {
				if dst.inside(x0+x, y0+y) {
					copy(dst.element(x0+x, y0+y), value)
				}
			}
		}
	}})
	return nil
}

func (c *checker) timestamp(at int) error {
	m, off, write, err := c.address(at, at+4)
	if err != nil {
		return err
	}
	if !write || off%8 != 0 || off+8 > uint64(len(m.bytes)) {
		return fmt.Errorf("time stamp at %d of %d, write %v", off, len(m.bytes), write)
	}
	c.ops = append(c.ops, op{name: "TIMESTAMP", do: func() { binary.LittleEndian.PutUint64(m.bytes[off:], 0x1122334455667788) }})
	return nil
}

func (c *checker) fill(at int) error {
	m, off, write, err := c.address(at, at+4)
	if err != nil {
		return err
	}
	n, value := c.word(at+12), c.s.cmd[at+16:at+24]
	if !write || n > c.maxCopy || off+n > uint64(len(m.bytes)) {
		return fmt.Errorf("FILL of %d bytes at %d of %d, write %v", n, off, len(m.bytes), write)
	}
	c.ops = append(c.ops, op{name: "FILL", do: func() {
		for i := range n {
			m.bytes[off+i] = value[i%8]
		}
	}})
	return nil
}

func (c *checker) predicate(at int) error {
	m, off, _, err := c.address(at, at+4)
	if err != nil {
		return err
	}
	word := c.word(at + 12)
	if at < c.skipEnd || off%8 != 0 || off+8 > uint64(len(m.bytes)) || word>>17 != 0 {
		return fmt.Errorf("PREDICATE at %d of %d, %#x, skipped until %d", off, len(m.bytes), word, c.skipEnd)
	}
	c.skipEnd = at + 16 + 4*int(word&0xffff)
	c.ops = append(c.ops, op{name: "PREDICATE", end: c.skipEnd, skip: func() bool {
		return (binary.LittleEndian.Uint64(m.bytes[off:]) != 0) == (word>>16 == 1)
	}})
	return nil
}
