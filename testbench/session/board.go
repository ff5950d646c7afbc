package session

import (
	"cmp"
	"image"

	"github.com/hilgpu/hilgpu/runtime/dxgkrnl"
	"github.com/hilgpu/hilgpu/runtime/verifier"
	"github.com/hilgpu/hilgpu/testbench"
	"github.com/hilgpu/hilgpu/testbench/compose"
)

// An Outcome is the result of a session on a board.
type Outcome struct {
	Frame    *image.NRGBA // nil if the session failed
	Stats    testbench.Stats
	Findings []verifier.Finding // of the verifier, also after a failure
}

// OnBoard composes plan on the board of a selector. If a miniport breaks its
// contract, the error is a *dxgkrnl.DeviceError, as for any other stop of the GPU;
// if the user-mode interface is broken, it is a *verifier.Violation. Other errors
// are those of testbench.Open and compose.Run.
func OnBoard(selector string, drivers testbench.Drivers, o testbench.Options, plan *compose.Plan) (out Outcome, err error) {
	sys, err := testbench.Open(selector, drivers, o)
	if err != nil {
		return out, err
	}
	defer func() {
		out.Findings = sys.Findings()
		switch r := recover().(type) {
		case nil:
		case *dxgkrnl.Bugcheck:
			err = cmp.Or(sys.Err(), sys.Close())
		case *verifier.Violation:
			err = cmp.Or(error(r), sys.Close())
		default:
			panic(r)
		}
	}()
	out.Frame, err = compose.Run(sys, plan)
	out.Stats = sys.Stats()
	if cerr := sys.Close(); err == nil {
		err = cerr
	}
	return out, err
}
