package link

import (
	"bytes"
	"hash/crc32"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/bus/datalink"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/link/linkport"
)

// longHello returns a hello with n bytes of fixed fields, and its options.
func longHello(n int, options ...byte) []byte {
	h := append(hello(9), make([]byte, max(n-40, 0))...)
	h[2] = byte(n)
	return append(h, options...)
}

// largest returns a hello of a host that takes packets of n bytes.
func largest(n int) []byte {
	h := hello(9)
	h[4], h[5] = byte(n>>8), byte(n)
	return h
}

// TestSequencerHellos: fixed fields of a hello are 40 to 64 bytes (docs/design.md "Link layers"). A hello
// with others is refused and counted, and has no answer.
func TestSequencerHellos(t *testing.T) {
	for _, tt := range []struct {
		name   string
		body   []byte
		offers bool
	}{
		{"40 bytes", longHello(40), true},
		{"41 bytes", longHello(41), true},
		{"64 bytes", longHello(64), true},
		{"64 bytes and options", longHello(64, 1, 0, 200, 3, 1, 2, 3), true},
		{"65 bytes", longHello(65), false},
		{"65 bytes and options", longHello(65, 1, 0, 200), false},
		{"66 bytes", longHello(66), false},
		{"100 bytes", longHello(100), false},
		{"39 bytes", longHello(39), false},
		{"another version, 41 bytes", append([]byte{5 << 4, datalink.Version + 1}, hello(9)[2:41]...), false},
		{"a byte less than it tells", longHello(64)[:65], false},
		{"packets of 143 bytes", largest(143), false},
		{"packets of 144 bytes", largest(144), true},
		{"packets of 256 bytes", largest(256), true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := newCounted(t)
			c.count = counts{}
			c.send(tt.body, helloWord, 5000)
			f := c.sent()
			if !tt.offers {
				assert.Empty(t, f)
				assert.Equal(t, counts{refused: 1}, c.count)
				return
			}
			assert.Zero(t, c.count)
			require.Len(t, f, 1)
			assert.Equal(t, []byte{6 << 4, datalink.Version, 40}, f[0][:3])
			assert.Equal(t, tt.body[22:26], f[0][22:26])
		})
	}
}

// TestSequencerNumbers: half of the numbers of data frames, of 12 bits, are old ones, which are
// acknowledged again. The others are beyond a gap, and a Nak asks for what is missing.
func TestSequencerNumbers(t *testing.T) {
	for _, before := range []uint16{0, 3} {
		for _, tt := range []struct {
			ahead uint16
			old   bool
		}{
			{1, false}, {2, false}, {0x0ff, false}, {0x100, false}, {0x3ff, false}, {0x400, false}, {0x7fe, false}, {0x7ff, false},
			{0x800, true}, {0x801, true}, {0xbff, true}, {0xc00, true}, {0xf00, true}, {0xffe, true}, {0xfff, true},
		} {
			c := newCounted(t)
			for range before {
				c.data(0, write...)
			}
			c.count, c.frames, c.reqs = counts{}, nil, nil
			c.data(int(tt.ahead), write...)
			want, head := counts{refused: 1, naks: 1}, number(1, before)
			if tt.old {
				want, head = counts{refused: 1}, number(0, before)
			}
			assert.Equal(t, want, c.count, "%#x after %d", tt.ahead, before)
			assert.Equal(t, [][]byte{checked(head, c.epoch)}, c.frames, "%#x after %d", tt.ahead, before)
			assert.Empty(t, c.reqs)
		}
	}
}

// TestSequencerAcks: an acknowledgement has all 12 bits of a number, alone or with the answer to a read, after
// which none follows alone.
func TestSequencerAcks(t *testing.T) {
	c := newCounted(t)
	for range 300 {
		c.send(append(number(8, c.next), write...), c.epoch, 150)
		c.next++
	}
	require.Equal(t, checked(number(0, 300), c.epoch), c.frames[len(c.frames)-1])
	c.frames = nil
	c.gpu.Cpl = port.Completion{Status: port.CplSuccess, Last: true}
	c.data(0, unhex("000000017e7e010f"+"00001000")...)
	c.run(100)
	require.Equal(t, [][]byte{c.want(0xc, 0, "4a000001"+"0000"+"0004"+"7e7e"+"01"+"00"+"00000000")}, c.frames)
}

