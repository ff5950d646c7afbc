package inproc_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/bus/bustest"
	"github.com/hilgpu/hilgpu/bus/inproc"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
)

// alwaysAwake hides the idle times of a device, like a device of which only the
// ports are known.
type alwaysAwake struct{ *bustest.Device }

func (s alwaysAwake) IdleFor() uint64 { return 0 }

// quietRunner is a Runner around an alwaysAwake device.
type quietRunner struct {
	alwaysAwake
	ran uint64
}

func (r *quietRunner) Run(n uint64) uint64 {
	for i := range n {
		cpl, _, _ := r.Target()
		req, beat := r.Initiator()
		if cpl.Status != port.CplNone || req.Kind != port.None || beat.Valid {
			return i
		}
		r.Tick(port.Request{}, port.Beat{}, false, port.Completion{}, false, false)
		r.ran++
	}
	return n
}

// transcript runs some jobs and returns every transaction with its clock.
func transcript(t *testing.T, dev port.Device, opt inproc.Options) (all []inproc.Transaction, end uint64) {
	opt.Observer = func(tr inproc.Transaction) {
		tr.Data = append([]byte(nil), tr.Data...)
		all = append(all, tr)
	}
	host := bustest.NewHost(4096)
	link, err := inproc.New(dev, host, opt)
	require.NoError(t, err)
	require.NoError(t, bustest.Enumerate(link))
	for i, job := range []uint32{bustest.JobRead, bustest.JobWrite, bustest.JobDelay, bustest.JobWrite} {
		require.NoError(t, bustest.StartJob(link, job, host.Base+uint64(300*i), uint32(300*i), 300))
		for deadline := link.Now() + 3000; link.Now() < deadline; {
			_, err := link.Wait(deadline)
			require.NoError(t, err)
		}
		require.NoError(t, link.Read(2, 0, make([]byte, 700)))
	}
	return all, link.Now()
}

// TestRunner: letting a device run by itself does not change the clock of any
// transaction.
func TestRunner(t *testing.T) {
	for _, opt := range []inproc.Options{{}, {Latency: 1, BytesPerClock: 64}, {Latency: 100, BytesPerClock: 3}} {
		for stall := range uint64(4) {
			o := bustest.DeviceOptions{Stall: stall}
			want, end := transcript(t, alwaysAwake{bustest.NewDevice(o)}, opt)
			for _, faulty := range []bool{false, true} {
				r := &quietRunner{alwaysAwake: alwaysAwake{bustest.NewDevice(o)}}
				dev := port.Device(r)
				if faulty {
					dev = inproc.NewFaulty(r, inproc.Fault{Kind: inproc.LostInterrupt, After: 100})
				}
				got, at := transcript(t, dev, opt)
				assert.Equal(t, want, got)
				assert.Equal(t, end, at)
				assert.Greater(t, r.ran, end/2, "most clocks are run by the device")
			}
		}
	}
}
