package firmware

import (
	"fmt"

	"github.com/hilgpu/hilgpu/rtl/abi/fwabi"
	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/rtl/abi/mcureg"
)

// A Boot is what the mail words tell about a boot.
//
//	Checkpoint  the stage that began last, one of fwabi.Stages
//	Result      one of fwabi.Results
//	Detail      of a result other than READY
//	Build       first dword of the build id
//	Clocks      of ID.TIME from before the start to the end of the wait
//	Polls       reads of the result
type Boot struct {
	Checkpoint uint32
	Result     uint32
	Detail     [3]uint32
	Build      uint32
	Clocks     uint64
	Polls      uint64
}

// Stage returns the name of the stage that began last.
func (b Boot) Stage() string { return name(fwabi.Stages, b.Checkpoint) }

// Outcome returns the name of the result.
func (b Boot) Outcome() string { return name(fwabi.Results, b.Result) }

func name(codes []fwabi.Code, v uint32) string {
	if s, ok := fwabi.Name(codes, v); ok {
		return s
	}
	return fmt.Sprintf("%#x", v)
}

// A BootError is a boot that did not end with READY. It wraps Kind.
type BootError struct {
	Kind error // ErrHung, ErrFailed or ErrTrap
	Boot
}

// Error returns the stage, the result and its details.
func (e *BootError) Error() string {
	switch e.Kind {
	case ErrHung:
		return fmt.Sprintf("%v in stage %s after %d clocks", e.Kind, e.Stage(), e.Clocks)
	case ErrTrap:
		return fmt.Sprintf("%v in stage %s: mcause %#x, mepc %#x, mtval %#x", e.Kind, e.Stage(), e.Detail[0], e.Detail[1], e.Detail[2])
	}
	return fmt.Sprintf("%v in stage %s: %s, at %#x found %#x, want %#x", e.Kind, e.Stage(), e.Outcome(), e.Detail[0], e.Detail[1], e.Detail[2])
}

// Unwrap returns Kind.
func (e *BootError) Unwrap() error { return e.Kind }

// wait waits for a result.
func (a *access) wait(o Options, start uint64) (Boot, error) {
	var b Boot
	for {
		b.Result = a.mailed(fwabi.MailResult)
		b.Polls++
		b.Clocks = a.time() - start
		hung := a.read(mcureg.Base+mcureg.Status)&mcureg.StatusHung != 0
		late := o.Clocks != 0 && b.Clocks >= o.Clocks || o.Polls != 0 && b.Polls >= o.Polls
		if a.err != nil {
			return b, a.err
		}
		if b.Result != fwabi.ResultBusy || hung || late {
			break
		}
	}
	return a.finish(b)
}

// finish reads the other mail words. It stops a program that is not ready.
func (a *access) finish(b Boot) (Boot, error) {
	b.Checkpoint = a.mailed(fwabi.MailCheckpoint)
	b.Build = a.mailed(fwabi.MailBuild)
	for i := range b.Detail {
		b.Detail[i] = a.mailed(fwabi.MailDetail0 + i)
	}
	kind := ErrFailed
	switch b.Result {
	case fwabi.ResultReady:
		return b, a.err
	case fwabi.ResultBusy:
		kind = ErrHung
	case fwabi.ResultTrap:
		kind = ErrTrap
	}
	a.write(mcureg.Base+mcureg.Ctl, 0)
	if a.err != nil {
		return b, a.err
	}
	return b, &BootError{kind, b}
}

// Trip returns the clocks from one read of a register to the next, by ID.TIME. On a slow link most of them
// are the way of a read. The error is that of the first read that fails.
func Trip(r Registers) (uint32, error) {
	first, err := r.Read(idreg.Base + idreg.TimeLo)
	if err != nil {
		return 0, err
	}
	second, err := r.Read(idreg.Base + idreg.TimeLo)
	return second - first, err
}
