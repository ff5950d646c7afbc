package link

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/bus/tlp"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
)

// A watched is a device with the packets of its requests.
type watched struct {
	*chatty
	head  port.Request // of the write
	beats []port.Beat  // of it
	want  []tlp.Packet
}

// Tick implements port.Device.
func (d *watched) Tick(req port.Request, beat port.Beat, cplReady bool, cpl port.Completion, reqReady, dataReady bool) {
	up, b := d.Initiator()
	if dataReady && b.Valid {
		if d.beats = append(d.beats, b); b.Last {
			d.wrote()
		}
	}
	if reqReady && up.Kind == port.MemWrite {
		d.head, d.beats = up, nil
	}
	if reqReady && up.Kind == port.MemRead {
		p := packetOfRequest(up, tlp.MRd32)
		p.Tag = uint16(up.Tag)
		p.First, p.Last = 15, 15
		if p.Len == 1 {
			p.Last = 0
		}
		d.want = append(d.want, p)
	}
	d.chatty.Tick(req, beat, cplReady, cpl, reqReady, dataReady)
}

// packetOfRequest returns a packet of a kind with the short header, or of the next one with the long header.
func packetOfRequest(q port.Request, k tlp.Kind) tlp.Packet {
	if q.Addr>>32 != 0 {
		k++
	}
	return tlp.Packet{Kind: k, Addr: q.Addr, Len: int(q.Len)}
}

// wrote makes the packet of a write whose beats were taken.
func (d *watched) wrote() {
	p := packetOfRequest(d.head, tlp.MWr32)
	for i := range p.Len {
		at := d.head.Addr + 4*uint64(i)
		b := d.beats[at>>3-d.head.Addr>>3]
		enables := b.Enable >> (at & 4) & 15
		if i == 0 {
			p.First = enables
		} else {
			p.Last = enables
		}
		p.Data = binary.LittleEndian.AppendUint32(p.Data, uint32(b.Data>>(8*(at&4))))
	}
	d.want = append(d.want, p)
}

// TestSequencerRequests: requests of the GPU with any length, address and enables become the packets that
// PCIe 3.0 §2.2 wants, in order.
func TestSequencerRequests(t *testing.T) {
	c := newCounted(t)
	d := &watched{chatty: newChatty(t, rand.New(rand.NewPCG(1, 21)))}
	d.odd, d.chatty.tags = true, 0x2f
	c.dev = d
	writes, next := 0, uint16(0)
	for range 1000 {
		c.run(100)
		for _, f := range c.sent() {
			if binary.BigEndian.Uint16(f)&0xfff != next {
				continue // it is repeated
			}
			var got tlp.Packet
			require.NoError(t, got.Decode(packetOf(f)), "%x", f)
			require.NotEmpty(t, d.want)
			if got.Kind.HasData() {
				got.Tag = 0 // it has no meaning
				writes++
			}
			got.Tag &= 0x7f
			require.Equal(t, d.want[0], got)
			d.want = d.want[1:]
			next++
		}
		c.send(number(0, next), c.epoch, 20)
	}
	require.Greater(t, writes, 100)
	t.Log(next, "packets,", writes, "writes")
}
