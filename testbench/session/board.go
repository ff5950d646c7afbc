package session

import (
	"image"

	"github.com/hilgpu/hilgpu/runtime/verifier"
	"github.com/hilgpu/hilgpu/testbench"
	"github.com/hilgpu/hilgpu/testbench/compose"
)

// An Outcome is the result of a session on a board.
type Outcome struct {
	Frame    *image.NRGBA       // nil if the session failed
	Stats    testbench.Stats    // zero after a call that did not return
	Findings []verifier.Finding // of the verifier, also after a failure

	Violations []*verifier.Violation // the broken rules; several with testbench.Options.Collect
}

// OnBoard composes plan on the board of a selector. If a driver breaks a rule, or
// one of its calls does not return, the error is a *verifier.Violation. Other errors
// are those of testbench.Open and compose.Run.
func OnBoard(selector string, drivers testbench.Drivers, o testbench.Options, plan *compose.Plan) (out Outcome, err error) {
	sys, err := testbench.Open(selector, drivers, o)
	if err != nil {
		return out, err
	}
	got := make(chan Outcome, 1)
	err = sys.Watched(func() error {
		frame, err := compose.Run(sys, plan)
		got <- Outcome{Frame: frame, Stats: sys.Stats()}
		if cerr := sys.Close(); err == nil {
			err = cerr
		}
		return err
	})
	select {
	case out = <-got:
	default: // a call hangs
	}
	out.Findings, out.Violations = sys.Findings(), sys.Violations()
	return out, err
}
