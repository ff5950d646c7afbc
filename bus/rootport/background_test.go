package rootport_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/bus/rootport"
	"github.com/hilgpu/hilgpu/bus/tlp"
	"github.com/hilgpu/hilgpu/rtl/abi/pcicfg"
)

// TestServeWithoutCall: a read and a write of the device are served although no call
// is in progress, and the message of that time ends the next Wait.
func TestServeWithoutCall(t *testing.T) {
	l, r, m := openOne(t)
	for round := range 3 {
		l.send(deviceRead(round, 64, 32), deviceWrite(memoryBase+4096, []byte{1, 2, 3, byte(round)}), deviceWrite(0xfee00000, []byte{0, 0, 0, 0}))
		l.until(t, "the packets are taken", func(f *fake) bool { return len(f.inbox) == 0 && len(answers(f)) == round+1 && m.count() == 3*(round+1) })
		event, err := r.Wait(r.Now() + 20e9)
		require.NoError(t, err)
		assert.True(t, event)
		assert.Equal(t, []byte{1, 2, 3, byte(round)}, m.mem[4096:4100])
		assert.Equal(t, m.mem[64:96], answers(l.fake)[round])
		event, err = r.Wait(r.Now())
		require.NoError(t, err)
		assert.False(t, event, "an event is reported once")
	}
	assert.Zero(t, l.overlaps)
}

// TestServeDuringWrites: calls that only send, less than a millisecond apart, do not
// keep the device from being served.
func TestServeDuringWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, r, _ := openOne(t)
		defer r.Close()
		require.NoError(t, r.Write(0, 0, make([]byte, 4)))
		l.send(deviceRead(7, 0, 4))
		for range 30 {
			require.NoError(t, r.Write(0, 0, make([]byte, 4)))
			time.Sleep(time.Millisecond / 10)
		}
		assert.Len(t, answers(l.fake), 1)
	})
}

// TestNoHandOver: reads less than a millisecond apart take over from the background
// once.
func TestNoHandOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, r, _ := openOne(t)
		defer r.Close()
		time.Sleep(time.Second)
		for range 100 {
			require.NoError(t, r.Read(0, 0, make([]byte, 4)))
			time.Sleep(time.Millisecond / 3)
		}
		assert.Equal(t, 1, l.interrupts)
	})
}

// TestServeStress: calls of several goroutines, with and without pauses, interleave
// with requests of the device, and no packet is lost or served twice.
func TestServeStress(t *testing.T) {
	const callers, calls, requests = 4, 150, 300
	l, r, m := openOne(t)
	require.NoError(t, r.Read(0, 0, make([]byte, 4))) // reads the BARs
	before := r.Stats()
	l.do(func(f *fake) { f.sent = nil })
	var wg sync.WaitGroup
	for c := range callers {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(c), 1))
			got := make([]byte, 4)
			for i := range calls {
				want := []byte{byte(c), byte(i), byte(i >> 8), 9}
				assert.NoError(t, r.Write(2, uint64(4*c), want))
				assert.NoError(t, r.Read(2, uint64(4*c), got))
				assert.Equal(t, want, got)
				if rng.IntN(20) == 0 {
					time.Sleep(4 * time.Millisecond)
				}
			}
		})
	}
	wg.Go(func() {
		rng := rand.New(rand.NewPCG(99, 1))
		for i := range requests {
			l.send(deviceRead(i%200, 4*i, 4), deviceWrite(memoryBase+4096+uint64(4*i), []byte{byte(i), byte(i >> 8), 0, 7}))
			if rng.IntN(10) == 0 {
				time.Sleep(3 * time.Millisecond)
			}
			if i%100 == 99 { // tags are used again after their answers
				l.until(t, "the reads are answered", func(f *fake) bool { return countAnswers(f) == i+1 })
			}
		}
	})
	wg.Wait()
	l.until(t, "everything is taken", func(f *fake) bool { return len(f.inbox) == 0 && countAnswers(f) == requests })
	got := r.Stats()
	assert.EqualValues(t, 2*callers*calls+requests, got.TLPs[rootport.Down]-before.TLPs[rootport.Down])
	assert.EqualValues(t, callers*calls+2*requests, got.TLPs[rootport.Up]-before.TLPs[rootport.Up])
	assert.Zero(t, got.Refused, got.Refusal)
	assert.Equal(t, 2*requests, m.count())
	for i := range requests {
		assert.Equal(t, []byte{byte(i), byte(i >> 8), 0, 7}, m.mem[4096+4*i:][:4])
	}
	l.do(func(*fake) { assert.Zero(t, l.overlaps, "Receive is called by one goroutine at a time") })
}

