package hal_test

import (
	"encoding/binary"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/bus/bustest"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/hal"
)

// TestMessagesAtAnyTime: a goroutine of a link accesses memory and sends messages at
// any time. The interrupt routine runs only on the driver's goroutine, and sees what
// was written before its message. Under the race detector the test shows that the
// delivery orders both.
func TestMessagesAtAnyTime(t *testing.T) {
	const rounds = 2000
	m, d, _, thread := attach(t, bustest.DeviceOptions{})
	page, err := m.Alloc(4*rounds, 4)
	require.NoError(t, err)
	inCall, seen := false, uint32(0) // without a lock: of the driver's goroutine only
	d.SetInterrupt(func(*ddi.Thread, int) {
		assert.True(t, inCall, "an interrupt outside of the driver's calls")
		for seen < rounds && binary.LittleEndian.Uint32(page.Bytes[4*seen:]) == seen+1 {
			if seen++; seen%8 == 0 {
				break // later words may be written at this moment
			}
		}
	}, nil)
	var taken atomic.Uint32
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range uint32(rounds) {
			assert.NoError(t, m.WriteMem(page.Phys+4*uint64(i), binary.LittleEndian.AppendUint32(nil, i+1)))
			if i%8 == 7 {
				assert.NoError(t, m.WriteMem(hal.MessageBase, []byte{0, 0, 0, 0}))
				for taken.Load() <= i && !t.Failed() {
				}
			}
		}
	}()
	for seen < rounds && !t.Failed() {
		inCall = true
		if seen%16 == 0 {
			d.Deliver(thread)
		} else {
			_, err := d.Read32(thread, 2, 0)
			require.NoError(t, err)
		}
		inCall = false
		taken.Store(seen)
	}
	<-done
	assert.Equal(t, uint32(rounds), seen)
}
