package link

import (
	"bytes"
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/bus/endpoint"
	"github.com/hilgpu/hilgpu/bus/tlp"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
)

// A memory is a device with bytes: the read of an address gives what was written there, or a
// value made of the address. Addresses with bit 16 are not supported, those with bit 17
// abort in the second beat, if there is one. It checks the rules of the target port.
type memory struct {
	t     *testing.T
	bytes map[uint64]byte
	req   port.Request
	beat  int
	wait  int
	log   []string // effects of writes
}

func (d *memory) load(addr uint64) byte {
	if v, ok := d.bytes[addr]; ok {
		return v
	}
	if d.req.Kind == port.CfgRead && addr == 4 {
		return 2 // memory is enabled
	}
	return byte(addr>>3) ^ byte(addr*37)
}

func (d *memory) IdleFor() uint64 { return 0 }
func (d *memory) Skip(uint64)     {}

func (d *memory) reads() bool { return d.req.Kind == port.MemRead || d.req.Kind == port.CfgRead }

func (d *memory) Target() (cpl port.Completion, reqReady, dataReady bool) {
	switch {
	case d.req.Kind == port.None:
		return cpl, true, false
	case d.wait > 0:
		return cpl, false, false
	case d.req.Kind == port.CfgWrite && d.beat > 0:
		return port.Completion{Tag: d.req.Tag, Status: port.CplSuccess, Last: true}, false, false
	case !d.reads():
		return cpl, false, true
	}
	last := d.beat == int(port.Beats(d.req.Addr, d.req.Len))-1
	cpl = port.Completion{Tag: d.req.Tag, Status: port.CplSuccess, Last: last}
	base := d.req.Addr&^7 + uint64(8*d.beat)
	for i := range uint64(8) {
		cpl.Data |= uint64(d.load(base+i)) << (8 * i)
	}
	if d.req.Kind == port.MemRead && d.req.Addr>>16&1 != 0 {
		cpl.Status, cpl.Last = port.CplUnsupported, true
	} else if d.req.Kind == port.MemRead && d.req.Addr>>17&1 != 0 && (d.beat == 1 || last) {
		cpl.Status, cpl.Last = port.CplAbort, true
	}
	return cpl, false, false
}

func (d *memory) Initiator() (port.Request, port.Beat) { return port.Request{}, port.Beat{} }

func (d *memory) Tick(req port.Request, beat port.Beat, cplReady bool, _ port.Completion, _, _ bool) {
	cpl, reqReady, dataReady := d.Target()
	d.wait = max(d.wait-1, 0)
	if reqReady && req.Kind != port.None {
		end := req.Addr + 4*uint64(req.Len) - 1
		require.True(d.t, req.Len >= 1 && req.Len <= port.MaxLen && req.Addr%4 == 0 && end/128 == req.Addr/128, "request %+v", req)
		d.req, d.beat, d.wait = req, 0, 2
		return
	}
	if dataReady && beat.Valid {
		d.write(beat)
	}
	if cplReady && cpl.Status != port.CplNone {
		if d.beat++; cpl.Last {
			d.req = port.Request{}
		}
	}
}

// write applies a beat.
func (d *memory) write(b port.Beat) {
	n := int(port.Beats(d.req.Addr, d.req.Len))
	require.Equal(d.t, d.beat == n-1, b.Last, "the last beat of %+v", d.req)
	if d.beat > 0 && d.beat < n-1 {
		require.Equal(d.t, uint8(255), b.Enable, "a beat in the middle of %+v", d.req)
	}
	low := b.Enable & -b.Enable
	require.Zero(d.t, (b.Enable+low)&b.Enable, "enables %#x with a gap", b.Enable)
	base := d.req.Addr&^7 + uint64(8*d.beat)
	for i := range uint64(8) {
		if b.Enable>>i&1 == 0 {
			continue
		}
		a := base + i
		require.True(d.t, a >= d.req.Addr && a < d.req.Addr+4*uint64(d.req.Len), "byte %#x of %+v", a, d.req)
		if d.req.Kind == port.MemWrite {
			d.bytes[a] = byte(b.Data >> (8 * i))
		}
		d.log = append(d.log, fmt.Sprintf("%d %x=%02x", d.req.Kind, a, byte(b.Data>>(8*i))))
	}
	if d.beat++; b.Last && d.req.Kind == port.MemWrite {
		d.req = port.Request{}
	}
}

