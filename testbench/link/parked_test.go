package link

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/link/linkport"
)

// A parked is a session with a frame of the board in flight, which has the number 1.
type parked struct{ *counted }

func newParked(t *testing.T) parked {
	p := parked{newCounted(t)}
	p.place("0100", 0)
	p.reads()
	return p
}

// asks sends a read of dwords at 0x1000, by a requester that needs the longest header.
func (p parked) asks(dwords, enables byte) {
	p.data(0, 0, 0, 0, dwords, 0x7e, 0x7e, 1, enables, 0, 0, 0x10, 0)
}

// answers is the GPU with an answer, and with a write of a dword that was offered before.
func answers(data uint64, last bool) linkport.GPU {
	return linkport.GPU{
		Cpl:  port.Completion{Status: port.CplSuccess, Last: last, Data: data},
		Req:  port.Request{Kind: port.MemWrite, Len: 1, Addr: 0x2000},
		Beat: port.Beat{Valid: true, Last: true, Enable: 15, Data: 0x99},
	}
}

// written is the frame of that write.
func (p parked) written(n uint16) []byte {
	return p.want(0xc, n, "40000001"+"0100"+"00"+"0f"+"00002000"+"99000000")
}

// same compares frames. The tag of the write in the first one has no meaning.
func (p parked) same(want ...[]byte) {
	got := p.sent()
	require.Len(p.t, got, len(want))
	if len(got) > 0 && got[0][4] == 0x40 {
		got[0][10], got[0] = 0, got[0][:20]
		want[0] = want[0][:20]
	}
	assert.Equal(p.t, want, got)
}

