package inproc_test

import (
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/bus/bustest"
	"github.com/hilgpu/hilgpu/bus/inproc"
)

// awake is a device that is never idle until it rests.
type awake struct {
	*bustest.Device
	rests, ticks *atomic.Uint64
}

func (a awake) IdleFor() uint64 {
	a.ticks.Add(1)
	if a.rests.Load() == 0 {
		return 0
	}
	return a.Device.IdleFor()
}

// A visit does not wait for the end of a Wait, and no clock runs meanwhile.
func TestVisitDuringAWait(t *testing.T) {
	dev := awake{bustest.NewDevice(bustest.DeviceOptions{}), new(atomic.Uint64), new(atomic.Uint64)}
	link, err := inproc.New(dev, bustest.NewHost(4096), inproc.Options{})
	require.NoError(t, err)
	waited := make(chan error)
	go func() {
		_, err := link.Wait(1 << 40)
		waited <- err
	}()
	for dev.ticks.Load() == 0 {
		runtime.Gosched()
	}
	for range 100 {
		var before, after uint64
		link.Visit(func() {
			before = dev.ticks.Load()
			runtime.Gosched()
			after = dev.ticks.Load()
		})
		require.Positive(t, before)
		require.Equal(t, before, after)
	}
	dev.rests.Store(1)
	require.NoError(t, <-waited)
	assert.EqualValues(t, 1<<40, link.Now())
	link.Visit(func() {})
	assert.EqualValues(t, 1<<40, link.Now(), "a visit without a Wait takes no clock")
}

// A fork changes nothing of its link, and its device reaches no host.
func TestFork(t *testing.T) {
	host := bustest.NewHost(4096)
	link, err := inproc.New(bustest.NewDevice(bustest.DeviceOptions{}), host, inproc.Options{})
	require.NoError(t, err)
	require.NoError(t, bustest.Enumerate(link))
	before, stats := link.Now(), link.Stats()
	var fork *inproc.Link
	other := bustest.NewDevice(bustest.DeviceOptions{})
	link.Sample(func() { fork = link.Fork(other) })
	assert.Equal(t, before, fork.Now())
	require.NoError(t, bustest.Enumerate(fork))
	require.NoError(t, bustest.StartJob(fork, bustest.JobWrite, host.Base, 0, 64))
	_, err = fork.Wait(fork.Now() + 1000)
	require.NoError(t, err)
	require.NoError(t, bustest.StartJob(fork, bustest.JobRead, host.Base, 0, 64))
	_, err = fork.Wait(fork.Now() + 1000)
	require.NoError(t, err)
	assert.Positive(t, fork.Stats().DeviceReads)
	assert.Positive(t, fork.Stats().DeviceWrites)
	assert.Equal(t, before, link.Now())
	assert.Equal(t, stats, link.Stats())
	p := make([]byte, 64)
	require.NoError(t, host.ReadMem(host.Base, p))
	assert.Equal(t, make([]byte, 64), p, "host memory is untouched")
}