func countAnswers(f *fake) (n int) {
	for _, p := range f.sent {
		if p.Kind == tlp.CplD {
			n++
		}
	}
	return n
}

// TestServeStorm: a device that never stops sending does not keep calls out.
func TestServeStorm(t *testing.T) {
	l, r, m := openOne(t)
	l.do(func(*fake) { l.storm = true })
	l.until(t, "the storm begins", func(*fake) bool { return m.count() > 1000 })
	for range 20 {
		require.NoError(t, r.Read(0, 0, make([]byte, 4)))
		before := m.count()
		l.until(t, "the storm continues", func(*fake) bool { return m.count() > before+1000 })
	}
}

// TestServeReopen: the device of each session is served between calls, and that of
// none after Close.
func TestServeReopen(t *testing.T) {
	var ports []*live
	r, m := openLive(t, func() *live {
		ports = append(ports, newLive(t))
		return ports[len(ports)-1]
	})
	for n := 1; n <= 8; n++ {
		l := ports[n-1]
		l.send(deviceRead(n, 0, 4))
		l.until(t, fmt.Sprintf("session %d is served", n), func(f *fake) bool { return len(answers(f)) == 1 })
		if n%2 == 0 {
			l.fail(fmt.Errorf("%w: cut", bus.ErrLinkDown))
			l.until(t, "the cut is noticed", func(*fake) bool { return l.failed != nil })
		}
		require.NoError(t, r.Reopen())
		assert.True(t, l.closed)
	}
	last := ports[len(ports)-1]
	last.send(deviceRead(1, 0, 4)) // may be served before the end
	require.NoError(t, r.Close())
	require.NoError(t, r.Close())
	served := m.count()
	last.mu.Lock()
	assert.Zero(t, last.receiving, "no Receive is in progress after Close")
	taken := last.taken
	last.mu.Unlock()
	last.send(deviceRead(2, 0, 4))
	assert.ErrorIs(t, r.Reopen(), bus.ErrClosed)
	assert.ErrorIs(t, r.Write(0, 0, make([]byte, 4)), bus.ErrClosed)
	assert.Equal(t, served, m.count())
	assert.Equal(t, taken, last.taken)
	for _, l := range ports {
		assert.Zero(t, l.overlaps)
	}
}

// TestServeClose: Close ends at once what happens between calls, at any time.
func TestServeClose(t *testing.T) {
	for range 50 {
		l, r, _ := openOne(t)
		go func() {
			for i := range 100 {
				l.send(deviceRead(i, 0, 4))
			}
		}()
		time.Sleep(time.Duration(rand.IntN(2500)) * time.Microsecond)
		require.NoError(t, r.Close())
		l.mu.Lock()
		assert.Zero(t, l.receiving)
		l.mu.Unlock()
	}
}

// TestServeDown: when the port fails between calls, the next call returns the cause,
// and so does every later one.
func TestServeDown(t *testing.T) {
	l, r, _ := openOne(t)
	cause := errors.New("somebody pulled the plug")
	l.fail(fmt.Errorf("%w: %w", bus.ErrLinkDown, cause))
	l.until(t, "the failure is noticed", func(*fake) bool { return l.failed != nil })
	l.do(func(f *fake) { f.down = errors.New("a later cause") })
	for range 2 {
		_, err := r.ReadConfig(pcicfg.ID)
		assert.ErrorIs(t, err, bus.ErrLinkDown)
		assert.ErrorIs(t, err, cause)
		_, err = r.Wait(r.Now() + 1)
		assert.ErrorIs(t, err, cause)
		assert.ErrorIs(t, r.Write(0, 0, make([]byte, 4)), cause)
	}
}

// caller is a host that calls Now from its methods.
type caller struct {
	memory
	now func() uint64
}

func (c *caller) WriteMem(addr uint64, p []byte) error {
	c.now()
	return c.memory.WriteMem(addr, p)
}

// TestNowInsideHost: a method of the host, and a lock that it waits for, may wait for
// Now.
func TestNowInsideHost(t *testing.T) {
	l := newLive(t)
	c := &caller{}
	var r *rootport.RootPort
	c.now = func() uint64 { return r.Now() }
	var err error
	r, err = rootport.New(func() (rootport.Port, error) { return l, nil }, c, rootport.Options{ServeAlways: true})
	require.NoError(t, err)
	defer r.Close()
	l.send(deviceWrite(memoryBase, bytes.Repeat([]byte{5}, 8)))
	l.until(t, "the write is served", func(*fake) bool { return c.count() == 1 })
}
