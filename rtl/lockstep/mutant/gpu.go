package mutant

import (
	"errors"

	"github.com/hilgpu/hilgpu/rtl/gpu"
	"github.com/hilgpu/hilgpu/rtl/lockstep"
	"github.com/hilgpu/hilgpu/rtl/verilog"
)

// GPUOptions configure Run. The seed is also that of the traffic.
type GPUOptions struct {
	Options
	Config gpu.Config
	Clocks uint64 // number of clocks of random traffic, and of those with frequent resets
	Cache  string // directory for built simulations; "": hilgpu in os.UserCacheDir

	// Traffic, if not nil, drives the device after the random traffic and a reset.
	Traffic func(dev *lockstep.Device) error
}

// firstPart is the part of the random traffic that runs before the fast proof: it catches
// most of the mutants that can be caught.
const firstPart = 5

// Run tests mutants of the GPU's Verilog as Plant does, under the sweeps, random traffic, and
// the same with frequent resets. root is the root of the source tree.
func Run(root string, o GPUOptions) (*Report, error) {
	top, err := lockstep.NewTop(o.Config)
	if err != nil {
		return nil, err
	}
	d, err := top.Translate(root)
	if err != nil {
		return nil, err
	}
	return Plant(Subject{Design: d, Drive: o.drive}, o.Options)
}

// drive is Drive of a Subject.
func (o GPUOptions) drive(d *verilog.Design, v lockstep.Variants, first bool) ([]error, uint64, error) {
	top, err := lockstep.NewTop(o.Config)
	if err != nil {
		return nil, 0, err
	}
	dev, err := lockstep.NewVariantDevice(top, d, v, lockstep.Options{Cache: o.Cache})
	if err != nil {
		return nil, 0, err
	}
	traffic := []func(dev *lockstep.Device) error{sweeps, random(o.Seed, o.Clocks), restless(o.Seed, o.Clocks), o.Traffic}
	if first {
		traffic = []func(dev *lockstep.Device) error{random(o.Seed, o.Clocks/firstPart)}
	}
	run := play(dev, traffic...)
	closed := dev.Close()
	for _, err := range []error{run, closed} {
		if err != nil && !errors.Is(err, lockstep.ErrVariants) {
			return nil, 0, err
		}
	}
	return dev.Verdicts(), dev.Clocks(), nil
}

// sweeps is the traffic of package sweep.
func sweeps(dev *lockstep.Device) error { return lockstep.Sweep(dev, nil) }

// random returns random traffic.
func random(seed, clocks uint64) func(dev *lockstep.Device) error {
	return func(dev *lockstep.Device) error { return lockstep.Random(dev, seed, clocks, nil) }
}

// restless returns random traffic with frequent resets.
func restless(seed, clocks uint64) func(dev *lockstep.Device) error {
	return func(dev *lockstep.Device) error { return lockstep.Restless(dev, seed, clocks) }
}

// play runs traffic on dev, each but the first after a reset. nil is no traffic.
func play(dev *lockstep.Device, traffic ...func(dev *lockstep.Device) error) error {
	for i, run := range traffic {
		if run == nil {
			continue
		}
		if i > 0 {
			dev.Reset()
		}
		if err := run(dev); err != nil {
			return err
		}
	}
	return nil
}
