package rootport_test

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/bus/rootport"
	"github.com/hilgpu/hilgpu/bus/tlp"
)

// TestBadCompletions: a completion that does not match its request fails the
// request, is counted and reported, and none of its data is used.
func TestBadCompletions(t *testing.T) {
	const n = 128 // two completions of 64 bytes
	change := func(i int, f func(p *tlp.Packet)) func([]tlp.Packet) []tlp.Packet {
		return func(all []tlp.Packet) []tlp.Packet {
			f(&all[i])
			return all
		}
	}
	alone := func(f func(p *tlp.Packet)) func([]tlp.Packet) []tlp.Packet {
		return func(all []tlp.Packet) []tlp.Packet {
			f(&all[0])
			return all[:1]
		}
	}
	for _, tt := range []struct {
		name string
		lie  func(honest []tlp.Packet) []tlp.Packet
		why  rootport.Reason
		says string
	}{
		{"byte count too small", change(0, func(p *tlp.Packet) { p.ByteCount = 64 }), rootport.Mismatch, "byte count 64, want 128"},
		{"byte count too large", change(0, func(p *tlp.Packet) { p.ByteCount = 256 }), rootport.Mismatch, "byte count 256, want 128"},
		{"byte count of the first again", change(1, func(p *tlp.Packet) { p.ByteCount = 128 }), rootport.Mismatch, "byte count 128, want 64"},
		{"lower address off by 4", change(0, func(p *tlp.Packet) { p.Lower += 4 }), rootport.Mismatch, "lower address 0x04, want 0x00"},
		{"lower address of the first again", change(1, func(p *tlp.Packet) { p.Lower = 0 }), rootport.Mismatch, "lower address 0x00, want 0x40"},
		{"ends between boundaries", change(0, func(p *tlp.Packet) { p.Len, p.Data = 8, p.Data[:32] }), rootport.Mismatch, "32 of 128 bytes, which does not end at a multiple of 64"},
		{"second before first", func(h []tlp.Packet) []tlp.Packet { return []tlp.Packet{h[1], h[0]} }, rootport.Mismatch, "byte count 64, want 128"},
		{"first twice", func(h []tlp.Packet) []tlp.Packet { return []tlp.Packet{h[0], h[0]} }, rootport.Mismatch, "byte count 128, want 64"},
		{"no data", func(h []tlp.Packet) []tlp.Packet {
			return []tlp.Packet{{Kind: tlp.Cpl, Completer: 0x100, ByteCount: n, Tag: h[0].Tag}}
		}, rootport.Mismatch, "success without the data"},
		{"another class", change(0, func(p *tlp.Packet) { p.TC = 1 }), rootport.Mismatch, "class, attributes or BCM"},
		{"another attribute", change(0, func(p *tlp.Packet) { p.Attr = tlp.NoSnoop }), rootport.Mismatch, "class, attributes or BCM"},
		{"byte count modified", change(0, func(p *tlp.Packet) { p.BCM = true }), rootport.Mismatch, "class, attributes or BCM"},
		{"foreign tag", alone(func(p *tlp.Packet) { p.Tag ^= 0x40 }), rootport.Unexpected, "no outstanding request"},
		{"tag of ten bits", alone(func(p *tlp.Packet) { p.Tag |= 0x100 }), rootport.Unexpected, "no outstanding request"},
		{"foreign requester", alone(func(p *tlp.Packet) { p.Requester = 0x200 }), rootport.Unexpected, "no outstanding request"},
		{"poisoned", change(1, func(p *tlp.Packet) { p.EP = true }), rootport.Poisoned, "poisoned"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newFake(t)
			f.fill()
			r, _ := f.open(rootport.Options{})
			f.answer = func(_ tlp.Packet, honest []tlp.Packet) []tlp.Packet { return tt.lie(honest) }
			p := bytes.Repeat([]byte{0xee}, n)
			err := r.Read(2, 0, p)
			require.Error(t, err)
			if tt.why == rootport.Mismatch {
				assert.ErrorIs(t, err, rootport.ErrProtocol)
				assert.ErrorContains(t, err, tt.says)
			}
			if tt.why == rootport.Unexpected {
				assert.ErrorIs(t, err, bus.ErrTimeout)
			}
			assert.False(t, errors.Is(err, bus.ErrLinkDown))
			for i, v := range p {
				if v != 0xee && v != f.mem[i] {
					t.Fatalf("byte %d is %#02x, which was not sent for it", i, v)
				}
			}
			st := r.Stats()
			assert.NotZero(t, st.Refused[tt.why])
			assert.Contains(t, st.Refusal, tt.says)

			f.answer = nil
			require.NoError(t, r.Read(2, 0x100, p), "the next one")
			assert.Equal(t, f.mem[0x100:0x180], p)
		})
	}
}

