package mutant

import (
	"errors"

	"github.com/hilgpu/hilgpu/rtl/lockstep"
	"github.com/hilgpu/hilgpu/rtl/verilog"
)

// A Traffic drives a module in lockstep until it has done all, or both.Err is not nil. Of its
// clocks, first are those before the fast proof.
type Traffic func(top any, both *lockstep.Module, first bool)

// OfModule returns a module as a Subject. root is the root of the source tree. fresh returns a
// module in its initial state, a pointer to a struct with Tick and Reset, and outputs are the
// methods whose results are ports. cache is the directory for built simulations; "": hilgpu
// in os.UserCacheDir.
func OfModule(root string, fresh func() any, traffic Traffic, cache string, outputs ...string) (Subject, error) {
	d, err := verilog.TranslateModule(root, fresh(), outputs...)
	if err != nil {
		return Subject{}, err
	}
	drive := func(d *verilog.Design, v lockstep.Variants, first bool) ([]error, uint64, error) {
		top := fresh()
		both, err := lockstep.NewVariantModule(top, d, v, lockstep.Options{Cache: cache}, outputs...)
		if err != nil {
			return nil, 0, err
		}
		traffic(top, both, first)
		if err := both.Close(); err != nil && !errors.Is(err, lockstep.ErrVariants) {
			return nil, 0, err
		}
		return both.Verdicts(), both.Clocks(), nil
	}
	return Subject{Design: d, Drive: drive}, nil
}
