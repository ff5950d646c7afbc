package link

import (
	"hash/crc32"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/bus/datalink"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/link"
	"github.com/hilgpu/hilgpu/rtl/link/linkport"
)

// A counted is the sequencer with a host that sends what it likes, in a session. next is the
// number of its next data frame.
type counted struct {
	*bench
	m        *link.Module
	line     *byteEnd
	received int
	next     uint16
}

func newCounted(t *testing.T) *counted {
	m := freshSeq().(*link.Module)
	c := &counted{bench: newBench(t, busy), m: m, line: newByteEnd(m, &alone{link: m}, 2)}
	c.link, c.pace = c.line, 4
	c.each = func() { c.add(m.Status()) }
	c.begin(1)
	return c
}

func (c *counted) add(s linkport.Status) {
	c.count.add(s)
	if s.Received {
		c.received++
	}
}

// begin begins a session with a Ping.
func (c *counted) begin(nonce uint32) {
	c.send(hello(nonce), helloWord, 5000)
	for _, f := range c.sent() {
		if f[0]>>4 == 6 {
			c.epoch = crc32.ChecksumIEEE(f[22:30])
		}
	}
	c.send([]byte{3 << 4, 0}, c.epoch, 1000)
	require.True(c.t, c.m.Status().Up)
	c.sent()
	c.next = 0
}

// control sends a control frame.
func (c *counted) control(kind, low byte) { c.send([]byte{kind << 4, low}, c.epoch, 500) }

// data sends a packet in a frame with a number relative to the next one.
func (c *counted) data(ahead int, packet ...byte) {
	c.send(append(number(8, (c.next+uint16(ahead))&0xfff), packet...), c.epoch, 700)
	if ahead == 0 {
		c.next++
	}
}

// write is a write of a dword.
var write = unhex("40000001000000" + "0f" + "00001000" + "11223344")

// configRead is a read of the ID. It makes the function the requester of the GPU's reads.
var configRead = unhex("04000001000001" + "0f" + "00000000")

// reads makes the GPU read, and the board send a frame.
func (c *counted) reads() {
	c.gpu.Req = port.Request{Kind: port.MemRead, Tag: 3, Len: 2, Addr: 0x1000}
	c.run(200)
	require.Len(c.t, c.sent(), 1)
}

