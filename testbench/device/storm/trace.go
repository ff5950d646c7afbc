package storm

import (
	"fmt"
	"slices"

	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/rtl/abi/tracereg"
	"github.com/hilgpu/hilgpu/rtl/refmodel"
)

// traceEvery is the mean number of rounds from one comparison of a trace to the next, which
// takes many accesses.
const traceEvery = 8

// How well the model knows the trace of its node.
type known uint8

const (
	knowsAll     known = iota
	knowsPackets       // not how often an INDIRECT was resumed
	knowsNothing       // which packets had retired before a reset
)

// compareTrace checks a node's trace against the reference model, in some rounds. If the
// model does not know all of it, it takes the device's trace as its own.
func (s *storm) compareTrace(st *generator) error {
	n := st.n
	switch st.kind {
	case resets:
		st.traced = knowsNothing
	case preempts:
		st.traced = max(st.traced, knowsPackets)
	default:
	}
	if !n.Caps.Has(caps.Trace) || s.rng.IntN(traceEvery) != 0 {
		return nil
	}
	got, err := s.trace(n.ID)
	if err != nil {
		return err
	}
	want := n.Trace
	was := st.traced
	n.Trace, st.traced = got, knowsAll
	switch was {
	case knowsNothing:
		return nil
	case knowsPackets:
		got, want = withoutIndirect(got), withoutIndirect(want)
		fewest := min(len(got), len(want))
		got, want = got[len(got)-fewest:], want[len(want)-fewest:]
	default:
	}
	if !slices.Equal(got, want) && s.b.Err == nil {
		return fmt.Errorf("%w: TRACE%d, the newest last, is %#x, want %#x", ErrDiffers, n.ID, got, want)
	}
	return nil
}

// trace returns the trace of a node, the newest packet last. Times must not grow towards
// older packets.
func (s *storm) trace(node int) ([]refmodel.Traced, error) {
	base := tracereg.Base + tracereg.Stride*uint32(node)
	var all []refmodel.Traced
	later := s.time()
	for i := range uint32(tracereg.Entries) {
		reg := func(off uint32) uint64 { return uint64(s.b.Reg(base + i*tracereg.Entry + off)) }
		header, at, addr := reg(tracereg.Header), reg(tracereg.Time), reg(tracereg.AddrLo)|reg(tracereg.AddrHi)<<32
		if addr&tracereg.Valid == 0 {
			if header|at|addr != 0 {
				return nil, fmt.Errorf("%w: entry %d of TRACE%d is empty, and not 0", ErrDiffers, i, node)
			}
			break
		}
		if at > later {
			return nil, fmt.Errorf("%w: entry %d of TRACE%d has the time %d, want at most %d", ErrDiffers, i, node, at, later)
		}
		later = at
		all = append(all, refmodel.Traced{Header: uint32(header), Addr: addr &^ tracereg.Valid})
	}
	slices.Reverse(all)
	return all, nil
}

// withoutIndirect returns the packets but the INDIRECTs.
func withoutIndirect(all []refmodel.Traced) []refmodel.Traced {
	return slices.DeleteFunc(slices.Clone(all), func(p refmodel.Traced) bool { return p.Header>>24 == pkt.OpIndirect })
}