// TestBadConfigurationCompletions is the same for configuration requests.
func TestBadConfigurationCompletions(t *testing.T) {
	data := tlp.Packet{Kind: tlp.CplD, Len: 1, Completer: 0x100, ByteCount: 4, Data: []byte{1, 2, 3, 4}}
	for _, tt := range []struct {
		name  string
		write bool
		lie   func(p *tlp.Packet)
		says  string
	}{
		{"byte count", false, func(p *tlp.Packet) { p.ByteCount = 3 }, "byte count 3, want 4"},
		{"lower address", false, func(p *tlp.Packet) { p.Lower = 4 }, "lower address 0x04, want 0x00"},
		{"data for a write", true, func(*tlp.Packet) {}, "data for a write"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newFake(t)
			r, _ := f.open(rootport.Options{})
			f.answer = func(req tlp.Packet, _ []tlp.Packet) []tlp.Packet {
				lie := data
				lie.Tag = req.Tag
				tt.lie(&lie)
				return []tlp.Packet{lie}
			}
			var err error
			if tt.write {
				err = r.WriteConfig(0x40, 5)
			} else {
				_, err = r.ReadConfig(0x40)
			}
			assert.ErrorIs(t, err, rootport.ErrProtocol)
			assert.ErrorContains(t, err, tt.says)
		})
	}
}

// TestPayloadOfCompletion: a completion longer than allowed is refused.
func TestPayloadOfCompletion(t *testing.T) {
	f := newFake(t)
	r, _ := f.open(rootport.Options{MaxReadRequest: 256})
	f.answer = func(req tlp.Packet, honest []tlp.Packet) []tlp.Packet {
		p := honest[0]
		p.Len, p.Data = 64, f.mem[:256]
		return []tlp.Packet{p}
	}
	err := r.Read(2, 0, make([]byte, 256))
	assert.ErrorIs(t, err, rootport.ErrProtocol)
	assert.ErrorContains(t, err, "payload of 256 bytes, want at most 128")
}

// TestUnexpectedCompletion: a completion without a request has no effect.
func TestUnexpectedCompletion(t *testing.T) {
	f := newFake(t)
	f.fill()
	r, _ := f.open(rootport.Options{})
	for tag := range uint16(256) {
		f.push(tlp.Packet{Kind: tlp.CplD, Len: 1, Completer: 0x100, ByteCount: 4, Tag: tag, Data: []byte{1, 2, 3, 4}})
	}
	_, err := r.Wait(r.Now() + 1e6)
	require.NoError(t, err)
	assert.EqualValues(t, 256, r.Stats().Refused[rootport.Unexpected])
	p := make([]byte, 4)
	require.NoError(t, r.Read(0, 0x40, p))
	assert.Equal(t, f.mem[0x40:0x44], p)
}

// TestReopen: a new session uses the board's current addresses, and no
// completion of an earlier session matches a request of the new one.
func TestReopen(t *testing.T) {
	f := newFake(t)
	f.fill()
	var dialed []*fake
	broken := errors.New("no answer")
	refuse := false
	r, err := rootport.New(func() (rootport.Port, error) {
		if refuse {
			return nil, broken
		}
		g := newFake(t)
		g.fill()
		dialed = append(dialed, g)
		return g, nil
	}, nil, rootport.Options{})
	require.NoError(t, err)
	p := make([]byte, 4)
	require.NoError(t, r.Read(0, 0, p))

	old := dialed[0]
	var late []tlp.Packet
	old.answer = func(_ tlp.Packet, honest []tlp.Packet) []tlp.Packet {
		late = honest
		old.down = fmt.Errorf("%w: unplugged", bus.ErrLinkDown)
		return nil
	}
	first := r.Read(0, 0x80, p)
	require.ErrorIs(t, first, bus.ErrLinkDown)
	require.ErrorContains(t, first, "unplugged")
	_, again := r.ReadConfig(0)
	assert.Equal(t, first, again, "the first cause stays")
	_, again = r.Wait(r.Now() + 100)
	assert.Equal(t, first, again)

	refuse = true
	err = r.Reopen()
	assert.ErrorIs(t, err, bus.ErrLinkDown)
	assert.ErrorIs(t, err, broken)
	assert.Equal(t, err, r.Write(0, 0, p))
	refuse = false
	before := r.Now()
	require.NoError(t, r.Reopen())
	assert.GreaterOrEqual(t, r.Now(), before, "time does not go backwards")
	assert.NotZero(t, old.closed)

	g := dialed[1]
	g.cfg[0x10] = 0x70000000 // the board was reset
	for _, l := range late {
		l.Data = []byte{9, 9, 9, 9}
		g.push(l)
	}
	require.NoError(t, r.Read(0, 0x84, p))
	assert.Equal(t, g.mem[0x84:0x88], p)
	assert.EqualValues(t, 0x70000084, g.sent[len(g.sent)-1].Addr)
	assert.EqualValues(t, 1, r.Stats().Refused[rootport.Unexpected])
	assert.EqualValues(t, 2, r.Stats().Sessions)

	require.NoError(t, r.Close())
	require.NoError(t, r.Close())
	assert.Equal(t, 1, g.closed)
	assert.ErrorIs(t, r.Reopen(), bus.ErrClosed)
	assert.ErrorIs(t, r.Read(0, 0, p), bus.ErrClosed)
}

// An error of the port that does not wrap ErrLinkDown takes the link down all
// the same.
func TestPortFails(t *testing.T) {
	f := newFake(t)
	r, _ := f.open(rootport.Options{})
	f.down = errors.New("input/output error")
	err := r.Write(0, 0, make([]byte, 4))
	assert.ErrorIs(t, err, bus.ErrLinkDown)
	assert.ErrorIs(t, err, f.down)
}
