package breaks

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/verifier"
	"github.com/hilgpu/hilgpu/testbench"
	kmd "github.com/hilgpu/hilgpu/testbench/drivertest/starter/module/miniport"
	"github.com/hilgpu/hilgpu/testbench/drivertest/starter/module/umd"
)

// base returns the drivers that a break changes.
func (b Break) base() testbench.Drivers {
	if b.Own && b.Work == Recover {
		return testbench.HostDrivers().WithoutNodeRecovery()
	}
	if b.Own {
		return testbench.HostDrivers()
	}
	d := testbench.Drivers{UserMode: umd.OpenAdapter, KernelMode: kmd.DriverEntry}
	if b.Work == Split {
		return local()(d)
	}
	return d
}

// options returns the options of a run.
func (b Break) options() testbench.Options {
	o := testbench.Options{Seed: b.Seed, Sanitize: strings.HasPrefix(b.Rule, "access-")}
	if b.Hangs {
		o.CallLimit = time.Second
	}
	return o
}

// An outcome is what a run of a workload showed.
type outcome struct {
	err      error
	findings []verifier.Finding
}

// try runs a workload with drivers.
func try(work string, d testbench.Drivers, o testbench.Options) outcome {
	s, err := testbench.Open(boards[work], d, o)
	if err != nil {
		return outcome{err: err}
	}
	err = s.Watched(func() error { return run(s, work) })
	var broken *verifier.Violation
	if !errors.As(err, &broken) {
		err = errors.Join(err, s.Err(), s.Close())
	} else {
		s.Close()
	}
	return outcome{err, s.Findings()}
}

// says describes an outcome: the finding of a rule if there is one, else the error.
func (o outcome) says(of string) string {
	var broken *verifier.Violation
	found := slices.IndexFunc(o.findings, func(f verifier.Finding) bool { return f.Rule == of })
	switch {
	case found >= 0:
		return of + ": " + o.findings[found].First
	case errors.As(o.err, &broken):
		return fmt.Sprintf("%s: %s: %s", broken.Rule.Name, broken.Function, broken.Text)
	case o.err != nil:
		return "an error: " + strings.ReplaceAll(o.err.Error(), "\n", "; ")
	case len(o.findings) > 0:
		return "a finding: " + o.findings[0].String()
	}
	return "silent"
}

// Each break is named, and the next system with good drivers works.
func TestBreaks(t *testing.T) {
	for _, b := range All() {
		t.Run(b.Name, func(t *testing.T) {
			t.Parallel()
			got := try(b.Work, b.Drivers(b.base()), b.options())
			assert.NoError(t, try(Draw, b.base(), testbench.Options{}).err, "the next system")
			want := b.Rule + ": " + b.Function + ": "
			assert.True(t, strings.HasPrefix(got.says(b.Rule), want), "%s: got %s", want, got.says(b.Rule))
		})
	}
}

// The workloads break no rule.
func TestWorkloads(t *testing.T) {
	for _, own := range []bool{false, true} {
		for work := range boards {
			wants := map[string]string{Late: "gpu-late", Reset: "gpu-time-out", Recover: "gpu-time-out"}[work] // the board loses doorbells
			if wants != "" && !own {
				continue
			}
			t.Run(fmt.Sprintf("%s, own %v", work, own), func(t *testing.T) {
				for seed := range uint64(3) {
					got := try(work, Break{Own: own, Work: work}.base(), testbench.Options{Seed: seed, Sanitize: true})
					if wants != "" {
						require.NoError(t, got.err)
						require.Len(t, got.findings, 1)
						require.Equal(t, wants, got.findings[0].Rule)
						continue
					}
					require.Equal(t, "silent", got.says(""))
				}
			})
		}
	}
}
