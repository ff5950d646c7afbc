package testbench

import (
	"math"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/boards/serve"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/runtime/d3d11"
	"github.com/hilgpu/hilgpu/runtime/dxgkrnl"
	"github.com/hilgpu/hilgpu/runtime/hal"
)

// A storm is a device that sends interrupt messages of its own between the requests of
// the device that it contains.
type storm struct {
	port.Device
	on       atomic.Bool   // messages are sent
	withheld atomic.Bool   // the device's own requests wait
	messages atomic.Uint64 // sent

	sentAt   time.Time // when the last message was sent
	header   bool      // the header of a message must be sent
	data     bool      // its data must be sent
	own      bool      // the device's outputs are at the port
	offering bool      // a request of the device has been there
	owed     uint8     // beats of the device's last write that must follow
	awake    int       // clocks that it still runs although its requests wait
}

// left returns the time until the next message, or the longest one if there is no storm.
func (s *storm) left() time.Duration {
	if !s.on.Load() {
		return math.MaxInt64
	}
	return max(0, stormEvery-time.Since(s.sentAt))
}

// choose decides whose outputs are at the port in this clock.
func (s *storm) choose() (port.Request, port.Beat) {
	req, beat := s.Device.Initiator()
	free := s.owed == 0 && !s.offering // between two requests
	if free && !s.header && !s.data && s.left() == 0 {
		s.sentAt = time.Now()
		s.header, s.data = true, true
	}
	if s.own = !s.header && !s.data && !(free && s.withheld.Load()); !s.own {
		return port.Request{}, port.Beat{}
	}
	return req, beat
}

// Initiator returns the message, or the outputs of the device.
func (s *storm) Initiator() (req port.Request, beat port.Beat) {
	req, beat = s.choose()
	if s.header {
		req = port.Request{Kind: port.MemWrite, Len: 1, Addr: hal.MessageBase}
	}
	if s.data {
		beat = port.Beat{Valid: true, Last: true, Enable: 0x0f}
	}
	return req, beat
}

// Tick advances the device by one clock.
func (s *storm) Tick(req port.Request, beat port.Beat, cplReady bool, cpl port.Completion, reqReady, dataReady bool) {
	if s.awake--; req.Kind != port.None || !s.withheld.Load() {
		s.awake = enough
	}
	if !s.own {
		if s.header = s.header && !reqReady; s.data && dataReady {
			s.data = false
			s.messages.Add(1)
		}
		s.Device.Tick(req, beat, cplReady, cpl, false, false)
		return
	}
	out, data := s.Device.Initiator()
	s.offering = out.Kind != port.None && !reqReady
	if reqReady && out.Kind == port.MemWrite {
		s.owed += port.Beats(out.Addr, out.Len)
	}
	if dataReady && data.Valid {
		s.owed--
	}
	s.Device.Tick(req, beat, cplReady, cpl, reqReady, dataReady)
}

// enough is the number of clocks in which the device answers a request of the host.
const enough = 100

// stopped reports whether the device stands still, so that it takes no processor time.
func (s *storm) stopped() bool { return s.withheld.Load() && s.awake <= 0 }

// IdleFor ends at the next message. A clock is 10 ns.
func (s *storm) IdleFor() uint64 {
	next := uint64(s.left() / 10)
	switch {
	case s.header || s.data:
		return 0
	case s.stopped():
		return next
	}
	return min(s.Device.IdleFor(), next)
}

// Skip advances the device by n clocks, unless it stands still.
func (s *storm) Skip(n uint64) {
	if !s.stopped() {
		s.Device.Skip(n)
	}
}

// fast is a rate of a serial line that has room for a storm and more, in bits per second.
const fast = 4_000_000

// inStorm runs a test on a served device that sends messages of its own.
func inStorm(t *testing.T, tdr time.Duration, f func(t *testing.T, d *storm, s *System)) {
	around := func(dev port.Device) port.Device { return &storm{Device: dev} }
	onServedDevices(t, around, time.Minute, fast, Options{Tdr: tdr}, func(t *testing.T, dev port.Device, _ *serve.Board, s *System) {
		f(t, dev.(*storm), s)
	})
}

// TestStormOfAServedBoard: a board that sends a message each 100 µs is slow and no more.
func TestStormOfAServedBoard(t *testing.T) {
	inStorm(t, 2*time.Minute, func(t *testing.T, d *storm, s *System) {
		d.on.Store(true)
		frames, begun := 0, time.Now()
		for ; d.messages.Load() < 500; frames++ {
			composes(t, s, tinyPlan(t, 1))
		}
		t.Logf("%d messages in %v, %d frames", d.messages.Load(), time.Since(begun), frames)
	})
}

// TestHangInAStorm: a board that sends a message each 100 µs and does no work is a GPU
// that hangs. The host notices that when its time-out is over, and the error names the
// storm.
func TestHangInAStorm(t *testing.T) {
	const tdr, busy = 2 * time.Second, 20 * time.Second // a busy machine needs longer than the time-out
	inStorm(t, tdr, func(t *testing.T, d *storm, s *System) {
		c := newCopying(t, s)
		c.flush(1)
		c.check(1)
		d.withheld.Store(true)
		d.on.Store(true)
		begun := time.Now()
		c.flush(2)
		require.Error(t, c.ctx.Map(c.dst, 0, d3d11.MapRead, 0, new(d3d11.MappedSubresource)))
		took := time.Since(begun)
		assert.GreaterOrEqual(t, took, tdr)
		assert.Less(t, took, tdr+busy)
		var stopped *dxgkrnl.DeviceError
		require.ErrorAs(t, s.Err(), &stopped)
		assert.Equal(t, dxgkrnl.Timeout, stopped.Kind)
		assert.Greater(t, stopped.Storm, uint64(100))
		assert.Contains(t, stopped.Error(), "interrupt storm: ")
		t.Logf("after %v: %d messages since the last progress", took, stopped.Storm)
		c.dev.Close()
	})
}