// TestSequencerFailsShort: the completion of a read of a dword that fails has a byte count of 4, also
// after a long read that fails.
func TestSequencerFailsShort(t *testing.T) {
	c := newCounted(t)
	c.place("0100", 0)
	fails := port.Completion{Status: port.CplUnsupported, Last: true}
	c.gpu.Cpl = fails
	c.data(0, unhex("000000807e7e01ff"+"00001000")...)
	require.Equal(t, [][]byte{c.want(0xc, 1, "0a000000"+"0100"+"2200"+"7e7e"+"01"+"00")}, c.sent())
	c.control(0, 2)
	c.gpu.Cpl = fails
	c.short()
	require.Equal(t, [][]byte{c.want(0xc, 2, "0a000000"+"0100"+"2004"+"0000"+"21"+"08")}, c.sent())
}

// TestSequencerCredits: the GPU writes as much as the host has granted, which may be more than a byte
// counts (PCIe 3.0 §2.6.1: a credit of data is 16 bytes). A write waits for the credits of the longest one.
func TestSequencerCredits(t *testing.T) {
	for _, tt := range []struct {
		grants []uint16 // posted headers and data
		dwords int
		want   int
	}{
		{[]uint16{260}, 1, 260}, {[]uint16{0, 600}, 32, 75}, {[]uint16{3, 600}, 32, 3}, {[]uint16{0, 7}, 1, 0},
		{[]uint16{256}, 1, 256}, {[]uint16{0, 512}, 32, 64},
	} {
		c := newCounted(t)
		c.send(hello(9, tt.grants...), helloWord, 5000)
		c.epoch = crc32.ChecksumIEEE(c.sent()[0][22:30])
		c.control(3, 0)
		c.sent()
		n := 0
		for range tt.want + 5 {
			if c.gpu.Req.Kind == port.None {
				c.gpu.Req = port.Request{Kind: port.MemWrite, Len: uint8(tt.dwords), Addr: 0x1000}
				c.left = (tt.dwords + 1) / 2
				c.gpu.Beat = port.Beat{Valid: true, Last: c.left == 1, Enable: 15}
				if tt.dwords > 1 {
					c.gpu.Beat.Enable = 255
				}
			}
			c.run(130 + 12*tt.dwords)
			n += len(c.sent())
			c.send(number(0, uint16(n)), c.epoch, 20)
		}
		assert.Equal(t, tt.want, n, "%v", tt.grants)
	}
}

// TestSequencerFallBackWaits: a frame that is on the line when the time of a rate has passed leaves at
// that rate.
func TestSequencerFallBackWaits(t *testing.T) {
	r := newRated(t)
	r.says(message(msgAsk, 230_400), message(msgYes, 230_400))
	r.ticks(390)
	r.isAt(1)
	r.held = true
	r.send(hello(5), helloWord, 5000/r.pace)
	r.ticks(100)
	require.Empty(t, r.frames)
	r.isAt(1)
	r.held = false
	for len(r.line.sent) == 0 {
		require.Less(t, r.clock, 1_000_000)
		r.isAt(1)
		r.tick(linkport.Piece{})
	}
	r.ticks(10)
	r.isAt(0)
	require.Len(t, r.frames, 1)
	require.Equal(t, byte(6<<4), r.frames[0][0])
}

// TestSequencerSilenceAgain: a session ends 512 ticks after its last frame, wherever the last
// silence ended.
func TestSequencerSilenceAgain(t *testing.T) {
	for _, before := range []int{1, 100, 255, 256, 300, 490} {
		c := newCounted(t)
		pass := func(ticks int) { c.run(ticks * seqTick / c.pace) }
		pass(before)
		c.control(4, 0)
		pass(500)
		require.True(t, c.m.Status().Up, "after %d ticks", before)
		pass(10)
		require.False(t, c.m.Status().Up, "after %d ticks", before)
		require.True(t, bytes.Contains(c.frames[len(c.frames)-1], []byte{7 << 4, 3}))
	}
}

