package boards_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/boards"
	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/bus/bustest"
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/intcreg"
	"github.com/hilgpu/hilgpu/rtl/abi/msixreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
)

// A copier copies bytes with one node of an emulator and signals completion by
// a fence.
type copier struct {
	t     *testing.T
	h     *bustest.Host
	link  bus.Link
	clock bus.Clock

	node             int
	fromHost, toHost bool
	seen             int // signalled by: 0 fence in host memory, 1 in VRAM, 2 register, 3 message
}

// Offsets in VRAM and in host memory.
const (
	orderBytes = 1000
	orderSrc   = 0x100
	orderDst   = 0x2000
	orderFence = 0x8000
	orderRing  = 0xc000
)

func (c *copier) at(off uint64, inHost bool) uint64 {
	if inHost {
		off |= pkt.Host | c.h.Base
	}
	return off
}

func (c *copier) write(off uint64, v uint32) {
	require.NoError(c.t, c.link.Write(0, off, binary.LittleEndian.AppendUint32(nil, v)))
}

func (c *copier) block() uint64 { return uint64(cpreg.Base + c.node*cpreg.Stride) }

// start writes the packets to the ring and the source data to its place.
func (c *copier) start(want []byte) {
	require.NoError(c.t, c.link.Write(2, orderSrc, want))
	copy(c.h.Mem[orderSrc:], want)
	ring, err := pkt.Copy{Src: c.at(orderSrc, c.fromHost), Dst: c.at(orderDst, c.toHost), Bytes: orderBytes}.Append(nil)
	require.NoError(c.t, err)
	ring, err = pkt.Fence{Addr: c.at(orderFence, c.seen != 1), ID: 9, IRQ: c.seen == 3}.Append(ring)
	require.NoError(c.t, err)
	copy(c.h.Mem[orderRing:], ring)

	c.write(msixreg.Base+msixreg.Control, 0)
	c.write(intcreg.Base+intcreg.Mask, intcreg.All)
	at := c.at(orderRing, true)
	c.write(c.block()+cpreg.RingLo, uint32(at))
	c.write(c.block()+cpreg.RingHi, uint32(at>>32))
	c.write(c.block()+cpreg.RingSize, 12)
	c.write(c.block()+cpreg.Ctl, cpreg.CtlRun)
	c.write(c.block()+cpreg.Wptr, uint32(len(ring)/4))
}

// done checks the fence once.
func (c *copier) done() (done bool) {
	var err error
	word := make([]byte, 4)
	switch c.seen {
	case 0:
		_, err = c.clock.Wait(c.clock.Now() + 1)
		copy(word, c.h.Mem[orderFence:])
	case 1:
		err = c.link.Read(2, orderFence, word)
	case 2:
		err = c.link.Read(0, c.block()+cpreg.Fence, word)
	default:
		done, err = c.clock.Wait(c.clock.Now() + 1000)
	}
	require.NoError(c.t, err)
	return done || word[0] == 9
}

func (c *copier) data() []byte {
	if c.toHost {
		return c.h.Mem[orderDst:][:orderBytes]
	}
	got := make([]byte, orderBytes)
	require.NoError(c.t, c.link.Read(2, orderDst, got))
	return got
}

// TestFenceFollowsData copies between VRAM and host memory on each node, and
// checks the data at the moment the host sees the fence.
func TestFenceFollowsData(t *testing.T) {
	want := bytes.Repeat([]byte{1, 2, 3, 4, 5, 6, 7, 8}, orderBytes/8)
	for _, wire := range []string{"", "?latency=200", "?latency=1&bandwidth=1", "?latency=50&bandwidth=64"} {
		for combo := range 32 {
			c := copier{
				t: t, h: bustest.NewHost(1 << 16),
				node: combo & 1, fromHost: combo&2 != 0, toHost: combo&4 != 0, seen: combo >> 3,
			}
			name := fmt.Sprintf("emu%s, node %d, from host %v, to host %v, seen %d", wire, c.node, c.fromHost, c.toHost, c.seen)
			var err error
			c.link, c.clock, err = boards.Open("emu"+wire, c.h)
			require.NoError(t, err)
			require.NoError(t, bustest.Enumerate(c.link))
			c.start(want)
			for !c.done() {
				require.Less(t, c.clock.Now(), uint64(200000), name)
			}
			require.Equal(t, want, c.data(), name)
			require.NoError(t, c.link.Close())
		}
	}
}