// TestSequencerParks: with one slot free, a read of the host is answered at once. If the GPU has
// offered a write before, the answer follows that write, and both wait for the other slot.
func TestSequencerParks(t *testing.T) {
	for _, tt := range []struct {
		name string
		do   func(p parked)
	}{
		{"no write", func(p parked) {
			p.asks(1, 15)
			p.gpu.Cpl = answers(0x55, true).Cpl
			p.run(200)
			p.same(p.want(0xc, 2, "4a000001"+"0100"+"0004"+"7e7e"+"01"+"00"+"55000000"))
		}},
		{"a write", func(p parked) {
			p.asks(1, 15)
			p.gpu = answers(0x55, true)
			p.run(200)
			p.same()
			require.Equal(p.t, port.MemWrite, p.gpu.Req.Kind)
			p.control(0, 2)
			p.same(p.written(2), p.want(0xc, 3, "4a000001"+"0100"+"0004"+"7e7e"+"01"+"00"+"55000000"))
			p.control(1, 3)
			p.same(p.want(0xc, 3, "4a000001"+"0100"+"0004"+"7e7e"+"01"+"00"+"55000000"))
		}},
		{"a write that is withdrawn", func(p parked) {
			p.asks(1, 15)
			p.gpu = answers(0x55, true)
			p.run(200)
			p.gpu = linkport.GPU{}
			p.control(0, 2)
			p.same(p.want(0xc, 2, "4a000001"+"0100"+"0004"+"7e7e"+"01"+"00"+"55000000"))
		}},
		{"a read in place of the write", func(p parked) {
			p.asks(1, 15)
			p.gpu = answers(0x55, true)
			p.run(200)
			p.gpu = linkport.GPU{Req: port.Request{Kind: port.MemRead, Tag: 4, Len: 2, Addr: 0x3000}}
			p.control(0, 2)
			p.same(p.want(0xc, 2, "4a000001"+"0100"+"0004"+"7e7e"+"01"+"00"+"55000000"),
				p.want(0xc, 3, "00000002"+"0100"+"04"+"ff"+"00003000"))
		}},
		{"an abort", func(p parked) {
			p.asks(1, 15)
			p.gpu = answers(0, true)
			p.gpu.Cpl.Status = port.CplAbort
			p.run(200)
			p.same()
			p.control(0, 2)
			p.same(p.written(2), p.want(0xc, 3, "0a000000"+"0100"+"8004"+"7e7e"+"01"+"00"))
		}},
		{"a read of no bytes", func(p parked) {
			p.asks(1, 0)
			p.gpu = answers(2<<32, true) // of Command, the upper half
			p.run(200)
			p.same()
			p.control(0, 2)
			p.same(p.written(2), p.want(0xc, 3, "4a000001"+"0100"+"0001"+"7e7e"+"01"+"00"+"00000000"))
		}},
		{"another request meanwhile", func(p parked) {
			p.asks(1, 15)
			p.gpu = answers(0x55, true)
			p.run(200)
			p.data(0, configRead...)
			p.sent() // the frame in flight was repeated
			p.next--
			p.send(number(0, 2), p.epoch, 300)
			first := []string{"40000001" + "0100" + "00" + "0f" + "00002000" + "99000000", "4a000001" + "0100" + "0004" + "7e7e" + "01" + "00" + "55000000"}
			p.same(p.want(0xc, 2, first[0]), p.want(0xc, 3, first[1]))
			p.next++
			p.gpu.Cpl = answers(0x77, true).Cpl
			p.control(0, 4)
			p.same(p.want(0xf, 4, "c0"+"01"+"00"+"77000000"))
		}},
		{"a request with the acknowledgement", func(p parked) {
			p.asks(1, 15)
			p.gpu = answers(0x55, true)
			p.run(200)
			p.sent()
			p.send(append(append(number(0xc, p.next), number(0, 2)...), configRead...), p.epoch, 250)
			p.same(p.written(2), p.want(0xc, 3, "4a000001"+"0100"+"0004"+"7e7e"+"01"+"00"+"55000000"))
			p.next++
			p.gpu.Cpl = answers(0x77, true).Cpl
			p.send(number(0, 4), p.epoch, 200)
			p.same(p.want(0xf, 4, "c0"+"01"+"00"+"77000000"))
		}},
		{"the session ends", func(p parked) {
			p.asks(1, 15)
			p.gpu = answers(0x55, true)
			p.run(200)
			p.control(7, 1)
			require.Equal(p.t, port.None, p.gpu.Req.Kind, "the write is lost")
			p.begin(9)
			p.asks(1, 15)
			p.gpu.Cpl = answers(0x66, true).Cpl
			p.run(200)
			p.same(p.want(0xc, 0, "4a000001"+"0100"+"0004"+"7e7e"+"01"+"00"+"66000000"))
		}},
	} {
		t.Run(tt.name, func(t *testing.T) { tt.do(newParked(t)) })
	}
}

// TestSequencerParksParts: of a read in two parts, the first one follows the write, and the
// second one waits for a slot.
func TestSequencerParksParts(t *testing.T) {
	p := newParked(t)
	p.data(0, 0, 0, 0, 33, 0x7e, 0x7e, 1, 0xff, 0, 0, 0x10, 0)
	p.gpu = answers(0x0000000200000001, false)
	for len(p.reqs) == 0 || p.gpu.Cpl.Status == port.CplNone {
		require.Less(t, p.clock, 100_000)
		p.run(1)
	}
	for range 15 {
		for p.gpu.Cpl.Status != port.CplNone {
			require.Less(t, p.clock, 100_000)
			p.run(1)
		}
		p.gpu.Cpl = answers(0x0000000200000001, true).Cpl
	}
	p.run(200)
	require.Empty(t, p.sent())
	require.Equal(t, uint8(32), p.reqs[len(p.reqs)-1].Len)
	p.control(0, 2)
	f := p.sent()
	require.Len(t, f, 2)
	require.Equal(t, []byte{0x40, 0x4a}, []byte{f[0][4], f[1][4]})
	require.Equal(t, []byte{0, 0x84}, f[1][4+6:4+8], "all bytes are left")
	p.gpu.Cpl = answers(0x55, true).Cpl
	p.control(0, 4)
	p.same(p.want(0xc, 4, "4a000001"+"0100"+"0004"+"7e7e"+"01"+"00"+"55000000"))
}
