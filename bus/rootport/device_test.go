package rootport_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/bus/bustest"
	"github.com/hilgpu/hilgpu/bus/rootport"
	"github.com/hilgpu/hilgpu/bus/tlp"
)

// drain makes the root port receive all packets the device has sent.
func drain(t require.TestingT, r *rootport.RootPort) {
	_, err := r.Wait(r.Now() + 1e6)
	require.NoError(t, err)
}

// drawEnables returns random legal enables for dwords at addr (PCIe 3.0
// §2.2.5).
func drawEnables(t *rapid.T, addr uint64, dwords int) (first, last uint8) {
	any := rapid.Uint8Range(0, 15)
	some := rapid.Uint8Range(1, 15)
	switch {
	case dwords == 1:
		return any.Draw(t, "first"), 0
	case dwords == 2 && addr%8 == 0:
		return some.Draw(t, "first"), some.Draw(t, "last")
	}
	return rapid.SampledFrom([]uint8{15, 14, 12, 8}).Draw(t, "first"), rapid.SampledFrom([]uint8{1, 3, 7, 15}).Draw(t, "last")
}

// enabledBytes lists the offsets of the enabled bytes.
func enabledBytes(dwords int, first, last uint8) (at []int) {
	for i := range 4 * dwords {
		e := uint8(15)
		if i/4 == dwords-1 && dwords > 1 {
			e = last
		}
		if i/4 == 0 {
			e = first
		}
		if e>>(i%4)&1 != 0 {
			at = append(at, i)
		}
	}
	return at
}

func wide(k tlp.Kind, addr uint64) tlp.Kind {
	if addr>>32 != 0 {
		return k + 1
	}
	return k
}

// TestDeviceRead: the completions of any legal read have the bytes of host
// memory. Their byte counts, lower addresses and ends obey PCIe 3.0 §2.3.1.1,
// computed here byte by byte.
func TestDeviceRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := newFake(t)
		r, h := f.open(rootport.Options{})
		h.Base = rapid.SampledFrom([]uint64{1 << 20, 5 << 32}).Draw(t, "base")
		for i := range h.Mem {
			h.Mem[i] = byte(i*11 + i>>8)
		}
		dwords := rapid.IntRange(1, 512).Draw(t, "dwords")
		off := 4 * rapid.IntRange(0, 1024-dwords).Draw(t, "offset")
		addr := h.Base + uint64(off)
		first, last := drawEnables(t, addr, dwords)
		req := tlp.Packet{
			Kind: wide(tlp.MRd32, addr), Len: dwords, Requester: 0x100, Addr: addr, First: first, Last: last,
			Tag: rapid.Uint16Range(0, 255).Draw(t, "tag"), TC: rapid.Uint8Range(0, 7).Draw(t, "class"),
			Attr: tlp.Attr(rapid.Uint8Range(0, 7).Draw(t, "attributes")),
		}
		f.push(req)
		drain(t, r)

		at := enabledBytes(dwords, first, last)
		from, to := 0, 1 // for a flush
		if len(at) > 0 {
			from, to = at[0], at[len(at)-1]+1
		}
		next := 0 // offset of the next dword
		for i, c := range f.sent {
			require.Equal(t, tlp.CplD, c.Kind)
			require.Equal(t, req.Tag, c.Tag)
			require.Equal(t, req.Requester, c.Requester)
			require.Equal(t, req.TC, c.TC)
			require.Equal(t, req.Attr, c.Attr)
			require.Zero(t, c.Completer)
			start := max(from, next)
			require.Equal(t, to-start, c.ByteCount, "completion %d", i)
			require.EqualValues(t, (addr+uint64(start))&0x7f, c.Lower, "completion %d", i)
			require.LessOrEqual(t, 4*c.Len, 128)
			for k := start; k < min(to, next+4*c.Len) && len(at) > 0; k++ {
				require.Equal(t, h.Mem[off+k], c.Data[k-next], "byte %d", k)
			}
			if next += 4 * c.Len; next < 4*dwords {
				require.Zero(t, (addr+uint64(next))%64, "completion %d ends at %#x", i, addr+uint64(next))
			}
		}
		require.Equal(t, 4*dwords, next)
	})
}

// TestDeviceWrite: a write changes exactly the enabled bytes.
func TestDeviceWrite(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := newFake(t)
		r, h := f.open(rootport.Options{})
		h.Base = rapid.SampledFrom([]uint64{1 << 20, 5 << 32}).Draw(t, "base")
		want := slices.Clone(h.Mem)
		for range rapid.IntRange(1, 8).Draw(t, "writes") {
			dwords := rapid.IntRange(1, 32).Draw(t, "dwords")
			off := 4 * rapid.IntRange(0, 1024-dwords).Draw(t, "offset")
			first, last := drawEnables(t, h.Base+uint64(off), dwords)
			data := rapid.SliceOfN(rapid.Byte(), 4*dwords, 4*dwords).Draw(t, "data")
			for _, i := range enabledBytes(dwords, first, last) {
				want[off+i] = data[i]
			}
			addr := h.Base + uint64(off)
			f.push(tlp.Packet{Kind: wide(tlp.MWr32, addr), Len: dwords, Requester: 0x100, Addr: addr, First: first, Last: last, Data: data})
		}
		drain(t, r)
		require.Equal(t, want, h.Mem)
		require.Empty(t, f.sent)
		require.Zero(t, r.Stats().Refused)
	})
}

