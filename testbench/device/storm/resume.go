package storm

import (
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
)

// pieceLog2 is log2 of the bytes that PROGRESS counts in a linear packet.
const pieceLog2 = 12

// resumedOperand returns the operand of the bin of a packet that the host resumes, or "" if
// it cannot be resumed.
func resumedOperand(l pkt.Layout) string {
	switch {
	case coordinates[l.Op] != nil:
		return pastRow
	case l.Op == pkt.OpCopy || l.Op == pkt.OpFill:
		return pastEnd
	}
	return ""
}

// resumes reports whether a bin needs a value of PROGRESS that the host sets before the round.
func resumes(g Bin) bool { return g.Operand == pastEnd || g.Operand == pastRow }

// resumed sets PROGRESS and emits an INDIRECT that resumes a packet there.
func (s *generator) resumed(b *buffer, l pkt.Layout, g Bin) {
	progress := 1 + s.rng.Uint32N(3)
	if g.Operand == pastRow {
		progress = tallFrom + s.rng.Uint32N(4)
		s.spread(b, tall)
	}
	s.setProgress(progress)
	s.indirect(b, bufferOptions{resume: true}, func(in *buffer) int {
		s.done = progress
		s.resumable(in, l, g)
		s.done = 0
		return 0
	})
}

// resumable emits a legal packet for a bin of a resumed packet, of which done is done.
func (s *generator) resumable(b *buffer, l pkt.Layout, g Bin) {
	for range maxTries {
		p := makers[l.Op](s)
		s.steerRare(l, tall, p)
		v := s.judge(b, p, uint32(len(p)))
		whole := s.n.Judge(p, s.site(b, uint32(len(p)), 0))
		past := uint64(s.done)<<pieceLog2 >= whole.Bytes() && whole.Bytes() > 0
		if g.Operand == pastRow {
			past = len(v.Moves) > 0 && len(v.Moves) < len(whole.Moves)-tallFrom+1
		}
		if v.Cause == cpreg.CauseNone && past && s.safe(p, v) {
			s.emit(b, p)
			s.hits = append(s.hits, Bin{l.Name, g.Operand, retired, b.at.String()})
			return
		}
	}
}

// setProgress sets PROGRESS of the node, which is idle.
func (s *generator) setProgress(v uint32) {
	s.ring.SetReg(cpreg.Progress, v)
	s.n.Progress = v
}
