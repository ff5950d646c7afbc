package link

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/boards/colorlighti5"
	"github.com/hilgpu/hilgpu/boards/pins"
	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/bus/channel"
	"github.com/hilgpu/hilgpu/bus/rootport"
	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/rtl/eth/mac"
	"github.com/hilgpu/hilgpu/testbench/device/bare"
)

// A carried is a frame on a line: the clocks of its first byte and after its last one, from
// preamble to FCS, and its bytes.
type carried struct {
	begin, end uint64
	bytes      []byte
}

// datagram returns the datagram in a frame, raw or in UDP.
func (c carried) datagram() []byte {
	const kind = mac.PreambleBytes + 12 // after the addresses
	at, size := kind+4, kind+2
	less := 0
	if c.bytes[kind] == 8 { // IP
		at, size, less = kind+2+28, kind+2+24, 8
	}
	return c.bytes[at:][:int(c.bytes[size])<<8+int(c.bytes[size+1])-less]
}

// packets returns the packets in a frame.
func (c carried) packets() (all [][]byte) {
	for d := c.datagram(); len(d) > 0; {
		f, rest, ok := channel.CutDatagram(d)
		if d = rest; ok && f[0]&0x80 != 0 {
			all = append(all, packetOf(f))
		}
	}
	return all
}

// payload returns the bytes of data in the packets of a frame.
func (c carried) payload() (n int) {
	for _, p := range c.packets() {
		if p[0]&0x40 != 0 {
			n += len(p) - 12 - int(p[0]>>5&1)*4
		}
	}
	return n
}

// A cabled is a board whose symbols reach the host some clocks later. It keeps the frames
// of both directions.
type cabled struct {
	pins.EtherTop
	late     []mac.Symbol // a ring
	clock    uint64
	rx, tx   carried // in work
	down, up []carried
}

func (c *cabled) Symbol() (bool, mac.Symbol) {
	s := c.late[c.clock%uint64(len(c.late))]
	return s.Enable, s
}

func (c *cabled) Tick(rx mac.Byte, _ bool) {
	valid, s := c.EtherTop.Symbol()
	if !valid {
		s = mac.Symbol{}
	}
	c.late[c.clock%uint64(len(c.late))] = s
	c.clock++
	c.tx.add(c.clock, s.Enable, s.Last, s.Data, &c.up)
	c.rx.add(c.clock, rx.Valid && !rx.End, rx.Valid && rx.End, rx.Data, &c.down)
	c.EtherTop.Tick(rx, true)
}

// add takes a byte of a line.
func (c *carried) add(clock uint64, byte, last bool, data uint8, all *[]carried) {
	if byte && len(c.bytes) == 0 {
		c.begin = clock
	}
	if byte {
		c.end, c.bytes = clock+1, append(c.bytes, data)
	}
	if last {
		*all, *c = append(*all, *c), carried{}
	}
}

// An etherRig is a host on Ethernet with the Colorlight i5 at its byte port.
type etherRig struct {
	t     testing.TB
	cable *cabled
	wire  *pins.Wire
	link  *rootport.RootPort
	board *bare.Board
}

// newEtherRig opens the board. turn is the clocks from the last byte of a datagram of the board to
// the first byte of the host's answer, at least pins.Delay+1.
func newEtherRig(t testing.TB, turn int, o pins.Options) *etherRig {
	top, err := colorlighti5.New(colorlighti5.Address(), 0)
	require.NoError(t, err)
	r := &etherRig{t: t, cable: &cabled{EtherTop: top, late: make([]mac.Symbol, turn-pins.Delay)}}
	o.Hz = colorlighti5.Hz
	r.wire, err = pins.NewEtherWire(pins.NewEther(pins.EtherClocked(r.cable), pins.EtherFaults{}), colorlighti5.Address(), o)
	require.NoError(t, err)
	open := func(_ string, host bus.Host) (bus.Link, bus.Clock, error) {
		r.link, err = rootport.New(r.wire.Dial, host, rootport.Options{})
		return r.link, r.link, err
	}
	r.board, err = bare.Open(context.Background(), "", bare.NewHost(64<<10), open)
	require.NoError(t, err)
	return r
}

