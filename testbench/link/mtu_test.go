package link

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/boards/colorlighti5"
	"github.com/hilgpu/hilgpu/boards/pins"
	"github.com/hilgpu/hilgpu/bus/bustest"
	"github.com/hilgpu/hilgpu/bus/datalink"
	"github.com/hilgpu/hilgpu/bus/rootport"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/rtl/eth/ip"
	"github.com/hilgpu/hilgpu/testbench/device/bare"
)

// leastDatagram is the smallest datagram with the largest frame of the board: a length of 2 bytes, a
// head of 2, an acknowledgement of 2, a header of 16, 128 bytes and a check of 4.
const leastDatagram = 154

// The largest datagram of a session is the smaller one of both ends. A hello of a host whose
// datagrams have no room for the largest frame is counted and not answered. That of another
// version is, and a board at a stream does not read the field.
func TestLargestDatagram(t *testing.T) {
	datagrams := quick
	datagrams.Datagram = ip.MaxData
	for _, tt := range []struct {
		name    string
		own     uint16
		host    uint16
		version byte
		answers int
		largest uint16
	}{
		{"none", ip.MaxData, 0, datalink.Version, 0, 0},
		{"a byte less", ip.MaxData, leastDatagram - 1, datalink.Version, 0, 0},
		{"the least", ip.MaxData, leastDatagram, datalink.Version, 1, leastDatagram},
		{"of an MTU of 576", ip.MaxData, 548, datalink.Version, 1, 548},
		{"the same", ip.MaxData, ip.MaxData, datalink.Version, 1, ip.MaxData},
		{"more", ip.MaxData, 9000, datalink.Version, 1, ip.MaxData},
		{"a byte less than the most", 65535, 65534, datalink.Version, 1, ip.MaxData},
		{"another version", ip.MaxData, 0, datalink.Version + 1, 1, 0},
		{"a stream", 0, 1, datalink.Version, 1, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := quick
			if tt.own != 0 {
				c = datagrams
			}
			b := newBench(t, c)
			h := hello(9)
			h[1] = tt.version
			binary.BigEndian.PutUint16(h[12:], tt.host)
			before := b.m.Largest()
			b.send(h, helloWord, 400)
			w := b.sent()
			require.Len(t, w, tt.answers)
			require.Equal(t, before, b.m.Largest(), "no session")
			if tt.answers == 0 || tt.version != datalink.Version {
				require.Equal(t, 1, b.count.refused)
				return
			}
			b.send([]byte{3 << 4, 0}, crc32.ChecksumIEEE(w[0][22:30]), 300)
			require.True(t, b.m.Status().Up)
			require.Equal(t, tt.largest, b.m.Largest())
		})
	}
}

// TestSmallMTU: a host with small datagrams uses the board, which sends none that is larger,
// and one as large as it may be.
func TestSmallMTU(t *testing.T) {
	for _, most := range []int{leastDatagram, leastDatagram + 1, 548, ip.MaxData} {
		t.Run(fmt.Sprint(most), func(t *testing.T) {
			r := newEtherRig(t, 500, pins.Options{Link: datalink.Config{Datagram: most}, UDP: most == 548})
			rng := rand.New(rand.NewPCG(uint64(most), 5))
			want, got := make([]byte, 8<<10), make([]byte, 8<<10)
			for i := range want {
				want[i] = byte(rng.Uint32())
			}
			require.NoError(t, r.link.Write(2, 0, want))
			require.NoError(t, r.link.Read(2, 0, got))
			require.Equal(t, want, got)
			r.copies(0, pkt.Host|bare.HostBase, len(want))
			require.Equal(t, want, r.board.Host.Mem[:len(want)])
			largest := 0
			for _, f := range r.cable.up {
				largest = max(largest, len(f.datagram()))
			}
			require.LessOrEqual(t, largest, most)
			require.Greater(t, largest, most-leastDatagram, "another frame would fit")
			require.Zero(t, r.wire.Stats().Replays)
		})
	}
}

// A host whose datagrams are too small has no session, and an error that tells so.
func TestTooSmallMTU(t *testing.T) {
	top, err := colorlighti5.New(colorlighti5.Address(), 0)
	require.NoError(t, err)
	e := pins.NewEther(pins.EtherClocked(top), pins.EtherFaults{})
	w, err := pins.NewEtherWire(e, colorlighti5.Address(), pins.Options{Link: datalink.Config{Datagram: leastDatagram - 1, OpenTimeout: 20 * time.Millisecond}})
	require.NoError(t, err)
	_, err = rootport.New(w.Dial, bustest.NewHost(4096), rootport.Options{})
	require.ErrorIs(t, err, datalink.ErrOpen)
}

// A packet above the largest one, in a good frame, is acknowledged and dropped, and those
// after it are not changed.
func TestLargePacket(t *testing.T) {
	for _, dwords := range []int{32, 33, 36, 50} {
		b := newBench(t, quick)
		b.open(1)
		send := func(n uint16, dwords int, fill byte) {
			p := append(number(8, n), 0x60, 0, 0, byte(dwords), 0, 0, 0, 0xff, 0, 0, 0, 1, 0, 0, 0x10, 0)
			for range 4 * dwords {
				p = append(p, fill)
			}
			b.send(p, b.epoch, 600)
		}
		send(0, 2, 0x22)
		send(1, dwords, 0x11) // into the last slot
		send(2, 2, 0x33)
		want, refused := []uint64{0x2222222222222222, 0x3333333333333333}, 1
		if dwords == 32 {
			for range 16 {
				want = slices.Insert(want, 1, 0x1111111111111111)
			}
			refused = 0
		}
		require.Equal(t, want, b.beats, "%d dwords", dwords)
		require.Equal(t, refused, b.count.packets, "%d dwords", dwords)
		require.Equal(t, checked(number(0, 3), b.epoch), b.frames[len(b.frames)-1])
	}
}