// random returns a packet of a host, right or wrong.
func random(r *rand.Rand) []byte {
	kinds := []tlp.Kind{tlp.MRd32, tlp.MRd64, tlp.MWr32, tlp.MWr64, tlp.CfgRd0, tlp.CfgWr0, tlp.IORd, tlp.IOWr, tlp.CfgRd1, tlp.MRdLk32, tlp.FetchAdd32, tlp.Swap64, tlp.Msg}
	k := kinds[min(r.IntN(24), r.IntN(24), 24)%len(kinds)]
	p := tlp.Packet{Kind: k, Requester: 0x7e7e, Tag: uint16(r.IntN(256)), Len: 1, First: 15}
	switch k {
	case tlp.MRd32, tlp.MRd64, tlp.MWr32, tlp.MWr64:
		p.Addr = uint64(0x40000 + 4*r.IntN(2048))
		if r.IntN(4) == 0 {
			p.Addr |= 1 << (16 + r.IntN(2))
		}
		if r.IntN(4) == 0 {
			p.Addr &^= 63
		}
		p.Len = min(1+min(r.IntN(128), r.IntN(128)), (4096-int(p.Addr&4095))/4)
		if k.HasData() {
			p.Len = min(p.Len, 32)
		}
		if r.IntN(6) == 0 {
			p.Len = 1
		}
		if k == tlp.MRd64 || k == tlp.MWr64 {
			p.Addr |= 0xa5000005 << 32
		}
		p.First = uint8(r.IntN(16))
		if p.Len > 1 {
			p.First, p.Last = uint8(15<<r.IntN(4)&15), uint8(15>>r.IntN(4))
			if p.Len == 2 && p.Addr&4 == 0 {
				p.First, p.Last = uint8(1+r.IntN(15)), uint8(1+r.IntN(15))
			}
		}
		p.TC, p.Attr = uint8(r.IntN(2)*r.IntN(8)), tlp.Attr(r.IntN(2)*r.IntN(8))
	case tlp.CfgRd0, tlp.CfgWr0:
		p.Addr, p.First, p.Completer = uint64(4*r.IntN(64)), uint8(r.IntN(16)), 0x0100
		if r.IntN(8) == 0 {
			p.Completer++
		}
	}
	if k.HasData() {
		p.Data = make([]byte, 4*p.Len)
		for i := range p.Data {
			p.Data[i] = byte(r.Uint32())
		}
	}
	b, err := p.Append(nil)
	if err != nil { // a kind that bus/tlp does not make
		b = append([]byte{[...]byte{0x02, 0x42, 0x05, 0x45, 0x01, 0x4c, 0x6d, 0x30}[r.IntN(8)], 0, 0, 1, 0x7e, 0x7e, byte(p.Tag), 15, 0, 0, 0, 0}, make([]byte, 4*r.IntN(3))...)
	}
	for range r.IntN(8) / 6 * r.IntN(3) {
		i := r.IntN(len(b))
		b[min(i, r.IntN(16))%len(b)] = byte(r.Uint32())
	}
	return b
}

// merged returns completions with those of one read merged: a read of at most 128 bytes that
// crosses a multiple of 128 may have one completion or two (PCIe 3.0 §2.3.1.1). It checks the
// byte counts and addresses of the others.
func merged(t *testing.T, packets [][]byte) (all []string) {
	var first, last tlp.Packet
	for _, b := range packets {
		var p tlp.Packet
		require.NoError(t, p.Decode(b), "%x", b)
		p.Data = bytes.Clone(p.Data)
		n, ended := last.Carries()
		if first.Kind == tlp.CplD && p.Kind == tlp.CplD && !ended {
			require.Equal(t, last.ByteCount-n, p.ByteCount)
			require.Equal(t, (int(last.Lower)+n)&127, int(p.Lower))
			require.Zero(t, p.Lower)
			require.Equal(t, first.Requester, p.Requester)
			require.Equal(t, first.Tag, p.Tag)
			last = p
			first.Data = append(first.Data, p.Data...)
			first.Len += p.Len
			all[len(all)-1] = fmt.Sprintf("%+v", first)
			continue
		}
		first, last = p, p
		all = append(all, fmt.Sprintf("%+v", p))
	}
	return all
}

