package dxgkrnl

import (
	"math"
	"slices"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmt"
)

// A share is what a process has of a segment.
type share struct {
	process uint32
	used    uint64 // bytes, with those that it is about to get
}

// noProcess is the ID of no process.
const noProcess = math.MaxUint32

// account notes in shares what each process has of a segment, and what budget each has: an
// equal part for those that have something there. Worthless content counts for nobody. The
// process of a, unless that is nil, gets the bytes of a too.
func (k *Kernel) account(s *segment, a *allocation) {
	k.shares = k.shares[:0]
	for _, r := range s.residents {
		if !k.worthless(r) {
			k.charged(r.device.process).used += s.spanOf(r)
		}
	}
	if k.needy = noProcess; a != nil {
		k.needy = a.device.process
		k.charged(a.device.process).used += s.spanOf(a)
	}
	k.budget = s.desc.Size / uint64(max(len(k.shares), 1))
}

// charged returns the share of a process.
func (k *Kernel) charged(process uint32) *share {
	i := slices.IndexFunc(k.shares, func(s share) bool { return s.process == process })
	if i < 0 {
		i = len(k.shares)
		k.shares = append(k.shares, share{process: process})
	}
	return &k.shares[i]
}

// exceeds reports whether the process of a has more than its budget, as account has noted.
func (k *Kernel) exceeds(a *allocation) bool { return k.charged(a.device.process).used > k.budget }

// queryVideoMemoryInfoThunk describes the memory of a process: all memory segments together, or
// all others. A System segment has host memory for everybody, so it counts as the memory of the
// machine.
func (k *Kernel) queryVideoMemoryInfoThunk(t *ddi.Thread, arg *kmt.QueryVideoMemoryInfo) ddi.Status {
	v := k.enter(t)
	defer k.leave(t, &v)
	if s := k.begin(t); s.Failed() {
		return s
	}
	if arg.MemorySegmentGroup > kmt.SegmentGroupNonLocal {
		return ddi.StatusInvalidParameter
	}
	arg.Budget, arg.CurrentUsage = 0, 0
	arg.CurrentReservation, arg.AvailableForReservation = 0, 0
	for _, s := range k.segments {
		if s.memory() != (arg.MemorySegmentGroup == kmt.SegmentGroupLocal) {
			continue
		}
		if s.desc.Flags.System {
			arg.Budget += k.machine.MemBytes()
			arg.CurrentUsage += k.hostBytes(s, t.Process)
			continue
		}
		k.account(s, nil)
		arg.CurrentUsage += k.charged(t.Process).used
		arg.Budget += s.desc.Size / uint64(len(k.shares))
	}
	return ddi.StatusSuccess
}

// hostBytes returns the bytes that a process has in a System segment.
func (k *Kernel) hostBytes(s *segment, process uint32) (n uint64) {
	for _, d := range k.devices {
		for _, a := range d.allocations {
			if d.process == process && a.segment == s {
				n += a.span
			}
		}
	}
	return n
}
