package boards

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
)

// A reader of a served GPU changes nothing of it, at any time of its work, and sees no fault that the GPU does not have.
func TestServedIsRead(t *testing.T) {
	states := map[[nodeBytes]byte]bool{}
	for stop := range uint64(30) {
		e, _ := vramWork(t, twinBoard)
		nodeRegisters(t, e) // so that the writes have arrived
		for deadline := e.Now() + 50*stop; e.Now() < deadline; {
			_, err := e.Wait(deadline)
			require.NoError(t, err)
		}
		link, err := Served(e.dev, func(f func()) error { e.Sample(f); return nil })
		require.NoError(t, err)
		before := e.dev.gpu.Hash()
		var seen [nodeBytes]byte
		for range 3 { // the copy is used again
			link.(Twinned).Twin(func(l bus.Link, memory func(uint64, []byte) error) {
				seen = nodeRegisters(t, l)
				assert.ErrorIs(t, memory(0, seen[:]), bus.ErrUnsupported)
			})
		}
		assert.Equal(t, before, e.dev.gpu.Hash(), stop)
		assert.Zero(t, seen[cpreg.Status]&cpreg.StatusFault)
		states[seen] = true
	}
	assert.Greater(t, len(states), 3, "the node works meanwhile")
}

// Before a host has placed the BARs, the registers are read from the copy all the same.
func TestServedWithoutHost(t *testing.T) {
	dev, err := Device("emu?vram=16KiB")
	require.NoError(t, err)
	link, err := Served(dev, func(f func()) error { f(); return nil })
	require.NoError(t, err)
	before := dev.gpu.Hash()
	link.(Twinned).Twin(func(l bus.Link, _ func(uint64, []byte) error) {
		assert.Equal(t, byte(cpreg.StatusIdle), nodeRegisters(t, l)[cpreg.Status])
	})
	assert.Equal(t, before, dev.gpu.Hash())
}

// What a reader cannot have, fails.
func TestServedFails(t *testing.T) {
	dev, err := Device("emu?fault=lost-interrupt")
	require.NoError(t, err)
	_, err = Served(dev, nil)
	assert.ErrorIs(t, err, errNoCopy)

	dev, err = Device("emu")
	require.NoError(t, err)
	busy := errors.New("busy")
	link, err := Served(dev, func(func()) error { return busy })
	require.NoError(t, err)
	called := false
	link.(Twinned).Twin(func(l bus.Link, _ func(uint64, []byte) error) {
		called = true
		fails(t, l, busy)
	})
	assert.True(t, called)
	fails(t, link, bus.ErrUnsupported)
}

// fails checks that each access fails.
func fails(t *testing.T, l bus.Link, want error) {
	t.Helper()
	_, err := l.ReadConfig(0)
	assert.ErrorIs(t, err, want)
	assert.ErrorIs(t, l.WriteConfig(4, 0), want)
	assert.ErrorIs(t, l.Read(0, 0, make([]byte, 4)), want)
	assert.ErrorIs(t, l.Write(0, 0, make([]byte, 4)), want)
	assert.NoError(t, l.Close())
}
