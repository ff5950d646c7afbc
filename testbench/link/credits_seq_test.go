package link

import (
	"encoding/binary"
	"hash/crc32"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/port"
)

// TestSequencerMoreCredits: a GPU that the host has granted too little continues when the host grants more, and
// in the next session.
func TestSequencerMoreCredits(t *testing.T) {
	c := newCounted(t)
	writes := func() (n int) {
		for range 4 {
			if c.gpu.Req.Kind == port.None {
				c.gpu.Req, c.left = port.Request{Kind: port.MemWrite, Len: 4, Addr: 0x1000}, 2
				c.gpu.Beat = port.Beat{Valid: true, Enable: 255}
			}
			c.run(200)
			for _, f := range c.sent() {
				require.Equal(t, byte(0x40), packetOf(f)[0])
				n++
				c.send(number(0, uint16(f[0]&15)<<8|uint16(f[1])+1), c.epoch, 20)
			}
		}
		return n
	}
	session := func(nonce uint32, grants ...uint16) {
		c.control(7, 1)
		require.Equal(t, port.None, c.gpu.Req.Kind, "a request that waits is lost")
		c.sent()
		c.send(hello(nonce, grants...), helloWord, 5000)
		c.epoch = crc32.ChecksumIEEE(c.sent()[0][22:30])
		c.control(3, 0)
		c.sent()
	}
	credit := func(limits ...uint16) {
		b := []byte{2 << 4, 0}
		for _, l := range limits {
			b = binary.BigEndian.AppendUint16(b, l)
		}
		c.send(append(b, make([]byte, 14-len(b))...), c.epoch, 100)
		c.sent()
	}
	session(9, 2, 600)
	require.Equal(t, 2, writes())
	credit(3, 600)
	require.Equal(t, 1, writes(), "a header more")
	session(10, 1, 600)
	require.Equal(t, 1, writes())
	session(11, 0, 9)
	require.Equal(t, 2, writes(), "each write takes a unit of data, and 8 must be left")
	credit(0, 9+1)
	require.Equal(t, 1, writes(), "a unit more")
	reads := func() (n int) {
		for range 4 {
			c.gpu.Req = port.Request{Kind: port.MemRead, Tag: uint8(n), Len: 2, Addr: 0x1000}
			c.run(200)
			for _, f := range c.sent() {
				require.Equal(t, byte(0), packetOf(f)[0])
				n++
				c.send(number(0, uint16(f[0]&15)<<8|uint16(f[1])+1), c.epoch, 20)
			}
		}
		return n
	}
	session(12)
	c.gpu.Req = port.Request{Kind: port.MemRead, Len: 2, Addr: 0x1000}
	c.run(200)
	require.Len(t, c.sent(), 1)
	c.send(append([]byte{2 << 4, 1}, make([]byte, 12)...), c.epoch, 1000)
	require.Empty(t, c.sent(), "credits have an acknowledgement too")
	session(12, 0, 0, 3)
	require.Equal(t, 3, reads())
	credit(0, 0, 5)
	require.Equal(t, 2, reads())
	session(13, 0, 0, 256)
	for range 64 {
		require.Equal(t, 4, reads())
	}
	require.Zero(t, reads(), "256 headers are no byte")
	session(14)
	require.Equal(t, 4, reads())
	session(15)
	require.Equal(t, 4, writes(), "without limits")
}