// TestSequencerSameHost: a host whose session has ended begins another one with the same nonce.
func TestSequencerSameHost(t *testing.T) {
	c := newCounted(t)
	first := c.epoch
	c.control(7, 1)
	require.False(t, c.m.Status().Up)
	c.begin(1)
	require.NotEqual(t, first, c.epoch)
	c.data(0, write...)
	require.Len(t, c.reqs, 1)
}

// TestSequencerFailures: a completion without data ends a read of the GPU with its status (PCIe 3.0
// §2.3.2), and so does a poisoned one.
func TestSequencerFailures(t *testing.T) {
	for _, tt := range []struct {
		name, packet string
		status       port.Status
	}{
		{"unsupported", "0a000000" + "00002008" + "00000300", port.CplUnsupported},
		{"aborted", "0a000000" + "00008008" + "00000300", port.CplAbort},
		{"reserved status", "0a000000" + "0000e008" + "00000300", port.CplAbort},
		{"poisoned", "4a004002" + "00000008" + "00000300" + "1122334455667788", port.CplAbort},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := newCounted(t)
			c.reads()
			c.control(0, 1)
			c.data(0, unhex(tt.packet)...)
			require.Len(t, c.cpls, 1)
			c.cpls[0].Data = 0 // it has no meaning
			assert.Equal(t, port.Completion{Tag: 3, Status: tt.status, Last: true}, c.cpls[0])
			c.data(0, unhex(tt.packet)...)
			assert.Len(t, c.cpls, 1, "the read has ended")
		})
	}
}

// TestSequencerFlush: a read of no bytes is a read of the register Command, whatever its address, and is
// answered once. It is not supported while the function does not decode memory.
func TestSequencerFlush(t *testing.T) {
	c := newCounted(t)
	c.place("0100", 0)
	c.gpu.Cpl = port.Completion{Status: port.CplSuccess, Last: true, Data: 2 << 32}
	c.reqs = nil
	c.data(0, unhex("200000017e7e0100"+"a5a6a7a8"+"b9babcbc")...)
	require.Equal(t, []port.Request{{Kind: port.CfgRead, Len: 1, Addr: 4}}, c.reqs)
	require.Equal(t, [][]byte{c.want(0xc, 1, "4a000001"+"0100"+"0001"+"7e7e"+"01"+"3c"+"00000000")}, c.sent())
	c.control(0, 2)
	c.gpu.Cpl = port.Completion{Status: port.CplSuccess, Last: true, Data: 0xfffd << 32} // all but the decoding of memory
	c.data(0, unhex("200000017e7e0100"+"a5a6a7a8"+"b9babcbc")...)
	require.Equal(t, [][]byte{c.want(0xc, 2, "0a000000"+"0100"+"2001"+"7e7e"+"01"+"3c")}, c.sent())
}

// TestSequencerHeld: a line that takes nothing for a time loses nothing of the session.
func TestSequencerHeld(t *testing.T) {
	c := newCounted(t)
	c.data(0, write...)
	c.held, c.frames = true, nil
	for range 100 {
		c.control(3, 0)
	}
	c.held = false
	c.run(500)
	require.NotEmpty(t, c.frames)
	for _, f := range c.frames {
		require.Equal(t, checked(number(4, 1), c.epoch), f)
	}
	c.data(0, write...)
	require.Len(t, c.reqs, 2)
}

// TestSequencerReplayTime: an acknowledgement begins the time of the frame after it anew.
func TestSequencerReplayTime(t *testing.T) {
	c := newCounted(t)
	for tag := range uint8(2) {
		c.gpu.Req = port.Request{Kind: port.MemRead, Tag: tag, Len: 2, Addr: 0x1000}
		c.run(100)
	}
	require.Len(t, c.sent(), 2)
	c.run(5 * seqTick / c.pace)
	c.control(0, 1) // 4 ticks
	c.run(2 * seqTick / c.pace)
	require.Empty(t, c.sent())
	c.run(5 * seqTick / c.pace)
	require.Len(t, c.sent(), 1)
}
