package link

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/link/linkport"
)

// TestSequencerNaksAtOnce: a Nak that follows another one in the same tick is answered by the replay that has
// just been sent.
func TestSequencerNaksAtOnce(t *testing.T) {
	c := newCounted(t)
	c.reads()
	c.run(3 * seqTick / c.pace)
	for c.line.both.Clocks()%seqTick > 8 {
		c.run(1)
	}
	c.count = counts{}
	c.send([]byte{1 << 4, 0}, c.epoch, 0)
	c.send([]byte{1 << 4, 0}, c.epoch, 0)
	require.Less(t, c.line.both.Clocks()%seqTick, uint64(seqTick/2))
	c.run(2 * seqTick / c.pace)
	assert.Equal(t, counts{repeated: 1}, c.count)
	c.control(1, 0)
	assert.Equal(t, counts{repeated: 2}, c.count)
}

// TestSequencerReadWhileOffered: the tag of a read that the GPU offers does not change the answers of its
// target port, in each part of a read of the host.
func TestSequencerReadWhileOffered(t *testing.T) {
	for _, tag := range []uint8{1, 2, 4, 8, 15, 32, 47} {
		c := newCounted(t)
		c.place("0100", 0)
		c.data(0, unhex("000000047e7e01ff"+"00001000")...)
		want := "4a000004" + "0100" + "0010" + "7e7e" + "01" + "00"
		c.gpu.Req = port.Request{Kind: port.MemRead, Tag: tag, Len: 2, Addr: 0x3000}
		for _, last := range []bool{false, true} {
			c.gpu.Cpl = port.Completion{Status: port.CplSuccess, Last: last, Data: 0x0807060504030201}
			want += "0102030405060708"
			for c.gpu.Cpl.Status != port.CplNone {
				require.Less(t, c.clock, 100_000)
				c.run(1)
			}
		}
		first := c.want(0xc, 1, want)
		c.run(400)
		f := c.sent()
		require.Len(t, f, 2, "tag %d", tag)
		assert.Equal(t, first, f[0])
		assert.Equal(t, tag, f[1][4+6])
	}
}

// TestSequencerConfigFails: a read of the configuration that fails is acknowledged by its completion.
func TestSequencerConfigFails(t *testing.T) {
	for _, tt := range []struct {
		status port.Status
		want   string
	}{{port.CplUnsupported, "20"}, {port.CplAbort, "80"}} {
		c := newCounted(t)
		c.place("0100", 0)
		c.gpu.Cpl = port.Completion{Status: tt.status, Last: true}
		c.data(0, configRead...)
		assert.Equal(t, [][]byte{c.want(0xc, 1, "0a000000"+"0100"+tt.want+"04"+"0000"+"01"+"00")}, c.sent())
		c.control(0, 2)
		c.gpu.Cpl = port.Completion{Status: port.CplSuccess, Last: true, Data: 0x44332211}
		c.data(0, configRead...)
		assert.Equal(t, [][]byte{c.want(0xf, 2, "c0"+"01"+"00"+"11223344")}, c.sent())
	}
}

// TestSequencerConfigLong: the short completion has no requester and no upper bits of a tag, so a read of the
// configuration with any of them has the long one.
func TestSequencerConfigLong(t *testing.T) {
	for n, bit := range []byte{1: 0x80, 4: 0x40, 5: 0x04} {
		if bit == 0 {
			continue
		}
		c := newCounted(t)
		c.place("0100", 0)
		c.gpu.Cpl = port.Completion{Status: port.CplSuccess, Last: true, Data: 0x44332211}
		p := unhex("04000001000001" + "0f" + "01000000")
		p[n] |= bit
		c.data(0, p...)
		f := c.sent()
		require.Len(t, f, 1)
		assert.Equal(t, byte(0xc0), f[0][0], "byte %d", n)
		want := unhex("4a000001" + "0100" + "0004" + "0000" + "01" + "00" + "11223344")
		if n < 4 {
			want[n] |= bit
		} else {
			want[n+4] |= bit
		}
		assert.Equal(t, want, packetOf(f[0]), "byte %d", n)
	}
}

// TestSequencerParkedReplays: while a completion is parked, the frame in flight is sent again after its time,
// and a Ping is answered.
func TestSequencerParkedReplays(t *testing.T) {
	p := newParked(t)
	p.asks(1, 15)
	p.gpu = answers(0x55, true)
	p.run(200)
	p.same()
	p.run(1000)
	p.same(p.want(0xc, 1, "00000002"+"0100"+"03"+"ff"+"00001000"))
	p.send([]byte{3 << 4, 0}, p.epoch, 50)
	p.same(checked(number(4, p.next), p.epoch))
	p.gpu = linkport.GPU{}
	p.control(0, 2)
	p.same(p.want(0xc, 2, "4a000001"+"0100"+"0004"+"7e7e"+"01"+"00"+"55000000"))
}

// TestSequencerLostOnce: one Nak asks for a frame that was dropped after a request that waits, and later frames
// need none.
func TestSequencerLostOnce(t *testing.T) {
	c := newCounted(t)
	c.gpu.Cpl = port.Completion{Status: port.CplSuccess, Last: true}
	c.reads()
	c.count = counts{}
	c.send(append(number(8, 0), configRead...), c.epoch, 250)
	c.send(append(number(8, 1), write...), c.epoch, 250)
	c.control(0, 1)
	c.control(0, 2)
	c.next = 1
	c.gpu.Req = port.Request{Kind: port.MemRead, Tag: 4, Len: 2, Addr: 0x1000}
	c.run(200)
	assert.Equal(t, port.None, c.gpu.Req.Kind, "no request waits any more")
	c.control(0, 3)
	for range 4 {
		c.data(0, write...)
		c.run(2 * seqTick)
	}
	assert.Len(t, c.reqs, 1+4)
	assert.Equal(t, 1, c.count.naks)
}