// TestDeviceRefused: an illegal request of the device is refused, counted, and
// completed if it is non-posted.
func TestDeviceRefused(t *testing.T) {
	const in, out = 1 << 20, 0x1000
	read := tlp.Packet{Kind: tlp.MRd32, Len: 1, Requester: 0x100, Tag: 7, First: 15, Addr: out}
	write := tlp.Packet{Kind: tlp.MWr32, Len: 1, Requester: 0x100, First: 15, Addr: out, Data: []byte{1, 2, 3, 4}}
	with := func(p tlp.Packet, f func(p *tlp.Packet)) []byte {
		f(&p)
		b, err := p.Append(nil)
		require.NoError(t, err)
		return b
	}
	same := func(*tlp.Packet) {}
	ur := []tlp.Packet{{Kind: tlp.Cpl, Requester: 0x100, Tag: 7, Status: tlp.UR, ByteCount: 4}}
	for _, tt := range []struct {
		name   string
		packet []byte
		why    rootport.Reason
		answer []tlp.Packet
	}{
		{"read outside of memory", with(read, same), rootport.NoMemory, ur},
		{"read over the end", with(read, func(p *tlp.Packet) { p.Addr, p.Len, p.Last = in+8192-4, 1, 0; p.Addr += 4 }), rootport.NoMemory, ur},
		{"write outside of memory", with(write, same), rootport.NoMemory, nil},
		{"poisoned write", with(write, func(p *tlp.Packet) { p.Addr, p.EP = in, true }), rootport.Poisoned, nil},
		{"write of 256 bytes", with(write, func(p *tlp.Packet) { p.Addr, p.Len, p.Last, p.Data = in, 64, 15, make([]byte, 256) }), rootport.TooLong, nil},
		{"configuration read", with(read, func(p *tlp.Packet) { p.Kind, p.Addr = tlp.CfgRd0, 0 }), rootport.Unsupported, ur},
		{"configuration write", with(write, func(p *tlp.Packet) { p.Kind, p.Addr, p.Tag = tlp.CfgWr0, 0, 7 }), rootport.Unsupported, ur},
		{"read of I/O space", []byte{2, 0, 0, 1, 1, 0, 7, 15, 0, 0, 0x10, 0}, rootport.Unsupported, ur},
		{"vendor-defined message 0", with(tlp.Packet{Kind: tlp.Msg, Requester: 0x100, Code: tlp.Vendor0}, same), rootport.Unsupported, nil},
		{"power management message", []byte{0x30, 0, 0, 0, 1, 0, 0, 0x18, 0, 0, 0, 0, 0, 0, 0, 0}, rootport.Unsupported, nil},
		{"short", []byte{0, 0, 0, 1}, rootport.Malformed, nil},
		{"empty", []byte{}, rootport.Malformed, nil},
		{"reserved type", make([]byte, 12), rootport.Malformed, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.name == "reserved type" {
				tt.packet[0] = 0x1f
			}
			f := newFake(t)
			r, h := f.open(rootport.Options{})
			f.inbox = append(f.inbox, slices.Clone(tt.packet))
			drain(t, r)
			assert.Equal(t, tt.answer, f.sent)
			st := r.Stats()
			assert.EqualValues(t, 1, st.Refused[tt.why], "%v", st)
			assert.Contains(t, st.Refusal, tt.why.String())
			assert.Equal(t, make([]byte, len(h.Mem)), h.Mem)
			assert.NoError(t, r.Read(0, 0, make([]byte, 4)))
		})
	}
}

// TestTagInUse: a second read with the tag of an outstanding one is dropped,
// and so is a read beyond the limit.
func TestTagInUse(t *testing.T) {
	f := newFake(t)
	r, h := f.open(rootport.Options{})
	f.full = func(c tlp.Class) bool { return c == tlp.Completion }
	read := tlp.Packet{Kind: tlp.MRd32, Len: 1, Requester: 0x100, First: 15, Addr: h.Base}
	f.push(read)
	f.push(read)
	drain(t, r)
	assert.EqualValues(t, 1, r.Stats().Refused[rootport.TagInUse])
	for tag := range uint16(255) {
		read.Tag = tag + 1
		f.push(read)
	}
	drain(t, r)
	assert.EqualValues(t, 1, r.Stats().Refused[rootport.TagInUse])
	read.Requester = 0x101
	f.push(read)
	drain(t, r)
	assert.EqualValues(t, 2, r.Stats().Refused[rootport.TagInUse])
	f.full = nil
	drain(t, r)
	assert.Len(t, f.sent, 256)
	f.push(read)
	drain(t, r)
	assert.Len(t, f.sent, 257, "the tag is free again")
}

