package rootport_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/bus/rootport"
	"github.com/hilgpu/hilgpu/bus/tlp"
)

// TestOutcomes: each completion status and the error of the call.
func TestOutcomes(t *testing.T) {
	status := func(s tlp.Status) func(tlp.Packet, []tlp.Packet) []tlp.Packet {
		return func(req tlp.Packet, _ []tlp.Packet) []tlp.Packet { return []tlp.Packet{req.Reply(0x100, s)} }
	}
	poison := func(_ tlp.Packet, honest []tlp.Packet) []tlp.Packet {
		honest[0].EP = true
		return honest
	}
	silent := func(tlp.Packet, []tlp.Packet) []tlp.Packet { return nil }
	p := make([]byte, 4)
	read := func(r *rootport.RootPort) error { return r.Read(0, 0x10, p) }
	cfg := func(r *rootport.RootPort) error { _, err := r.ReadConfig(0x40); return err }
	set := func(r *rootport.RootPort) error { return r.WriteConfig(0x40, 1) }
	for _, tt := range []struct {
		name   string
		answer func(tlp.Packet, []tlp.Packet) []tlp.Packet
		call   func(r *rootport.RootPort) error
		want   error
		says   string
	}{
		{"unsupported", status(tlp.UR), read, bus.ErrUnsupported, "bus: unsupported request: read of 4 bytes at BAR 0 offset 0x10"},
		{"reserved status", status(5), read, bus.ErrUnsupported, ""},
		{"abort", status(tlp.CA), read, bus.ErrAbort, "bus: completer abort: read of 4 bytes at BAR 0 offset 0x10"},
		{"poisoned", poison, read, rootport.ErrPoisoned, "bus: completer abort: poisoned data: read of 4 bytes at BAR 0 offset 0x10"},
		{"poisoned is an abort", poison, read, bus.ErrAbort, ""},
		{"silence", silent, read, bus.ErrTimeout, "bus: completion time-out: read of 4 bytes at BAR 0 offset 0x10: no completion for 1s"},
		{"configuration unsupported", status(tlp.UR), cfg, bus.ErrUnsupported, "bus: unsupported request: configuration read at 0x40"},
		{"configuration poisoned", poison, cfg, rootport.ErrPoisoned, ""},
		{"configuration silent", silent, set, bus.ErrTimeout, "bus: completion time-out: configuration write at 0x40: no completion for 1s"},
		{"never ready", status(tlp.CRS), cfg, bus.ErrTimeout, "bus: completion time-out: configuration read at 0x40: the function is not ready"},
		{"never ready to write", status(tlp.CRS), set, bus.ErrTimeout, ""},
		{"retry of a memory read", status(tlp.CRS), read, rootport.ErrProtocol, "retry status for a memory read"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newFake(t)
			r, _ := f.open(rootport.Options{})
			f.answer = tt.answer
			before := f.now
			err := tt.call(r)
			assert.ErrorIs(t, err, tt.want)
			assert.ErrorContains(t, err, tt.says)
			assert.LessOrEqual(t, f.now-before, time.Second+time.Millisecond)
			f.answer = nil
			assert.NoError(t, tt.call(r), "the next one")
		})
	}
}

// TestRetry: a request is repeated until the function is ready.
func TestRetry(t *testing.T) {
	f := newFake(t)
	r, _ := f.open(rootport.Options{})
	f.cfg[0x40] = 0x12345678
	not := 5
	f.answer = func(req tlp.Packet, honest []tlp.Packet) []tlp.Packet {
		if not--; not >= 0 {
			return []tlp.Packet{req.Reply(0x100, tlp.CRS)}
		}
		return honest
	}
	v, err := r.ReadConfig(0x40)
	require.NoError(t, err)
	assert.EqualValues(t, 0x12345678, v)
	assert.EqualValues(t, 5, r.Stats().Retries)
}

// TestFirstError: after the first error of a call no more requests are sent,
// the others are awaited, and the error names the lowest address that failed.
func TestFirstError(t *testing.T) {
	f := newFake(t)
	r, _ := f.open(rootport.Options{Tags: 4})
	var held []tlp.Packet
	f.answer = func(req tlp.Packet, honest []tlp.Packet) []tlp.Packet {
		held = append(held, honest...)
		if len(f.sent) < 4 {
			return nil
		}
		all := []tlp.Packet{f.sent[2].Reply(0x100, tlp.CA), f.sent[1].Reply(0x100, tlp.CA)}
		return append(append(all, held[:2]...), held[6:]...)
	}
	err := r.Read(2, 0x1000, make([]byte, 2048))
	assert.ErrorIs(t, err, bus.ErrAbort)
	assert.ErrorContains(t, err, "read of 128 bytes at BAR 2 offset 0x1080, in a read of 2048")
	assert.Len(t, f.sent, 4)
	assert.Empty(t, f.inbox)
}

