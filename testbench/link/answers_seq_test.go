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