// TestSnapshot: a read returns the memory contents at its arrival, even if the
// port has no room for its completion and a later write has arrived.
func TestSnapshot(t *testing.T) {
	f := newFake(t)
	r, h := f.open(rootport.Options{})
	f.full = func(c tlp.Class) bool { return c == tlp.Completion }
	f.push(tlp.Packet{Kind: tlp.MRd32, Len: 1, Requester: 0x100, First: 15, Addr: h.Base})
	f.push(tlp.Packet{Kind: tlp.MWr32, Len: 1, Requester: 0x100, First: 15, Addr: h.Base, Data: []byte{1, 2, 3, 4}})
	drain(t, r)
	assert.Equal(t, []byte{1, 2, 3, 4}, h.Mem[:4])
	f.full = nil
	drain(t, r)
	require.Len(t, f.sent, 1)
	assert.Equal(t, make([]byte, 4), f.sent[0].Data)
}

// TestMessages: a message ends a wait, whichever call receives it, and arrives
// after its data.
func TestMessages(t *testing.T) {
	f := newFake(t)
	r, h := f.open(rootport.Options{})
	data := tlp.Packet{Kind: tlp.MWr32, Len: 1, Requester: 0x100, First: 15, Addr: h.Base, Data: []byte{1, 2, 3, 4}}
	message := data
	message.Addr, message.Data = bustest.MessageBase+4, []byte{5, 0, 0, 0}
	h.Probe = func() { assert.Equal(t, []byte{1, 2, 3, 4}, h.Mem[:4]) }

	f.push(data)
	f.push(message)
	f.push(tlp.Packet{Kind: tlp.Msg, Requester: 0x100, Code: tlp.AssertINTA, Route: tlp.Local})
	f.push(tlp.Packet{Kind: tlp.Msg, Requester: 0x100, Code: tlp.Vendor1})
	require.NoError(t, r.Read(0, 0, make([]byte, 4)))
	require.Equal(t, []bustest.Message{{Addr: bustest.MessageBase + 4, Data: []byte{5, 0, 0, 0}}}, h.Messages())
	before := f.now
	event, err := r.Wait(r.Now() + 1e9)
	require.NoError(t, err)
	assert.True(t, event)
	assert.Equal(t, before, f.now, "it arrived before the wait")

	event, err = r.Wait(r.Now() + 1000)
	assert.False(t, event)
	assert.NoError(t, err)
	assert.EqualValues(t, before+1000, f.now)

	f.push(message)
	event, err = r.Wait(^uint64(0))
	assert.True(t, event)
	assert.NoError(t, err)
	st := r.Stats()
	assert.EqualValues(t, 2, st.Messages)
	assert.EqualValues(t, 1, st.INTx)
	assert.Zero(t, st.Refused)
}

// A blocking port waits in Receive until it is closed.
type blocking struct {
	*fake
	closing chan struct{}
}

func (b blocking) Receive(time.Duration) ([]byte, error) {
	<-b.closing
	return nil, fmt.Errorf("%w: closed", bus.ErrLinkDown)
}

func (b blocking) Close() error {
	close(b.closing)
	return nil
}

// TestCloseEndsWait: Close on another goroutine ends a call that waits.
func TestCloseEndsWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := blocking{newFake(t), make(chan struct{})}
		r, err := rootport.New(func() (rootport.Port, error) { return b, nil }, nil, rootport.Options{})
		require.NoError(t, err)
		done := make(chan error)
		go func() {
			_, err := r.Wait(1e12)
			done <- err
		}()
		synctest.Wait()
		require.NoError(t, r.Close())
		assert.ErrorIs(t, <-done, bus.ErrClosed)
	})
}

// TestObserver: the observer sees each packet once, in order.
func TestObserver(t *testing.T) {
	f := newFake(t)
	var got []string
	var bytes [2]uint64
	r, h := f.open(rootport.Options{Observer: func(dir rootport.Dir, at time.Duration, packet []byte) {
		var p tlp.Packet
		require.NoError(t, p.Decode(packet))
		got = append(got, fmt.Sprintf("%v %v", dir, p.Kind))
		bytes[dir] += uint64(len(packet))
		assert.Equal(t, f.now, at)
	}})
	got = nil
	f.push(tlp.Packet{Kind: tlp.MRd32, Len: 1, Requester: 0x100, First: 15, Addr: h.Base})
	require.NoError(t, r.Read(0, 0, make([]byte, 4)))
	require.NoError(t, r.Write(0, 0, make([]byte, 4)))
	assert.Equal(t, []string{"down MRd32", "up MRd32", "down CplD", "up CplD", "down MWr32"}, got)
	st := r.Stats()
	assert.Equal(t, bytes, st.Bytes)
	assert.EqualValues(t, len(f.sent), st.TLPs[rootport.Down]-7, "without the six BARs and the first read")
}
