package dxgkrnl

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

// A fence that ResetEngine cannot return, with those at the limits.
//
// docs/properties.md: T3.
func TestAbortedFence(t *testing.T) {
	for _, tt := range []struct {
		last uint32
		bad  bool
	}{{6, true}, {7, false}, {8, false}, {9, false}, {10, true}} {
		t.Run(fmt.Sprint(tt.last), func(t *testing.T) {
			q := newQueues(t, 2, options{resets: true, first: 7})
			q.kernel.caps.HwQueuePacketCap, q.gpu.capacity = 2, 2
			q.gpu.auto = true
			q.work(1)
			q.devices[1].wait()
			q.devices[0].ok(q.devices[0].submit(q.contexts[0], command{op: opHang}))
			q.work(1)
			q.mini.engine = func(_ *ddi.Thread, node uint32) (uint32, ddi.Status, bool) {
				q.mini.engine = nil
				q.gpu.queues[node], q.mini.last[node] = nil, tt.last
				le.PutUint32(q.gpu.bar0[regFence+4*node:], tt.last)
				return tt.last, ddi.StatusSuccess, true
			}
			b := crash(func() { q.devices[0].thunks.WaitForIdle(q.devices[0].thread, q.devices[0].dev) })
			if !tt.bad {
				assert.Nil(t, b)
				return
			}
			require.NotNil(t, b)
			assert.Equal(t, []uint32{CodeScheduler, SchedulerAbort}, []uint32{b.Code, b.P1})
			assert.Contains(t, b.Text, fmt.Sprintf("node 0: LastAbortedFenceID is %d, want 7 to 9", tt.last))
		})
	}
}

// Interrupts of a node that is reset are ignored until ResetEngine returns, and then wrong.
//
// docs/properties.md: T2.
func TestInterruptsOfAReset(t *testing.T) {
	for _, late := range []bool{false, true} {
		q := hung(t, options{})
		m := q.mini
		report := func(th *ddi.Thread) {
			m.cb.SynchronizeExecution(th, m.cb.DeviceHandle, 0, func(th *ddi.Thread) bool {
				m.notify(th, kmddi.NotifyInterrupt{InterruptType: kmddi.InterruptDMACompleted, FenceID: 1})
				return m.cb.QueueDpc(th, m.cb.DeviceHandle)
			})
		}
		m.engine = func(th *ddi.Thread, node uint32) (uint32, ddi.Status, bool) {
			m.engine = nil
			if !late {
				report(th)
				return 0, 0, false
			}
			q.gpu.queues[0], m.last[0] = nil, 1
			q.gpu.interrupt(0)
			m.isr = report
			return 1, ddi.StatusSuccess, true
		}
		wait := func() { q.devices[1].thunks.WaitForIdle(q.devices[1].thread, q.devices[1].dev) }
		b := crash(wait)
		if !late {
			require.Nil(t, b)
			q.goesOn(1)
			continue
		}
		require.NotNil(t, b)
		assert.Equal(t, []uint32{CodeScheduler, SchedulerReset}, []uint32{b.Code, b.P1})
	}
}

// The sixth reset of the adapter in a minute ends the system, unless the limit is off.
//
// docs/properties.md: T1.
func TestLimitOfResets(t *testing.T) {
	for _, tt := range []struct {
		name  string
		limit int
		pause uint64 // before the sixth one
		bad   bool
	}{{"six in a minute", 5, 0, true}, {"the first one is a minute ago", 5, 60_000, false}, {"off", -1, 0, false}} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, options{})
			r.kernel.tdrLimit = tt.limit
			var b *Bugcheck
			for i := range 6 {
				r.gpu.auto = false
				r.render(fill(r.alloc(64, system), 0, 64, 1))
				require.Error(t, r.kernel.WaitForIdle(r.thread))
				if i == 5 {
					r.gpu.now += tt.pause
				}
				if b = crash(r.another); b != nil {
					assert.Equal(t, 5, i)
					break
				}
			}
			if !tt.bad {
				require.Nil(t, b)
				r.gpu.auto = true
				r.works(t)
				return
			}
			require.NotNil(t, b)
			assert.Equal(t, []uint32{CodeTimeout, TimeoutLimit}, []uint32{b.Code, b.P1})
			assert.Regexp(t, `^6 resets of the adapter in \d+ clocks, want at most 5 in 60000$`, b.Text)
		})
	}
}