// TestSequencerNoTag: a header of form 1 without a tag is one of the tag 0, whatever tag the packet before it had.
func TestSequencerNoTag(t *testing.T) {
	c := newCounted(t)
	c.place("0208", 0)
	c.dev = &memory{t: t, bytes: map[uint64]byte{}}
	c.data(0, unhex("000000017e7e550f"+"00001000")...)
	require.Len(t, c.sent(), 1)
	c.control(0, 2)
	c.send(append(number(9, c.next), unhex("48"+"03"+"10")...), c.epoch, 500) // two bytes of the dword at 0x1000
	c.next++
	f := c.sent()
	require.Len(t, f, 1)
	assert.Equal(t, unhex("0000"+"00"+"00"), packetOf(f[0])[8:12])
}

// TestSequencerWide: a request of the GPU has the long header if any byte of its address is beyond 32 bits.
func TestSequencerWide(t *testing.T) {
	c := newCounted(t)
	for n, addr := range []uint64{0x1000, 1<<32 | 0x1000, 1<<40 | 0x1000, 1<<48 | 0x1000, 1<<56 | 0x1000} {
		c.gpu.Req = port.Request{Kind: port.MemRead, Tag: uint8(n), Len: 1, Addr: addr}
		c.run(200)
		f := c.sent()
		require.Len(t, f, 1)
		want := binary.BigEndian.AppendUint64(unhex("200000010000000f"), addr)
		if addr>>32 == 0 {
			want = binary.BigEndian.AppendUint32(unhex("000000010000000f"), uint32(addr))
		}
		want[6] = byte(n)
		assert.Equal(t, want, packetOf(f[0]))
		c.control(0, byte(n+1))
	}
}

// TestSequencerAckWhileHeld: a frame that has not been sent, since the line is busy, is not lost with the
// acknowledgement of the frame before it, in either slot.
func TestSequencerAckWhileHeld(t *testing.T) {
	for before := range uint16(2) {
		c := newCounted(t)
		for n := range before {
			c.reads()
			c.send(number(0, n+1), c.epoch, 40)
		}
		c.reads()
		c.held = true
		for range 100 {
			c.send([]byte{3 << 4, 0}, c.epoch, 40)
		}
		c.gpu.Req = port.Request{Kind: port.MemRead, Tag: 4, Len: 2, Addr: 0x1000}
		c.run(40)
		require.Equal(t, port.None, c.gpu.Req.Kind)
		c.send(number(0, before+1), c.epoch, 40)
		c.held = false
		released := c.line.both.Clocks()
		for sent := false; !sent; c.run(1) {
			for _, f := range c.sent() {
				sent = sent || f[0] == 0xc0 && uint16(f[1]) == before+1
			}
			require.Less(t, c.line.both.Clocks()-released, uint64(4*seqTick), "before the time of a replay")
		}
	}
}

// TestSequencerShortAddress: a read in form 1 has zeros in the bytes of its address that it leaves out, whatever
// address the request before it had.
func TestSequencerShortAddress(t *testing.T) {
	for _, tt := range []struct {
		body string // groups, and the tag and the address in them
		addr uint64
	}{{"84" + "21" + "08", 8}, {"44" + "21" + "10", 0x1000}, {"24" + "21" + "20", 0x200000}, {"14" + "21" + "30", 0x30000000}, {"04" + "21", 0}} {
		c := newCounted(t)
		c.place("0100", 0)
		c.dev = &memory{t: t, bytes: map[uint64]byte{}}
		c.data(0, unhex("2000000100000007"+"a1a2a3a4"+"b5b6b7b8")...)
		require.Len(t, c.sent(), 1)
		c.control(0, 2)
		d := &recording{memory: memory{t: t, bytes: map[uint64]byte{}}}
		c.dev = d
		c.send(append(number(9, c.next), unhex(tt.body)...), c.epoch, 500)
		c.next++
		assert.Equal(t, []port.Request{{Kind: port.MemRead, Len: 1, Addr: tt.addr}}, d.reqs, "%s", tt.body)
	}
}

// A recording is a memory with its requests, of which none fails.
type recording struct {
	memory
	reqs []port.Request
}

// Tick implements port.Device.
func (d *recording) Tick(req port.Request, beat port.Beat, cplReady bool, cpl port.Completion, reqReady, dataReady bool) {
	if _, ready, _ := d.Target(); ready && req.Kind != port.None {
		d.reqs = append(d.reqs, req)
	}
	req.Addr &^= 3 << 16
	d.memory.Tick(req, beat, cplReady, cpl, reqReady, dataReady)
}

// TestSequencerCarries: the second part of a read is at the next address, in all bytes of it.
func TestSequencerCarries(t *testing.T) {
	for _, end := range []uint64{0x1100, 1 << 16, 1 << 24, 1 << 32, 1 << 40, 1 << 48, 1 << 56} {
		c := newCounted(t)
		c.place("0100", 0)
		d := &recording{memory: memory{t: t, bytes: map[uint64]byte{}}}
		c.dev = d
		header := unhex("200000217e7e01ff")
		if end-128 < 1<<32 {
			header = append(unhex("000000217e7e01ff"), binary.BigEndian.AppendUint64(nil, end-128)[4:]...)
		} else {
			header = binary.BigEndian.AppendUint64(header, end-128)
		}
		c.data(0, header...)
		c.control(0, 3)
		require.Len(t, d.reqs, 2)
		assert.Equal(t, []uint64{end - 128, end}, []uint64{d.reqs[0].Addr, d.reqs[1].Addr})
	}
}
