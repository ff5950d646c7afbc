package link

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/port"
)

// A read of the GPU that the host does not answer is aborted after the time-out, and not
// before. A late answer is dropped, also if the GPU uses the tag again.
func TestReadExpires(t *testing.T) {
	b := newBench(t, quick)
	b.open(1)
	first := b.read(33, 0)
	require.Equal(t, byte(33), first[6])
	start := len(b.cpls)
	ticks := 0
	for ; len(b.cpls) == start && ticks < 200; ticks++ {
		b.run(100)
	}
	require.GreaterOrEqual(t, ticks+5, 50, "the read has had 400 to 500 clocks")
	require.LessOrEqual(t, ticks, 101)
	require.Equal(t, port.Completion{Tag: 33, Status: port.CplAbort, Last: true, Data: b.cpls[start].Data}, b.cpls[start])
	second := b.read(33, 1)
	require.NotEqual(t, first[6], second[6], "the tag on the wire is another one")
	b.sent()
	b.send(answer(0, first[6]), b.epoch, 200)
	require.Len(t, b.cpls, start+1, "the late answer is dropped")
	require.Equal(t, 1, b.count.packets)
	b.send(answer(1, second[6]), b.epoch, 200)
	require.Len(t, b.cpls, start+2)
	require.Equal(t, port.Completion{Tag: 33, Status: port.CplSuccess, Last: true, Data: 0x0706050403020100}, b.cpls[start+1])
	b.send(answer(2, second[6]), b.epoch, 200)
	require.Len(t, b.cpls, start+2, "a second answer is dropped")
}

// A late answer is dropped also if the GPU takes its tag again in any clock in which the answer arrives.
func TestTagAgainWhileLate(t *testing.T) {
	for n := 1; n <= 60; n++ {
		b := newBench(t, quick)
		b.open(1)
		first := b.read(33, 0)
		b.run(20_000)
		require.Len(t, b.cpls, 1)
		require.Equal(t, port.CplAbort, b.cpls[0].Status)
		b.sent()
		clock := 0
		b.each = func() {
			if clock++; clock == n {
				b.gpu.Req = port.Request{Kind: port.MemRead, Tag: 33, Len: 2, Addr: 0x1000}
			}
		}
		b.send(answer(0, first[6]), b.epoch, 300)
		require.Len(t, b.cpls, 1, "the read is offered %d clocks after the answer begins", n)
		b.each = func() {}
		second := b.sent()
		require.Len(t, second, 1)
		b.send(answer(1, packetOf(second[0])[6]), b.epoch, 300)
		require.Len(t, b.cpls, 2, "%d clocks", n)
		require.Equal(t, port.Completion{Tag: 33, Status: port.CplSuccess, Last: true, Data: 0x0706050403020100}, b.cpls[1])
	}
}
