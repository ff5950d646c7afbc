package storm

import (
	"encoding/binary"

	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
)

// wordProgress is the word of a context's state that holds PROGRESS, which is 0
// in a storm: nobody is preempted.
const wordProgress = 14

func (n *node) judgeSaveState(p []uint32, at place, _ uint32) verdict {
	addr := long(p, 1)
	if v, ok := n.access("Addr", at, addr, pkt.StateBytes, true); !ok {
		return v
	}
	var v verdict
	for i, w := range n.words() {
		v.moves = append(v.moves, move{fill: true, dst: addr + 8*uint64(i), n: 8, value: w})
	}
	return v
}

// words returns the context's state as SAVE_STATE lays it out.
func (n *node) words() map[int]uint64 {
	words := map[int]uint64{}
	for i, s := range n.surf {
		words[3*i] = s.base
		words[3*i+1] = s.pitch | uint64(s.format)<<32
		if s.set {
			words[3*i+1] |= 1 << 63
		}
		words[3*i+2] = uint64(s.x0) | uint64(s.y0)<<16 | uint64(s.x1)<<32 | uint64(s.y1)<<48
	}
	for i, w := range n.windows {
		if !n.protection {
			break
		}
		words[6+2*i], words[7+2*i] = w.at, w.n
		if w.writable {
			words[7+2*i] |= 1 << 63
		}
	}
	if n.preemption {
		words[wordProgress] = 0
	}
	return words
}

// judgeRestoreState calls a state that would resume something refused, which no
// bin is.
func (n *node) judgeRestoreState(p []uint32, at place, _ uint32) verdict {
	addr := long(p, 1)
	if v, ok := n.access("Addr", at, addr, pkt.StateBytes, false); !ok {
		return v
	}
	if n.nowhere(addr) {
		return refuseAt(cpreg.CauseReadError, "Addr", addr)
	}
	v := verdict{state: n.words()}
	b := n.mem.Bytes(addr, pkt.StateBytes)
	if b == nil {
		return refuse(cpreg.CauseFence, "never")
	}
	for i := range wordProgress + 1 {
		if _, there := v.state[i]; !there {
			continue
		}
		w := binary.LittleEndian.Uint64(b[8*i:])
		switch {
		case !wordFits(i, w) && v.cause == cpreg.CauseNone:
			v.cause, v.operand, v.bad, v.known = cpreg.CauseState, "word", w, true
		case wordFits(i, w):
			v.state[i] = w
		}
	}
	if v.state[wordProgress] != 0 {
		return refuse(cpreg.CauseFence, "never")
	}
	return v
}

// wordFits says whether a word of a state has its reserved bits 0 and its fields
// in range.
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
	case wordProgress:
		return w <= pkt.MaxProgress
	}
	return true
}

// load sets the state to its words.
func (n *node) load(words map[int]uint64) {
	for i := range n.surf {
		w, c := words[3*i+1], words[3*i+2]
		n.surf[i] = surface{
			w>>63 != 0, words[3*i], w & pkt.MaxPitch, uint32(w>>32) & 7,
			int64(c & 0xffff), int64(c >> 16 & 0xffff), int64(c >> 32 & 0xffff), int64(c >> 48),
		}
	}
	for i := range n.windows {
		size := words[7+2*i]
		n.windows[i] = window{span{words[6+2*i], size & (1<<63 - 1)}, size>>63 != 0}
	}
}
