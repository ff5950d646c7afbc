package rootport_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/bus/bustest"
	"github.com/hilgpu/hilgpu/bus/rootport"
	"github.com/hilgpu/hilgpu/bus/tlp"
)

// An arriving is a fake that tells what has arrived. Each packet takes a microsecond.
type arriving struct {
	*fake
	looks int  // calls of Now
	storm bool // the device sends writes without end
}

// Now counts the looks at the time.
func (a *arriving) Now() time.Duration {
	a.looks++
	return a.fake.Now()
}

// Arrived is Receive without a time-out.
func (a *arriving) Arrived() []byte {
	if a.storm {
		a.push(deviceWrite(hostBase, make([]byte, 4)))
	}
	if len(a.inbox) == 0 {
		return nil
	}
	p, _ := a.Receive(0)
	return p
}

// hostBase is the address of the memory of a bustest.Host.
const hostBase = 1 << 20

func openArriving(t *testing.T) (*arriving, *rootport.RootPort, *bustest.Host) {
	a := &arriving{fake: newFake(t)}
	h := bustest.NewHost(8192)
	r, err := rootport.New(func() (rootport.Port, error) { return a, nil }, h, rootport.Options{})
	require.NoError(t, err)
	require.NoError(t, r.Read(0, 0, make([]byte, 4)))
	return a, r, h
}

// TestArrived: packets that have arrived are handled in order with few looks at the time.
// The packets after a message wait for the next call.
func TestArrived(t *testing.T) {
	a, r, h := openArriving(t)
	for i := range 100 {
		a.push(deviceWrite(hostBase+4*uint64(i), []byte{byte(i), 1, 2, 3}))
	}
	a.push(deviceWrite(0xfee00000, make([]byte, 4)))
	a.push(deviceWrite(hostBase, []byte{9, 9, 9, 9}))
	a.looks = 0
	event, err := r.Wait(r.Now() + 1e9)
	require.NoError(t, err)
	assert.True(t, event)
	assert.LessOrEqual(t, a.looks, 20)
	require.Len(t, a.inbox, 1, "the packet after the message")
	for i := range 100 {
		got := make([]byte, 4)
		require.NoError(t, h.ReadMem(hostBase+4*uint64(i), got))
		assert.Equal(t, []byte{byte(i), 1, 2, 3}, got, i)
	}
}

// TestArrivedStorm: a device that always has a packet delays no deadline by more than 16
// packets.
func TestArrivedStorm(t *testing.T) {
	a, r, _ := openArriving(t)
	a.storm = true
	before := r.Now()
	_, err := r.Wait(before + 1e6)
	require.NoError(t, err)
	assert.InDelta(t, 1e6, r.Now()-before, 17e3)
	a.answer = func(tlp.Packet, []tlp.Packet) []tlp.Packet { return nil }
	before = r.Now()
	require.ErrorIs(t, r.Read(0, 0, make([]byte, 4)), bus.ErrTimeout)
	assert.InDelta(t, 1e9, r.Now()-before, 50e3)
}
