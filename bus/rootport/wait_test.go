package rootport_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/pcicfg"
)

// TestWaitEndsForACall: a call does not wait for the deadline of a Wait, which returns early and
// loses no event.
func TestWaitEndsForACall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, r, _ := openOne(t)
		defer r.Close()
		began := time.Now()
		type result struct {
			event bool
			after time.Duration
		}
		wait := func() chan result {
			done := make(chan result, 1)
			go func() {
				event, err := r.Wait(r.Now() + 20e9)
				assert.NoError(t, err)
				done <- result{event, time.Since(began)}
			}()
			synctest.Wait()
			return done
		}
		done := wait()
		time.Sleep(3 * time.Second)
		_, err := r.ReadConfig(pcicfg.ID)
		require.NoError(t, err)
		assert.Equal(t, result{false, 3 * time.Second}, <-done)
		assert.Equal(t, 3*time.Second, time.Since(began))

		done = wait()
		l.send(deviceWrite(0xfee00000, make([]byte, 4)))
		assert.Equal(t, result{true, 3 * time.Second}, <-done)
	})
}