// A use is what a transfer got of a line.
//
//	idle     share of the byte times that is neither of a frame nor of its gap
//	payload  share of them that is data of packets
type use struct{ idle, payload float64 }

// useOf returns the use of a line from its first to its last large frame.
func useOf(t testing.TB, frames []carried) use {
	const large = 400
	first, last := len(frames), 0
	for i, f := range frames {
		if len(f.bytes) > large {
			first, last = min(first, i), i
		}
	}
	require.Greater(t, last, first+10, "large frames")
	frames = frames[first : last+1]
	busy, data := 0, 0
	for _, f := range frames {
		busy += len(f.bytes) + mac.GapBytes
		data += f.payload()
	}
	clocks := float64(frames[len(frames)-1].end + mac.GapBytes - frames[0].begin)
	return use{1 - float64(busy)/clocks, float64(data) / clocks}
}

// forget forgets the frames so far.
func (r *etherRig) forget() { r.cable.down, r.cable.up = nil, nil }

// toBoard returns what host-to-board writes get of the line of the host's transmitter.
func (r *etherRig) toBoard(bytes int) use {
	r.forget()
	data := make([]byte, 16<<10)
	for at := 0; at < bytes; at += len(data) {
		require.NoError(r.t, r.link.Write(2, 0, data))
	}
	require.NoError(r.t, r.link.Read(2, 0, data[:4]))
	return useOf(r.t, r.cable.down)
}

// copies makes node 0 copy between VRAM and host memory in pieces of 8 KiB. Its ring is in
// host memory.
func (r *etherRig) copies(src, dst uint64, bytes int) {
	const piece = 8 << 10
	n := r.board.Node(0)
	require.NoError(r.t, n.Start(pkt.Host|bare.HostBase+32<<10, 12, 0))
	var all []bare.Packet
	for at := 0; at < bytes; at += piece {
		all = append(all, pkt.Copy{Src: src, Dst: dst, Bytes: piece})
	}
	r.forget()
	require.NoError(r.t, n.Do(all...))
}

// toHost returns what writes of the GPU get of the line of the board's transmitter.
func (r *etherRig) toHost(bytes int) use {
	r.copies(0, pkt.Host|bare.HostBase, bytes)
	return useOf(r.t, r.cable.up)
}

// reads returns what the completions of the GPU's reads get of the host's line, and the mean
// clocks from the first byte of the frame with a request to the last one of that with its
// completion.
func (r *etherRig) reads(bytes int) (got use, trip float64) {
	r.copies(pkt.Host|bare.HostBase, 0, bytes)
	asked := map[byte]uint64{}
	up, sum, n := r.cable.up, uint64(0), 0
	for _, f := range r.cable.down {
		for ; len(up) > 0 && up[0].end < f.begin; up = up[1:] {
			for _, p := range up[0].packets() {
				if p[0]&^0x20 == 0 {
					asked[p[6]] = up[0].begin
				}
			}
		}
		for _, p := range f.packets() {
			if p[0] == 0x4a {
				sum, n = sum+f.end-asked[p[10]], n+1
			}
		}
	}
	return useOf(r.t, r.cable.down), float64(sum) / float64(n)
}

// register returns the clocks of the read of a register at the byte port, from the first byte
// of its frame to the last byte of the answer.
func (r *etherRig) register() uint64 {
	r.wire.Run(200_000)
	r.forget()
	require.NoError(r.t, r.link.Read(0, idreg.Base+idreg.Magic, make([]byte, 4)))
	for _, f := range r.cable.up {
		for _, p := range f.packets() {
			if p[0] == 0x4a {
				return f.end - r.cable.down[0].begin
			}
		}
	}
	require.Fail(r.t, "no answer")
	return 0
}
