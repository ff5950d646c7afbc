package mac

import (
	"encoding/binary"
	"hash/crc32"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const station = 0x02_11_22_33_44_55

var (
	own   = []byte{2, 0x11, 0x22, 0x33, 0x44, 0x55}
	all   = []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}
	other = []byte{2, 0x11, 0x22, 0x33, 0x44, 0x54}
	group = []byte{1, 0, 0x5e, 0, 0, 1}
)

// frame returns a frame of n bytes to an address, with its FCS as hash/crc32 has it.
func frame(r *rand.Rand, to []byte, n int) []byte {
	f := append([]byte(nil), to...)
	for len(f) < n-4 {
		f = append(f, uint8(r.Uint32()))
	}
	f = f[:max(0, n-4)]
	return binary.LittleEndian.AppendUint32(f, crc32.ChecksumIEEE(f))[:n]
}

// carrier returns what the PHY receives.
func carrier(before int, f []byte) []Byte {
	var in []Byte
	for range before {
		in = append(in, Byte{Valid: true, Data: 0x55})
	}
	in = append(in, Byte{Valid: true, Data: 0xd5})
	for _, b := range f {
		in = append(in, Byte{Valid: true, Data: b})
	}
	return append(in, Byte{Valid: true, End: true})
}

// A result is what the receiver has given.
type result struct {
	data      []byte
	good      bool
	ended     bool
	broadcast bool
	events    Events
}

// receive gives the receiver bytes, with pauses if r is not nil.
func receive(t *testing.T, m *Receiver, in []Byte, r *rand.Rand) result {
	t.Helper()
	var out result
	n := 0
	for i := 0; i < len(in)+1; {
		b := Byte{}
		if i == len(in) || r == nil || r.IntN(3) != 0 {
			if i < len(in) {
				b = in[i]
			}
			i++
		} else {
			b.Data, b.End, b.Error = uint8(r.Uint32()), r.IntN(2) == 0, r.IntN(2) == 0 // not valid
		}
		m.Tick(b)
		switch body := m.Body(); {
		case body.Valid:
			require.False(t, body.End)
			require.False(t, out.ended)
			out.data = append(out.data, body.Data)
			out.broadcast = body.Broadcast
		case body.End:
			out.ended, out.good = true, body.Good
		}
		if e := m.Events(); e != (Events{}) {
			n++
			out.events = e
		}
	}
	require.Equal(t, 1, n, "one event for a carrier")
	return out
}

// TestSizes has frames of all sizes around the limits.
func TestSizes(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	sizes := []int{1000, 1600, 2047, 2048, 2049, 4000, 9000}
	for n := range 80 {
		sizes = append(sizes, n, 1480+n)
	}
	m := NewReceiver(station)
	for _, n := range sizes {
		f := frame(r, own, n)
		got := receive(t, &m, carrier(7, f), nil)
		want := Events{Runt: n < 64, Oversized: n > 1518, Good: n >= 64 && n <= 1518}
		require.Equal(t, want, got.events, "%d bytes", n)
		require.Equal(t, want.Good, got.good, "%d bytes", n)
		if want.Good {
			require.Equal(t, f[6:], got.data)
		}
		require.LessOrEqual(t, len(got.data), 1518-6)
		next := frame(r, all, 64)
		got = receive(t, &m, carrier(7, next), nil)
		require.Equal(t, result{next[6:], true, true, true, Events{Good: true}}, got, "after %d bytes", n)
	}
}

// TestFilter has the addresses.
func TestFilter(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 1))
	m := NewReceiver(station)
	for _, tt := range []struct {
		name string
		to   []byte
		want Events
	}{{"own", own, Events{Good: true}}, {"all", all, Events{Good: true}}, {"other", other, Events{Filtered: true}}, {"group", group, Events{Filtered: true}}} {
		for _, pauses := range []*rand.Rand{nil, r} {
			f := frame(r, tt.to, 100)
			got := receive(t, &m, carrier(7, f), pauses)
			require.Equal(t, tt.want, got.events, tt.name)
			require.Equal(t, tt.want.Good, got.ended)
			if tt.want.Good {
				require.Equal(t, f[6:], got.data)
			} else {
				require.Empty(t, got.data)
			}
		}
	}
	for i := range 48 {
		to := append([]byte(nil), own...)
		to[i/8] ^= 1 << (i % 8)
		require.Equal(t, Events{Filtered: true}, receive(t, &m, carrier(7, frame(r, to, 64)), nil).events, "bit %d", i)
		to = append([]byte(nil), all...)
		to[i/8] ^= 1 << (i % 8)
		require.Equal(t, Events{Filtered: true}, receive(t, &m, carrier(7, frame(r, to, 64)), nil).events, "bit %d", i)
	}
}

// TestDamage has a wrong bit, an error of the PHY and a lost carrier at each byte of a frame.
func TestDamage(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 1))
	m := NewReceiver(station)
	for i := range 100 {
		f := frame(r, own, 100)
		in := carrier(7, f)
		in[8+i].Data ^= 1 << r.IntN(8)
		got := receive(t, &m, in, nil)
		require.Equal(t, Events{Bad: true}, got.events, "byte %d", i)
		require.False(t, got.good)

		lost := carrier(7, f[:i])
		require.Equal(t, Events{Runt: i < 64, Bad: i >= 64}, receive(t, &m, lost, nil).events, "byte %d", i)
		require.Equal(t, Events{Good: true}, receive(t, &m, carrier(7, f), nil).events, "after byte %d", i)
	}
	for i := range carrier(7, frame(r, own, 64)) { // also in the preamble and at the end
		in := carrier(7, frame(r, own, 64))
		in[i].Error = true
		require.Equal(t, Events{Bad: true}, receive(t, &m, in, nil).events, "an error at %d", i)
	}
}

