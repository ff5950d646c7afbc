package reset_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hilgpu/hilgpu/rtl/reset"
)

// A step is one clock.
type step struct {
	whole, function, quiet bool
	want                   reset.Signals
}

func TestModule(t *testing.T) {
	none, pending := reset.Signals{}, reset.Signals{Pending: true}
	whole := reset.Signals{Pending: true, Whole: true}
	function := reset.Signals{Pending: true, Whole: true, Function: true}
	for _, tt := range []struct {
		name  string
		steps []step
	}{
		{"nothing is requested", []step{{quiet: true, want: none}, {quiet: true, want: none}}},
		{"whole", []step{{whole: true, quiet: true, want: none}, {quiet: true, want: whole}, {quiet: true, want: none}}},
		{"function", []step{{function: true, want: none}, {quiet: true, want: function}, {quiet: true, want: none}}},
		{"waits until it is quiet", []step{{whole: true, want: none}, {want: pending}, {want: pending}, {quiet: true, want: whole}, {want: none}}},
		{"two merge", []step{{whole: true, want: none}, {function: true, want: pending}, {quiet: true, want: function}, {quiet: true, want: none}}},
		{"requested as one ends", []step{
			{function: true, want: none}, {whole: true, quiet: true, want: function}, {quiet: true, want: whole}, {quiet: true, want: none},
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var m reset.Module
			for i, s := range tt.steps {
				now := reset.Now(m.State(), s.quiet)
				assert.Equal(t, s.want, now, "clock %d", i)
				assert.Equal(t, !s.want.Pending, m.IdleFor() == math.MaxUint64)
				m.Tick(s.whole, s.function, now)
			}
			m.Tick(true, true, reset.Signals{})
			m.Reset()
			assert.Equal(t, reset.State{}, m.State())
		})
	}
}
