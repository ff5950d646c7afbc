package session

import (
	"image"

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

// OnBoard composes plan on the board of a selector. If a
// driver breaks a rule, the error is a *verifier.Violation. Other errors are those
// of testbench.Open and compose.Run.
func OnBoard(selector string, drivers testbench.Drivers, o testbench.Options, plan *compose.Plan) (out Outcome, err error) {
	sys, err := testbench.Open(selector, drivers, o)
	if err != nil {
		return out, err
	}
	out.Frame, err = compose.Run(sys, plan)
	out.Stats, out.Findings = sys.Stats(), sys.Findings()
	if cerr := sys.Close(); err == nil {
		err = cerr
	}
	return out, err
}