// TestSlowPort: the time that the port needs for a request, its answer and those before
// it comes on top of the time-out.
func TestSlowPort(t *testing.T) {
	f := newFake(t)
	f.perByte = time.Millisecond
	r, _ := f.open(rootport.Options{Tags: 2})
	f.answer = func(tlp.Packet, []tlp.Packet) []tlp.Packet { return nil }
	start := f.Now()
	require.ErrorIs(t, r.Read(2, 0, make([]byte, 8)), bus.ErrTimeout)
	assert.InDelta(t, (time.Second + (8+24)*time.Millisecond).Seconds(), (f.Now() - start).Seconds(), 0.001)
	start = f.Now()
	require.ErrorIs(t, r.Read(2, 0, make([]byte, 256)), bus.ErrTimeout)
	assert.InDelta(t, (time.Second + 2*(128+24)*time.Millisecond).Seconds(), (f.Now() - start).Seconds(), 0.001)
}

// TestTimeout: a late completion is dropped by its tag, which stays reserved
// until then. The link goes down when all tags are lost.
func TestTimeout(t *testing.T) {
	f := newFake(t)
	f.fill()
	r, _ := f.open(rootport.Options{TagBits: 5, Timeout: 100 * time.Millisecond})
	silent := true
	var owed []tlp.Packet
	f.answer = func(_ tlp.Packet, honest []tlp.Packet) []tlp.Packet {
		if silent {
			owed = append(owed, honest...)
			return nil
		}
		return honest
	}
	p := make([]byte, 128)
	for range 3 {
		start := f.now
		require.ErrorIs(t, r.Read(2, 0, p), bus.ErrTimeout)
		assert.Equal(t, 100*time.Millisecond, f.now-start)
	}
	lost := map[uint16]bool{}
	for _, p := range f.sent {
		lost[p.Tag] = true
	}
	require.Len(t, lost, 3)
	silent, f.sent = false, nil
	for range 100 {
		require.NoError(t, r.Read(0, 0x200, p[:4]))
		require.Equal(t, f.mem[0x200:0x204], p[:4])
	}
	for _, p := range f.sent {
		require.False(t, lost[p.Tag], "tag %d may still be answered", p.Tag)
	}

	for _, late := range owed {
		f.push(late)
	}
	require.NoError(t, r.Read(0, 0x300, p[:4]))
	require.Equal(t, f.mem[0x300:0x304], p[:4])
	st := r.Stats()
	assert.EqualValues(t, 3, st.Timeouts)
	assert.EqualValues(t, 6, st.Late)
	assert.Zero(t, st.Refused, st.Refusal)

	silent = true
	for range 32 {
		require.ErrorIs(t, r.Read(0, 0, p[:4]), bus.ErrTimeout)
	}
	err := r.Read(0, 0, p[:4])
	assert.ErrorIs(t, err, bus.ErrLinkDown)
	assert.ErrorContains(t, err, "all 32 tags wait")
	_, again := r.ReadConfig(0)
	assert.Equal(t, err, again)
}

// TestQuarantine: with a quarantine a lost tag is used again after that time, and not
// before. The link does not run out of tags.
func TestQuarantine(t *testing.T) {
	f := newFake(t)
	f.fill()
	r, _ := f.open(rootport.Options{TagBits: 5, Timeout: 100 * time.Millisecond, Quarantine: time.Second})
	p := make([]byte, 4)
	for range 50 { // more than there are tags
		f.answer = func(tlp.Packet, []tlp.Packet) []tlp.Packet { return nil }
		f.sent = nil
		require.ErrorIs(t, r.Read(0, 0, p), bus.ErrTimeout)
		require.Len(t, f.sent, 1)
		lost, at := f.sent[0].Tag, f.now
		f.answer = nil
		used := func() (n int) {
			f.sent = nil
			for range 32 {
				require.NoError(t, r.Read(0, 0x200, p))
				require.Equal(t, f.mem[0x200:0x204], p)
			}
			for _, q := range f.sent {
				if q.Tag == lost {
					n++
				}
			}
			return n
		}
		require.Zero(t, used())
		f.now = at + time.Second - 100*time.Microsecond
		require.Zero(t, used())
		f.now = at + time.Second
		require.Equal(t, 1, used())
	}
	_, err := rootport.New(nil, nil, rootport.Options{Quarantine: -1})
	require.ErrorIs(t, err, rootport.ErrOptions)
}
