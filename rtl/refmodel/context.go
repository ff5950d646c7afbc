package refmodel

import (
	"encoding/binary"

	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
)

// ContextWords is a context's state in SAVE_STATE's layout, in 8-byte words.
type ContextWords [15]uint64

// Words that need a capability: the windows from firstWindowWord, and PROGRESS.
const (
	firstWindowWord = 6
	progressWord    = 14
)

// Progress returns the PROGRESS register of a saved state.
func (w *ContextWords) Progress() uint64 { return w[progressWord] }

// saves reports whether the device saves word i.
func (c Config) saves(i int) bool {
	return i < firstWindowWord || i == progressWord && c.Caps.Has(caps.Preemption) || i != progressWord && c.Caps.Has(caps.Protection)
}

// judgeSaveState implements docs/packets.md, SAVE_STATE.
func (n *Node) judgeSaveState(p []uint32, at Site) Verdict {
	addr := long(p, 1)
	if v, ok := n.access("Addr", at.Place, addr, pkt.StateBytes, true); !ok {
		return v
	}
	var v Verdict
	for i, w := range n.words() {
		if n.saves(i) {
			v.Moves = append(v.Moves, Move{Fill: true, Dst: addr + 8*uint64(i), N: 8, Value: w})
		}
	}
	return v
}

// words returns the context's state.
func (n *Node) words() *ContextWords {
	var words ContextWords
	for i, s := range n.Surfaces {
		words[3*i] = s.Base
		words[3*i+1] = s.Pitch | uint64(s.Format)<<32 | flag(s.Set)
		words[3*i+2] = uint64(s.X0) | uint64(s.Y0)<<16 | uint64(s.X1)<<32 | uint64(s.Y1)<<48
	}
	for i, w := range n.Windows {
		words[firstWindowWord+2*i], words[firstWindowWord+2*i+1] = w.At, w.N|flag(w.Writable)
	}
	words[progressWord] = uint64(n.Progress)
	return &words
}

// flag returns bit 63 if set is true, and 0 otherwise.
func flag(set bool) uint64 {
	if set {
		return 1 << 63
	}
	return 0
}

// judgeRestoreState implements docs/packets.md, RESTORE_STATE.
func (n *Node) judgeRestoreState(p []uint32, at Site) Verdict {
	addr := long(p, 1)
	if v, ok := n.access("Addr", at.Place, addr, pkt.StateBytes, false); !ok {
		return v
	}
	v := Verdict{Reads: []Range{{addr, pkt.StateBytes}}}
	b, ok := n.readable(addr, pkt.StateBytes)
	switch {
	case !ok:
		v.Cause, v.Operand, v.Bad, v.Known = cpreg.CauseReadError, "Addr", addr, true
		if !n.unreadable(addr, pkt.StateBytes) {
			v.Undefined = "only a part of the state can be read"
		}
		return v
	case b == nil:
		v.Undefined = notHeld
		return v
	}
	v.State = n.words()
	for i := range v.State {
		w := binary.LittleEndian.Uint64(b[8*i:])
		switch {
		case !n.saves(i):
		case wordFits(i, w):
			v.State[i] = w
		case v.Cause == cpreg.CauseNone:
			v.Cause, v.Operand, v.Bad, v.Known = cpreg.CauseState, "word", w, true
		}
	}
	return v
}

// wordFits reports whether the reserved bits of word i are 0 and its fields are in
// range.
func wordFits(i int, w uint64) bool {
	switch i {
	case 1, 4:
		return w&^(1<<63|7<<32|pkt.MaxPitch) == 0 && w>>32&7 <= uint64(pkt.Format128)
	case 2, 5:
		for ; w != 0; w >>= 16 {
			if w&0xffff > pkt.MaxCoord {
				return false
			}
		}
	case progressWord:
		return w <= pkt.MaxProgress
	}
	return true
}

// load sets the node's state.
func (n *Node) load(words *ContextWords) {
	for i := range n.Surfaces {
		w, c := words[3*i+1], words[3*i+2]
		n.Surfaces[i] = Surface{
			w>>63 != 0, words[3*i], w & pkt.MaxPitch, uint32(w>>32) & 7,
			int64(c & 0xffff), int64(c >> 16 & 0xffff), int64(c >> 32 & 0xffff), int64(c >> 48),
		}
	}
	for i := range n.Windows {
		size := words[firstWindowWord+2*i+1]
		n.Windows[i] = Window{Range{words[firstWindowWord+2*i], size & (1<<63 - 1)}, size>>63 != 0}
	}
	n.Progress = uint32(words[progressWord])
}
