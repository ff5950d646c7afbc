package link

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/port"
)

// asked is a session whose GPU has read n dwords at an address, as 01:00.0, with the tag 3.
func asked(t *testing.T, addr uint64, n uint8) *counted {
	c := newCounted(t)
	c.place("0100", 0)
	c.asks(1, addr, n)
	return c
}

// asks makes the GPU read with the tag 3, in a frame with a number, which is acknowledged.
func (c *counted) asks(number byte, addr uint64, n uint8) {
	c.gpu.Req = port.Request{Kind: port.MemRead, Tag: 3, Len: n, Addr: addr}
	c.run(200)
	require.Len(c.t, c.sent(), 1)
	c.control(0, number+1)
	c.count, c.cpls = counts{}, nil
}

// part returns a completion of dwords for the read at an address, of which some were due. Byte i of
// the read has the value i.
func part(addr uint64, from, dwords, due int) []byte {
	p := unhex("4a0000000000000001000300")[:12:12]
	p[3], p[7], p[11] = byte(dwords), byte(4*due), byte(addr+4*uint64(from))&0x7f
	for i := range 4 * dwords {
		p = append(p, byte(4*from+i))
	}
	return p
}

// gets requires the completions of a read of n dwords at an address, which ends, from some dword on.
func (c *counted) gets(addr uint64, from, n int) {
	c.t.Helper()
	dword := from
	for i, cpl := range c.cpls {
		require.Equal(c.t, port.CplSuccess, cpl.Status)
		require.Equal(c.t, uint8(3), cpl.Tag)
		require.Equal(c.t, i == len(c.cpls)-1, cpl.Last)
		for lane := (addr/4 + uint64(dword)) & 1; lane < 2 && dword < n; lane++ {
			b := byte(4 * dword)
			require.Equal(c.t, binary.LittleEndian.Uint32([]byte{b, b + 1, b + 2, b + 3}), uint32(cpl.Data>>(32*lane)), "dword %d", dword)
			dword++
		}
	}
	require.Equal(c.t, n, dword)
}

// TestSequencerRefusesCompletions: a completion that is not what is due to a read of the GPU (PCIe 3.0
// §2.2.9, §2.3.1.1) does not reach the GPU. It is counted, and the right one arrives afterwards.
func TestSequencerRefusesCompletions(t *testing.T) {
	const addr, n = 0x1004, 4
	for _, tt := range []struct {
		name   string
		change func(p []byte) []byte
	}{
		{"a byte count of a dword more", func(p []byte) []byte { p[7] += 4; return p }},
		{"a byte count of a dword less", func(p []byte) []byte { p[7] -= 4; return p }},
		{"a byte count of 256 more", func(p []byte) []byte { p[6]++; return p }},
		{"a lower address of the next dword", func(p []byte) []byte { p[11] += 4; return p }},
		{"a lower address of the dword before", func(p []byte) []byte { p[11] -= 4; return p }},
		{"a lower address 64 bytes on", func(p []byte) []byte { p[11] += 64; return p }},
		{"a lower address with a bit more", func(p []byte) []byte { p[11] |= 0x80; return p }},
		{"another bus", func(p []byte) []byte { p[8]++; return p }},
		{"another function", func(p []byte) []byte { p[9]++; return p }},
		{"another tag", func(p []byte) []byte { p[10]--; return p }},
		{"a tag that the GPU has not, of bit 4", func(p []byte) []byte { p[10] |= 0x10; return p }},
		{"a tag that the GPU has not, of bit 6", func(p []byte) []byte { p[10] |= 0x40; return p }},
		{"the tag of a read that has expired", func(p []byte) []byte { p[10] |= 0x80; return p }},
		{"a dword more than is due", func(p []byte) []byte { p[3]++; return append(p, 1, 2, 3, 4) }},
		{"an end before a multiple of 64 bytes", func(p []byte) []byte { p[3]--; return p[:len(p)-4] }},
		{"too little data", func(p []byte) []byte { return p[:len(p)-4] }},
		{"too much data", func(p []byte) []byte { return append(p, 1, 2, 3, 4) }},
		{"a length of 260 with 4 dwords", func(p []byte) []byte { p[2]++; return p }},
		{"of a locked read", func(p []byte) []byte { p[0]++; return p }},
		{"a failed one for another tag", func(p []byte) []byte { p[0], p[3], p[6], p[10] = 0x0a, 0, 0x20, 4; return p[:12] }},
		{"a failed one for another bus", func(p []byte) []byte { p[0], p[3], p[6], p[8] = 0x0a, 0, 0x20, 2; return p[:12] }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := asked(t, addr, n)
			c.data(0, tt.change(part(addr, 0, n, n))...)
			assert.Empty(t, c.cpls)
			assert.Equal(t, counts{packets: 1}, c.count)
			c.data(0, part(addr, 0, n, n)...)
			c.gets(addr, 0, n)
		})
	}
}

// TestSequencerSplits: the answer to a read of any length at any address may come in two completions,
// of which the first one ends at a multiple of 64 bytes (PCIe 3.0 §2.3.1.1). Each dword arrives once.
func TestSequencerSplits(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 29))
	c := newCounted(t)
	c.place("0100", 0)
	splits := 0
	for i := range 200 {
		n := 1 + r.IntN(32)
		addr := uint64(r.IntN(1<<20))<<7 + uint64(4*r.IntN(33-n))
		c.asks(byte(1+i), addr, uint8(n))
		first := n
		if to := int(16 - addr/4%16); to < n {
			first = to
			splits++
		}
		c.data(0, part(addr, 0, first, n)...)
		if first < n {
			for _, cpl := range c.cpls {
				require.False(t, cpl.Last)
			}
			c.data(0, part(addr, 0, first, n)...) // the first part again
			require.Equal(t, counts{packets: 1}, c.count)
			c.data(0, part(addr, first, n-first, n-first)...)
		}
		c.gets(addr, 0, n)
	}
	require.Greater(t, splits, 30)
}

// TestSequencerReadsLong: a read of the host may have up to 1,024 dwords, which a length of 0 stands for. Each
// part has the bytes that are left and its own address, and the parts have all the data (PCIe 3.0 §2.2.9).
func TestSequencerReadsLong(t *testing.T) {
	for _, n := range []int{64, 255, 256, 257, 512, 1024} {
		c := newCounted(t)
		d := &memory{t: t, bytes: map[uint64]byte{}}
		c.place("0100", 0)
		c.dev = d
		p := unhex("000000007e7e01ff" + "00001000")
		p[2], p[3] = byte(n>>8)&3, byte(n)
		c.data(0, p...)
		left, addr, next := 4*n, uint64(0x1000), uint16(1)
		for left > 0 {
			require.Less(t, c.clock, 4_000_000)
			for _, f := range c.sent() {
				if binary.BigEndian.Uint16(f)&0xfff != next&0xfff {
					continue // it is repeated
				}
				next++
				q := packetOf(f)
				require.Equal(t, byte(0x4a), q[0])
				require.Equal(t, left&0xfff, int(binary.BigEndian.Uint16(q[6:])&0xfff), "of %d dwords", n)
				require.Equal(t, byte(addr)&0x7f, q[11])
				require.Len(t, q, 12+4*(int(q[2]&3)<<8|int(q[3])))
				for _, v := range q[12:] {
					require.Equal(t, d.load(addr), v)
					addr, left = addr+1, left-1
				}
			}
			c.send(number(0, next), c.epoch, 300)
		}
		require.Empty(t, c.sent())
	}
}
