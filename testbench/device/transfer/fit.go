package transfer

import "fmt"

// sized returns the options with a size, if they have none.
func (o Options) sized(size int) Options {
	if o.Size == 0 {
		o.Size = size
	}
	return o
}

// largest returns the layout of the largest power of two that fits a board, at most DefaultSize.
// It fails with ErrInput if none fits.
func largest(o Options, vram uint64, lengthBits int) (l layout, err error) {
	for size := DefaultSize; size > 0; size /= 2 {
		l = newLayout(o.sized(size), o.Nodes)
		if err = l.fit(vram, lengthBits); err == nil {
			break
		}
	}
	return l, err
}

// fit reduces the slots to the size of VRAM. It fails with ErrInput if one slot is
// too large.
func (l *layout) fit(vram uint64, lengthBits int) error {
	if uint64(l.Size) >= 1<<lengthBits {
		return fmt.Errorf("%w: --size %d, want at most %d: the packets of this board have a %d-bit length", ErrInput, l.Size, 1<<lengthBits-1, lengthBits)
	}
	for l.used(VRAM) > vram {
		if l.slots--; l.slots == 0 {
			l.slots = 1
			return l.tooLarge(vram)
		}
	}
	return nil
}

// tooLarge returns the error of a layout of one slot that VRAM has no room for: the size is too
// large, or the direction is not possible.
func (l *layout) tooLarge(vram uint64) error {
	if most := l.most(vram); most > 0 {
		return fmt.Errorf("%w: --size %d needs %d bytes of VRAM, the board has %d: want --size at most %d", ErrInput, l.Size, l.used(VRAM), vram, most)
	}
	least := l.resized(1)
	return fmt.Errorf("%w: --dir %s needs %d bytes of VRAM at any --size, the board has %d: want --dir %s", ErrInput, l.direction(), least.used(VRAM), vram, l.possible(vram))
}

// most returns the largest size with room in VRAM, or 0.
func (l *layout) most(vram uint64) int {
	slots := l.used(VRAM) / l.slot
	slot := vram / slots &^ (page - 1)
	return max(0, int(slot)-guard-max(l.FromAlign, l.ToAlign))
}

// resized returns the layout with another size, and one slot.
func (l *layout) resized(size int) layout {
	o := l.Options
	o.Size = size
	n := newLayout(o, o.Nodes)
	n.slots = 1
	return n
}

// possible returns a direction that VRAM has room for.
func (l *layout) possible(vram uint64) string {
	n := l.resized(1)
	if n.From, n.To = Host, VRAM; !l.Fill && n.used(VRAM) <= vram {
		return n.direction()
	}
	n.To = Host
	return n.direction()
}

// direction returns the name of the direction on the command line.
func (l *layout) direction() string {
	if l.Fill {
		return l.To.String()
	}
	return l.From.String() + "-" + l.To.String()
}
