package stress

import (
	"fmt"
	"strings"
	"sync"

	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

// claims are what the miniport reads of the GPU when it starts, and what it claims. The bench itself reads no register for
// them, since a read takes clocks, which are in the digest.
type claims struct {
	have     caps.Set // of the registers that were read
	known    bool     // ID.CAPS2 was read
	preempts bool     // PreemptionAware
}

// watch makes c see the calls of the miniport.
func (c *claims) watch(table *kmddi.DriverInitializationData) {
	start, query := table.StartDevice, table.QueryAdapterInfo
	if start != nil {
		table.StartDevice = func(t *ddi.Thread, h kmddi.HAdapter, info kmddi.StartInfo, cb *kmddi.DxgkrnlInterface) (kmddi.StartDeviceOut, ddi.Status) {
			return start(t, h, info, c.seen(t, cb))
		}
	}
	if query != nil {
		table.QueryAdapterInfo = func(t *ddi.Thread, h kmddi.HAdapter, arg kmddi.QueryAdapterInfo) (kmddi.QueryAdapterInfoOut, ddi.Status) {
			out, st := query(t, h, arg)
			if arg.Type == kmddi.InfoDriverCaps && !st.Failed() {
				c.preempts = out.DriverCaps.PreemptionAware
			}
			return out, st
		}
	}
}

// seen returns callbacks that note the capabilities which the miniport reads in the thread of StartDevice. Interrupt routines
// run in others, and need no lock then.
func (c *claims) seen(starts *ddi.Thread, cb *kmddi.DxgkrnlInterface) *kmddi.DxgkrnlInterface {
	bar0 := map[kmddi.HMapping]uint64{} // offsets of the mappings
	inner := *cb
	inner.MapMemory = func(t *ddi.Thread, h kmddi.HDxgkrnl, bar int, off, length uint64) (kmddi.HMapping, ddi.Status) {
		m, st := cb.MapMemory(t, h, bar, off, length)
		if t == starts && bar == 0 && !st.Failed() {
			bar0[m] = off
		}
		return m, st
	}
	inner.ReadRegister = func(t *ddi.Thread, h kmddi.HDxgkrnl, m kmddi.HMapping, off uint32) (uint32, ddi.Status) {
		v, st := cb.ReadRegister(t, h, m, off)
		if t == starts && !st.Failed() {
			if base, ok := bar0[m]; ok {
				c.read(base+uint64(off), v)
			}
		}
		return v, st
	}
	return &inner
}

// read notes the value of the register at off in BAR0.
func (c *claims) read(off uint64, v uint32) {
	switch off {
	case idreg.Base + idreg.Caps:
		c.have |= caps.Of(v, 0)
	case idreg.Base + idreg.Caps2:
		c.have |= caps.Of(0, v)
		c.known = true
	}
}

// checkFaults refuses faults that the GPU cannot recover from, or that hit nothing on it. The error wraps ErrInput.
func (b *bench) checkFaults() error {
	c := &b.claims
	switch {
	case b.spoil.injects(HostRead) && c.known && !c.have.Has(caps.ReadTimeout):
		return fmt.Errorf("%w: the fault %s on the board %s, want a GPU with CAPS2.READTIMEOUT, since one without it cannot be reset while it waits for a read",
			ErrInput, HostRead, b.Board)
	case b.spoil.injects(IgnorePreempt) && !c.preempts:
		return fmt.Errorf("%w: the fault %s on the board %s, want a GPU whose driver claims preemption, since no other is asked to preempt",
			ErrInput, IgnorePreempt, b.Board)
	}
	return nil
}

// A heldLog keeps the events of the miniport until the system has started or failed to start. The error may have their text.
type heldLog struct {
	next func(text string)

	mu   sync.Mutex
	over bool
	kept []string
}

// hold returns a log that passes events on to next, which may be nil, when release is called with the error of the start. It
// leaves out those with the text of that error.
func hold(next func(text string)) (log func(text string), release func(err error)) {
	if next == nil {
		return nil, func(error) {}
	}
	h := &heldLog{next: next}
	return h.log, h.release
}

func (h *heldLog) log(text string) {
	h.mu.Lock()
	over := h.over
	if !over {
		h.kept = append(h.kept, text)
	}
	h.mu.Unlock()
	if over {
		h.next(text)
	}
}

func (h *heldLog) release(err error) {
	h.mu.Lock()
	kept := h.kept
	h.over, h.kept = true, nil
	h.mu.Unlock()
	for _, text := range kept {
		_, said, _ := strings.Cut(text, ": ") // without the name of the driver
		if err == nil || said == "" || !strings.Contains(err.Error(), said) {
			h.next(text)
		}
	}
}
