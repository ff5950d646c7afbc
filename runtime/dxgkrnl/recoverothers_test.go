package dxgkrnl

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi"
)

// An inside is a rig with a thread that waits in the kernel for work that the GPU does not do yet,
// and a second process.
type inside struct {
	*rig
	other *rig
	order []string // of what the threads do
}

func newInside(t *testing.T) *inside {
	s := &inside{rig: newRig(t, options{})}
	a := s.alloc(64, local)
	s.gpu.auto = false
	s.render(fill(a, 0, 64, 1))
	s.other = s.process(2)
	return s
}

// run runs do while the first thread waits, and returns the order.
func (s *inside) run(seed uint64, do func(), more ...Task) []string {
	s.kernel.Run(seed, append([]Task{
		{s.thread, func(*ddi.Thread) {
			s.note("waits")
			crash(func() { s.thunks.WaitForIdle(s.thread, s.dev) })
			s.note("leaves")
		}},
		{s.other.thread, func(*ddi.Thread) {
			s.until("waits")
			do()
		}},
	}, more...))
	return s.order
}

func (s *inside) note(what string) { s.order = append(s.order, what) }

// until enters the kernel until something was noted, and the thread that noted it has gone on.
func (s *inside) until(what string) {
	for len(s.order) == 0 || s.order[len(s.order)-1] != what || s.kernel.visits == 0 {
		s.other.look()
	}
}

// look enters the kernel and leaves it.
func (r *rig) look() {
	v := r.kernel.enter(r.thread)
	r.kernel.leave(r.thread, &v)
}

// Recover of an adapter that works waits for no other thread.
func TestRecoverOfAWorkingAdapter(t *testing.T) {
	s := newInside(t)
	order := s.run(2, func() {
		require.NoError(t, s.kernel.Recover(s.other.thread))
		s.note("recovered")
		s.gpu.auto = true
	})
	assert.Equal(t, []string{"waits", "recovered", "leaves"}, order)
	assert.Zero(t, s.kernel.Stats().Recoveries+s.kernel.Stats().NodeResets)
	s.finish()
}

// After a Bugcheck Recover has the error at once, in some order of the threads before the others
// are unwound, and nothing is reset.
func TestRecoverAfterABugcheck(t *testing.T) {
	early := 0
	for seed := range uint64(16) {
		s := newInside(t)
		order := s.run(seed, func() {
			require.NotNil(t, crash(func() { s.kernel.bugcheck("test", CodeVerifier, VerifierAlign, "a mistake") }))
			assert.Error(t, s.kernel.Recover(s.other.thread))
			s.note("fails")
		})
		assert.Zero(t, s.kernel.Stats().Recoveries)
		if order[1] == "fails" {
			early++
		}
	}
	assert.Positive(t, early)
}

// While Stop waits for other threads, Recover resets nothing and fails.
func TestRecoverDuringStop(t *testing.T) {
	during := 0
	for seed := range uint64(16) {
		s := newInside(t)
		stopper := s.process(3)
		s.run(seed, func() {
			s.kernel.stop(s.other.thread, reasonTimeout, &DeviceError{Kind: Timeout, Cause: ddi.StatusIOTimeout})
			for !s.kernel.closing {
				s.other.look()
			}
			if !s.kernel.stopped {
				during++
			}
			assert.Equal(t, ddi.StatusDeviceRemoved, s.kernel.Recover(s.other.thread))
		}, Task{stopper.thread, func(*ddi.Thread) {
			for s.kernel.err == nil {
				stopper.look()
			}
			s.kernel.Stop(stopper.thread)
		}})
		assert.Zero(t, s.kernel.Stats().Recoveries, "seed %d", seed)
	}
	assert.Positive(t, during)
}
