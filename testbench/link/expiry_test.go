package link

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

// expiry is the least ticks after which a read of the sequencer expires, and a quarter of it is
// what it may take longer.
const expiry = 3 * 256

// A expiring is a session with the sequencer whose host sends Pings, so that only reads expire.
type expiring struct {
	*counted
	numbers uint16 // of the next data frame of the board
}

func newExpiring(t *testing.T) *expiring {
	e := &expiring{counted: newCounted(t)}
	e.gpu.Cpl = port.Completion{Status: port.CplSuccess, Last: true}
	e.data(0, configRead...)
	require.Len(t, e.sent(), 1)
	e.ack()
	return e
}

// ack acknowledges the next frame of the board.
func (e *expiring) ack() {
	e.numbers++
	e.control(0, byte(e.numbers))
}

// read makes the GPU read 32 dwords, and returns the packet that is sent, acknowledged.
func (e *expiring) read(tag uint8) []byte {
	e.gpu.Req = port.Request{Kind: port.MemRead, Tag: tag, Len: 32, Addr: 0x1000}
	e.run(200)
	f := e.sent()
	require.Len(e.t, f, 1)
	e.ack()
	return f[0][4 : len(f[0])-4]
}

// answers sends dwords of a completion for a read with some left.
func (e *expiring) answers(tag, from byte, dwords, left int) {
	p := append(unhex("4a0000000100000000000000")[:12:12], make([]byte, 4*dwords)...)
	p[3], p[7], p[10], p[11] = byte(dwords), byte(4*left), tag, from
	e.data(0, p...)
	e.run(500)
}

// now returns the ticks so far.
func (e *expiring) now() int { return int(e.line.both.Clocks() / seqTick) }

// pass lets ticks pass, with Pings, until a condition holds or the time has passed.
func (e *expiring) pass(ticks int, until func() bool) {
	for end, ping := e.now()+ticks, 0; e.now() < end && !until(); e.run(seqTick / e.pace) {
		if e.now() >= ping {
			e.control(3, 0)
			e.sent()
			ping = e.now() + 100
		}
	}
}

func never() bool { return false }

// waits returns the ticks until a completion, at most 2000.
func (e *expiring) waits() int {
	start, n := e.now(), len(e.cpls)
	e.pass(2000, func() bool { return len(e.cpls) > n })
	return e.now() - start
}

// TestSequencerReadExpires: a read of the GPU that the host does not answer is aborted after the
// time-out, and not before. A late answer is dropped, also if the GPU uses the tag again. Each
// part of an answer lets the time-out begin anew, for its own read.
func TestSequencerReadExpires(t *testing.T) {
	tooltest.Long(t)
	for _, tag := range []uint8{0, 5, 15, 32, 47} {
		e := newExpiring(t)
		first := e.read(tag)
		require.Equal(t, tag, first[6])
		ticks := e.waits()
		require.GreaterOrEqual(t, ticks, expiry)
		require.LessOrEqual(t, ticks, expiry*4/3+5)
		require.Len(t, e.cpls, 1)
		require.Equal(t, port.Completion{Tag: tag, Status: port.CplAbort, Last: true, Data: e.cpls[0].Data}, e.cpls[0])
		second := e.read(tag)
		require.Equal(t, tag|0x80, second[6], "the tag on the line is another one")
		e.count = counts{}
		e.answers(first[6], 0, 32, 32)
		require.Len(t, e.cpls, 1, "the late answer is dropped")
		require.Equal(t, counts{packets: 1}, e.count)
		e.pass(expiry-100, never)
		other := e.read(tag ^ 1)
		require.Equal(t, tag^1, other[6])
		e.answers(second[6], 0, 16, 32)
		require.Len(t, e.cpls, 1+8)
		e.pass(expiry-100, never)
		require.Len(t, e.cpls, 1+8)
		e.answers(second[6], 64, 16, 16)
		require.Len(t, e.cpls, 1+16, "data came in the meantime")
		require.True(t, e.cpls[16].Last)
		e.answers(other[6], 0, 16, 32)
		require.Len(t, e.cpls, 1+16+8)
		e.waits()
		require.Len(t, e.cpls, 1+16+8+1)
		require.Equal(t, port.Completion{Tag: tag ^ 1, Status: port.CplAbort, Last: true, Data: e.cpls[25].Data}, e.cpls[25])
		e.answers(other[6], 64, 16, 16)
		require.Equal(t, counts{packets: 2}, e.count, "the rest of its answer is too late")
		require.Equal(t, tag|0x80, e.readAgain(second)[6], "only a read that has expired changes the tag")
		require.Equal(t, port.CplSuccess, e.cpls[len(e.cpls)-1].Status)
		require.GreaterOrEqual(t, e.waits(), 2000, "nothing is left to expire")
		require.True(t, e.m.Status().Up)
	}
}

// readAgain makes the GPU read with the tag of a read that has ended, answers it, and returns
// its packet.
func (e *expiring) readAgain(last []byte) []byte {
	p := e.read(last[6] & 0x3f)
	e.answers(p[6], 0, 32, 32)
	return p
}
