package endpoint_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/bus/endpoint"
	"github.com/hilgpu/hilgpu/bus/tlp"
)

// FuzzReceive: for any received bytes, the device's ports see only legal
// inputs, sent packets are legal, and a valid request is answered afterwards.
// Each packet is a length byte and that many bytes; the top bit of the length
// runs clocks and sends a read.
func FuzzReceive(f *testing.F) {
	add := func(packets ...tlp.Packet) {
		var all []byte
		for _, p := range packets {
			raw := encode(f, p)
			all = append(append(all, byte(len(raw))|0x80), raw...)
		}
		f.Add(all)
	}
	add(memory(false, 0x104, 3, 0xe, 0x1), memory(true, 0x17c, 2, 0xf, 0xf))
	add(memory(true, 0x100, 1, 5, 0), memory(false, 0x100, 1, 0, 0), memory(false, abortAt, 8, 0xf, 0xf))
	add(tlp.Packet{Kind: tlp.CfgWr0, Len: 1, First: 5, Addr: 0x10, Completer: boardID, Data: make([]byte, 4)},
		tlp.Packet{Kind: tlp.CplD, Requester: boardID, Len: 16, ByteCount: 128, Data: make([]byte, 64)},
		tlp.Packet{Kind: tlp.CplD, Requester: boardID, Len: 16, ByteCount: 64, Lower: 0x40, Data: make([]byte, 64)})
	add(tlp.Packet{Kind: tlp.Cpl, Status: tlp.CA, Requester: boardID, ByteCount: 4})
	f.Fuzz(func(t *testing.T, in []byte) {
		dev := &testDevice{rng: rand.New(rand.NewPCG(1, uint64(len(in))))}
		b := newBench(t, dev, endpoint.Options{Queue: 4, Reads: 2, Timeout: 1 << 30})
		for tag := uint8(0); len(in) > 0; {
			n := min(int(in[0]&0x7f), len(in)-1)
			clocks := in[0]&0x80 != 0
			_ = b.end.Receive(in[1 : 1+n])
			in = in[1+n:]
			if !clocks {
				continue
			}
			if b.end.Reads() < 8 {
				dev.sendRead(tag, 0x1000+uint64(tag&3)<<7, 32)
				tag++
			}
			b.packets()
		}
		b.packets()
		dev.config[4] = 2
		b.send(memory(false, 0x200, 2, 0xf, 0xf))
		got := b.packets()
		require.Len(t, got, 1)
		require.Equal(t, dev.ram[0x200:0x208], got[0].Data)
	})
}