// TestPreamble: a PHY may lose bytes of the preamble. Other bytes before the delimiter make it
// noise.
func TestPreamble(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 1))
	m := NewReceiver(station)
	f := frame(r, own, 64)
	for before := range 20 {
		require.Equal(t, Events{Good: true}, receive(t, &m, carrier(before, f), nil).events, "%d bytes", before)
	}
	for i := range 7 {
		in := carrier(7, f)
		in[i].Data = 0x5d
		require.Equal(t, Events{Runt: true}, receive(t, &m, in, nil).events)
		require.Equal(t, Events{Good: true}, receive(t, &m, carrier(7, f), nil).events)
	}
	require.Equal(t, Events{Runt: true}, receive(t, &m, []Byte{{Valid: true, Data: 0x55}, {Valid: true, End: true}}, nil).events)
	require.Equal(t, Events{Runt: true}, receive(t, &m, []Byte{{Valid: true, End: true}}, nil).events)
}

func TestReceiverReset(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 1))
	f := frame(r, own, 64)
	for n := range 70 {
		m := NewReceiver(station)
		for _, b := range carrier(7, f)[:n] {
			m.Tick(b)
		}
		m.Reset()
		require.Equal(t, Body{}, m.Body())
		require.Equal(t, Events{}, m.Events())
		m.Tick(Byte{Valid: true, End: true})
		require.Equal(t, Events{Good: true}, receive(t, &m, carrier(7, f), nil).events, "%d", n)
	}
	assert.Panics(t, func() { NewReceiver(1 << 40) }, "a group")
	assert.Panics(t, func() { NewReceiver(0) })
	assert.Panics(t, func() { NewReceiver(1 << 48) })
}

// send offers frames without FCS, each when the one before it is taken, and returns the
// symbols that a PHY takes, which is slow if r is not nil.
func send(t *testing.T, m *Transmitter, frames [][]byte, clocks int, r *rand.Rand) []Symbol {
	t.Helper()
	var out []Symbol
	for range clocks {
		valid, data, last := len(frames) > 0, uint8(0xa5), true
		if valid {
			data, last = frames[0][0], len(frames[0]) == 1
		}
		ready := r == nil || r.IntN(3) == 0
		there, s := m.Symbol()
		takes := m.Ready()
		require.Equal(t, takes, m.Ready())
		m.Tick(valid, data, last, ready)
		if takes {
			require.True(t, valid)
			if frames[0] = frames[0][1:]; last {
				frames = frames[1:]
			}
		}
		if there && ready {
			out = append(out, s)
		}
	}
	require.Empty(t, frames)
	return out
}

// symbols are those of a frame by IEEE 802.3: preamble, delimiter, frame, padding, FCS, and a
// gap of 96 bits.
func symbols(f []byte) []Symbol {
	f = append([]byte(nil), f...)
	for len(f) < 60 {
		f = append(f, 0)
	}
	f = binary.LittleEndian.AppendUint32(f, crc32.ChecksumIEEE(f))
	var out []Symbol
	for _, b := range append([]byte{0x55, 0x55, 0x55, 0x55, 0x55, 0x55, 0x55, 0xd5}, f...) {
		out = append(out, Symbol{Enable: true, Data: b})
	}
	out[len(out)-1].Last = true
	return append(out, make([]Symbol, 12)...)
}

// TestTransmit sends frames of many sizes, one after another, without a clock between them.
func TestTransmit(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 1))
	var frames [][]byte
	var want []Symbol
	for _, n := range []int{1, 2, 14, 58, 59, 60, 61, 62, 100, 1513, 1514, 1, 60, 59} {
		f := make([]byte, n)
		for i := range f {
			f[i] = uint8(r.Uint32())
		}
		frames, want = append(frames, f), append(want, symbols(f)...)
	}
	m := NewTransmitter()
	require.Equal(t, want, send(t, &m, append([][]byte(nil), frames...), len(want)+2, nil), "a symbol in each clock")
	m = NewTransmitter()
	require.Equal(t, want, send(t, &m, append([][]byte(nil), frames...), 4*len(want), r), "to a slow PHY")
}

func TestTransmitterReset(t *testing.T) {
	f := []byte{1, 2, 3}
	for n := range 100 {
		m := NewTransmitter()
		for range n {
			m.Tick(true, 9, false, true)
		}
		m.Reset()
		there, _ := m.Symbol()
		require.False(t, there)
		require.False(t, m.Ready())
		require.Equal(t, symbols(f), send(t, &m, [][]byte{f}, 200, nil), "%d", n)
	}
}

// A late byte and a frame above the limit are assertions.
func TestMisuse(t *testing.T) {
	m := NewTransmitter()
	for range 20 {
		m.Tick(true, 1, false, true)
	}
	assert.PanicsWithValue(t, "hdl: assertion failed: mac: a frame has no byte", func() { m.Tick(false, 0, false, true) })
	m = NewTransmitter()
	assert.PanicsWithValue(t, "hdl: assertion failed: mac: a frame above the limit", func() {
		for range 1600 {
			m.Tick(true, 1, false, true)
		}
	})
}