// shortened returns a packet in its short form, if it has one and chance wants it, and the number of
// that form, see docs/design.md "Link layers". It may have groups that do not differ, too.
func shortened(r *rand.Rand, p []byte) (form uint16, body []byte) {
	h := [][]byte{nil, unhex("000000010000000f00000000"), unhex("400000010000000f00000000"), unhex("4a0000010100000400000000")}
	for form = 1; form < 4 && (len(p) < 12 || p[0] != h[form][0]); form++ {
	}
	if form == 4 || r.IntN(4) == 0 {
		return 0, p
	}
	mask := byte(r.UintN(256) & r.UintN(256) & r.UintN(256))
	for i, g := range [][2]int{{1, 4}, {4, 6}, {6, 7}, {7, 8}, {8, 9}, {9, 10}, {10, 11}, {11, 12}} {
		if part := p[g[0]:g[1]]; mask>>i&1 != 0 || !bytes.Equal(part, h[form][g[0]:g[1]]) {
			mask |= 1 << i
			body = append(body, part...)
		}
	}
	return form, append(append([]byte{mask}, body...), p[12:]...)
}

// plain makes a packet that of a dword, all of its bytes and the root complex, which is what a host
// mostly reads.
func plain(r *rand.Rand, p []byte) []byte {
	if p[0] != 0 || len(p) != 12 || r.IntN(4) == 0 {
		return p
	}
	copy(p, []byte{0, 0, 0, 1, 0, 0})
	p[7] = 15
	if r.IntN(2) == 0 {
		p[6] = 0
	}
	return p
}

var packetsFlag = flag.Int("link.packets", 1500, "packets of TestPackets, and of TestPacketsSequencer")

// packets sends packets of a host, right or wrong, and requires that the hardware makes the same
// completions as bus/endpoint, and that the same bytes are written in the same order. seen returns
// the packet that bus/endpoint gets in place of one, or none, and whether it is to be sent at all.
func (b *bench) packets(t *testing.T, r *rand.Rand, count, clocks int, seen func(p []byte) (q []byte, ok bool)) {
	soft := &memory{t: t, bytes: map[uint64]byte{}}
	hard := &memory{t: t, bytes: map[uint64]byte{}}
	ep, err := endpoint.New(soft, endpoint.Options{})
	require.NoError(t, err)
	replies, writes := 0, 0
	for n := range count {
		p := anyPacket(r)
		q, ok := seen(p)
		for ; !ok; q, ok = seen(p) {
			p = anyPacket(r)
		}
		var want [][]byte
		if q != nil {
			ep.Receive(q)
		}
		for range 200 {
			ep.Run(50)
			for q, ok := ep.Next(); ok; q, ok = ep.Next() {
				want = append(want, bytes.Clone(q))
			}
		}
		require.NoError(t, ep.Err())
		var got [][]byte
		b.dev = hard
		form, body := shortened(r, p)
		b.send(append(number(8|form, uint16(n)), body...), b.epoch, clocks)
		for more := true; more; {
			more = false
			for _, f := range b.sent() {
				require.Equal(t, checked(f[:len(f)-4], b.epoch), f)
				if f[0]>>7 == 1 && (uint16(f[0])<<8|uint16(f[1]))&0xfff == b.acked&0xfff { // not a repeated one
					b.acked++
					more = true
					got = append(got, packetOf(f))
				}
			}
			b.send(number(0, b.acked), b.epoch, 10)
			if more {
				b.run(clocks)
			}
		}
		require.Equal(t, merged(t, want), merged(t, got), "packet %d: %x", n, p)
		require.Equal(t, soft.log, hard.log, "packet %d: %x", n, p)
		replies, writes = replies+len(want), writes+len(soft.log)
		soft.log, hard.log = nil, nil
	}
	require.Greater(t, replies, count/4)
	require.Greater(t, writes, count/4)
	t.Log(replies, "completions,", writes, "bytes written")
}

// TestPackets: the hardwired link does with every packet what bus/endpoint does.
func TestPackets(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 11))
	c := quick
	c.Window, c.Dead, c.Replay = 8, 60_000, 255
	b := newBench(t, c)
	b.open(1)
	b.packets(t, r, *packetsFlag, 1500, func(p []byte) ([]byte, bool) { return p, true })
	require.True(t, b.m.Status().Up)
}