// A function that resets may take TdrDdiDelay, and no longer.
//
// docs/properties.md: T1.
func TestLimitOfResetFunctions(t *testing.T) {
	for _, function := range []string{"ResetEngine", "ResetFromTimeout", "RestartFromTimeout"} {
		for _, extra := range []uint64{0, 100} {
			q := hung(t, options{})
			if function != "ResetEngine" {
				q.mini.group = 3
			}
			q.mini.at = map[string]func(){function: func() { q.gpu.now += 4990 + extra }}
			b := crash(func() {
				q.devices[1].thunks.WaitForIdle(q.devices[1].thread, q.devices[1].dev)
				p := q.process(9)
				p.open(0)
			})
			if extra == 0 {
				assert.Nil(t, b, function)
				continue
			}
			require.NotNil(t, b, function)
			assert.Equal(t, []any{uint32(CodeTimeout), uint32(TimeoutDDI), "DxgkDdi" + function}, []any{b.Code, b.P1, b.Function})
		}
	}
}

// An adapter that does not recover by itself stays stopped until Recover succeeds.
func TestRecoveryByItselfFails(t *testing.T) {
	r := newRig(t, options{})
	r.gpu.auto = false
	r.render(fill(r.alloc(64, system), 0, 64, 1))
	require.Error(t, r.kernel.WaitForIdle(r.thread))
	r.gpu.auto = true
	r.mini.fail["RestartFromTimeout"] = ddi.StatusIOTimeout
	r.mini.log = nil
	for range 3 {
		_, s := r.thunks.CreateDevice(r.thread)
		assert.Equal(t, ddi.StatusDeviceRemoved, s)
	}
	assert.Len(t, r.logged("ResetFromTimeout"), 1)
	assert.ErrorContains(t, r.kernel.Err(), ": no recovery: dxgkrnl: DxgkDdiRestartFromTimeout: STATUS_IO_TIMEOUT")
	clear(r.mini.fail)
	require.NoError(t, r.kernel.Recover(r.thread))
	r.another()
	r.works(t)
	r.finish()
}

// After a link failure the adapter recovers when somebody next creates a device, however often. If the
// link is still down then, Recover does it.
//
// docs/properties.md: T8.
func TestLinkRecoversByItself(t *testing.T) {
	r := newRig(t, options{})
	fails := func() {
		r.render(fill(r.alloc(64, system), 0, 64, 1))
		r.gpu.linkErr = errors.New("broken")
		require.Error(t, r.kernel.WaitForIdle(r.thread))
	}
	for range 10 { // more than TdrLimitCount
		fails()
		r.gpu.linkErr = nil
		r.another()
		r.works(t)
	}
	fails()
	_, s := r.thunks.CreateDevice(r.thread)
	require.Equal(t, ddi.StatusIODeviceError, s)
	r.gpu.linkErr = nil
	_, s = r.thunks.CreateDevice(r.thread)
	assert.Equal(t, ddi.StatusIODeviceError, s, "it has been tried once")
	require.NoError(t, r.kernel.Recover(r.thread))
	r.another()
	r.works(t)
	r.finish()
}

// Resets of nodes do not count, unless they become one of the adapter.
//
// docs/properties.md: T1.
func TestResetsOfNodesDoNotCount(t *testing.T) {
	r := newRig(t, options{resets: true})
	hang := func() {
		r.render(command{op: opHang})
		require.Equal(t, ddi.StatusDeviceRemoved, r.thunks.WaitForIdle(r.thread, r.dev))
	}
	for range 6 {
		hang()
		require.NoError(t, r.kernel.Err())
		r.another()
	}
	assert.EqualValues(t, 6, r.kernel.Stats().NodeResets)
	for range 5 {
		r.mini.fail["ResetEngine"] = ddi.StatusIOTimeout
		hang()
		require.Error(t, r.kernel.Err())
		delete(r.mini.fail, "ResetEngine")
		require.Nil(t, crash(r.another))
	}
	r.works(t)
	r.mini.fail["ResetEngine"] = ddi.StatusIOTimeout
	hang()
	b := crash(r.another)
	require.NotNil(t, b, "the sixth of the adapter")
	assert.Equal(t, []uint32{CodeTimeout, TimeoutLimit}, []uint32{b.Code, b.P1})
}