// TestSequencerCounts: each event of the sequencer is counted once, and nothing else is.
func TestSequencerCounts(t *testing.T) {
	version := hello(9)
	version[1] = datalink.Version + 1
	flagged := hello(9)
	flagged[3] = 1
	for _, tt := range []struct {
		name     string
		do       func(c *counted)
		received int
		count    counts
	}{
		{"nothing", func(c *counted) { c.run(1000) }, 0, counts{}},
		{"a Ping", func(c *counted) { c.control(3, 0) }, 1, counts{}},
		{"a control frame of no kind", func(c *counted) { c.control(5, 0) }, 1, counts{refused: 1}},
		{"a wrong check", func(c *counted) { c.send([]byte{3 << 4, 0}, c.epoch^1, 500) }, 0, counts{refused: 1, naks: 1}},
		{"a piece that is no frame", func(c *counted) { c.line.put(5, 1, 2, 3, 0); c.run(500) }, 0, counts{refused: 1, naks: 1}},
		{"two pieces at once", func(c *counted) { c.line.put(5, 1, 2, 0, 5, 1, 2, 0); c.run(500) }, 0, counts{refused: 2, naks: 1}},
		{"two frames more than there is room for", func(c *counted) {
			for range 4 {
				c.send([]byte{3 << 4, 0}, c.epoch, 0)
			}
			c.run(500)
		}, 2, counts{refused: 2}},
		{"the hello of the session", func(c *counted) { c.send(hello(1), helloWord, 500) }, 0, counts{}},
		{"another hello", func(c *counted) { c.send(hello(9), helloWord, 5000) }, 0, counts{}},
		{"a hello of another version", func(c *counted) { c.send(version, helloWord, 500) }, 0, counts{refused: 1}},
		{"a hello with a flag", func(c *counted) { c.send(flagged, helloWord, 500) }, 0, counts{refused: 1}},
		{"a short hello", func(c *counted) { c.send(hello(9)[:40], helloWord, 500) }, 0, counts{refused: 1}},
		{"another session", func(c *counted) { c.begin(9) }, 0, counts{sessions: 1}},
		{"a packet", func(c *counted) { c.data(0, write...) }, 1, counts{}},
		{"a packet again", func(c *counted) { c.data(0, write...); c.data(-1, write...) }, 2, counts{refused: 1}},
		{"a later packet", func(c *counted) { c.data(1, write...) }, 1, counts{refused: 1, naks: 1}},
		{"a message", func(c *counted) { c.data(0, unhex("34000000000000000000000000000000")...) }, 1, counts{packets: 1}},
		{"a write that is too short", func(c *counted) { c.data(0, write[:12]...) }, 1, counts{packets: 1}},
		{"a poisoned write", func(c *counted) { c.data(0, unhex("40004001000000"+"0f"+"00001000"+"11223344")...) }, 1, counts{packets: 1}},
		{"a completion of no read", func(c *counted) { c.data(0, unhex("4a0000010000000400000300"+"00112233")...) }, 1, counts{packets: 1}},
		{"a read of I/O space", func(c *counted) { c.data(0, unhex("02000001000001"+"0f"+"00000000")...); c.control(0, 1) }, 2, counts{packets: 1}},
		{"a read of the GPU", func(c *counted) { c.reads(); c.control(0, 1) }, 1, counts{}},
		{"a Nak", func(c *counted) { c.reads(); c.control(1, 0); c.control(0, 1) }, 2, counts{repeated: 1}},
		{"no acknowledgement", func(c *counted) { c.reads(); c.run(1000); c.control(0, 1) }, 1, counts{repeated: 1}},
		{"an acknowledgement of no frame", func(c *counted) { c.control(0, 1); c.reads(); c.control(0, 1) }, 2, counts{}},
		{"a read that waits", func(c *counted) { c.reads(); c.data(0, configRead...); c.control(3, 0); c.run(200); c.control(0, 1) }, 3, counts{repeated: 1}},
		{"a packet after a read that waits", func(c *counted) {
			c.reads()
			c.send(append(number(8, 0), configRead...), c.epoch, 250)
			c.send(append(number(8, 1), write...), c.epoch, 250)
			c.control(0, 1)
		}, 3, counts{refused: 1, naks: 1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := newCounted(t)
			require.Equal(t, counts{sessions: 1}, c.count)
			require.Zero(t, c.received, "the frame that begins a session is not counted")
			c.gpu.Cpl = port.Completion{Status: port.CplSuccess, Last: true}
			c.count = counts{}
			tt.do(c)
			c.run(300)
			assert.Equal(t, tt.received, c.received)
			assert.Equal(t, tt.count, c.count)
		})
	}
}

// TestSequencerCauses: a session of the sequencer ends with its cause, which stays.
func TestSequencerCauses(t *testing.T) {
	down := func(cause byte) func(c *counted) { return func(c *counted) { c.control(7, cause) } }
	for _, tt := range []struct {
		name  string
		do    func(c *counted)
		cause linkport.Cause
		sends []byte // of the last frame
	}{
		{"silence", func(c *counted) { c.run(512 * seqTick / 4) }, linkport.Dead, []byte{7 << 4, 3}},
		{"no acknowledgement", func(c *counted) {
			c.reads()
			for range 70 {
				c.send([]byte{4 << 4, 0}, c.epoch, 8*seqTick/4) // a Pong
			}
		}, linkport.Replay, []byte{7 << 4, 2}},
		{"closed", down(1), linkport.Closed, nil},
		{"the host's limit", down(2), linkport.Replay, nil},
		{"the host heard nothing", down(3), linkport.Dead, nil},
		{"the host found a violation", down(4), linkport.Protocol, nil},
		{"closed without a cause", down(0), linkport.Closed, nil},
		{"closed for a cause of no name", down(5), linkport.Closed, nil},
		{"another session", func(c *counted) { c.begin(77) }, linkport.NewSession, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := newCounted(t)
			require.Equal(t, linkport.NoCause, c.m.Status().Cause)
			tt.do(c)
			s := c.m.Status()
			assert.Equal(t, tt.cause == linkport.NewSession, s.Up)
			assert.Equal(t, tt.cause, s.Cause)
			assert.Equal(t, s.Up, c.m.LEDs() == 1)
			if f := c.sent(); tt.sends != nil {
				require.NotEmpty(t, f)
				for _, v := range f {
					if v[0]>>4 == 7 {
						assert.Equal(t, checked(tt.sends, c.epoch), v)
					}
				}
			}
			c.begin(78)
			assert.Equal(t, tt.cause, c.m.Status().Cause)
			c.m.Reset()
			c.run(1000)
			assert.Equal(t, linkport.Status{}, c.m.Status(), "a reset clears the cause")
		})
	}
}
