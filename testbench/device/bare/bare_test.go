package bare_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/boards"
	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pcicfg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/rtl/abi/regmap"
	"github.com/hilgpu/hilgpu/testbench/device/bare"
)

const ring = pkt.Host | bare.HostBase

func open(t *testing.T, selector string) *bare.Board {
	b, err := bare.Open(context.Background(), selector, bare.NewHost(1<<16), bare.With(boards.Options{}))
	require.NoError(t, err)
	return b
}

func TestHost(t *testing.T) {
	h := bare.NewHost(16)
	watched := uint64(0)
	h.Watch(func(addr uint64) { watched = addr })
	require.NoError(t, h.WriteMem(bare.HostBase+12, []byte{1, 2, 3, 4}))
	assert.Equal(t, uint64(bare.HostBase+12), watched)
	p := make([]byte, 4)
	require.NoError(t, h.ReadMem(bare.HostBase+12, p))
	assert.Equal(t, []byte{1, 2, 3, 4}, p)
	require.NoError(t, h.WriteMem(bare.MessageBase+8, []byte{5, 0, 0, 1}))
	assert.Equal(t, []bare.Message{{Addr: bare.MessageBase + 8, Data: 0x01000005, Size: 4}}, h.Messages())
	for _, addr := range []uint64{0, bare.HostBase - 1, bare.HostBase + 13, 1 << 63} {
		assert.ErrorIs(t, h.ReadMem(addr, p), bare.ErrHost)
	}
	assert.EqualError(t, h.WriteMem(bare.HostBase+13, p), "bare: the device accessed memory outside its host memory: write of 4 bytes at 0x10000d")
	assert.Len(t, h.Refused(), 5)
	assert.Equal(t, bare.Refusal{Addr: bare.HostBase + 13, Bytes: 4, Write: true}, h.Refused()[4])
}

// Open reads the description of a board from its registers.
func TestOpen(t *testing.T) {
	b := open(t, "emu?config=small&latency=3")
	assert.Equal(t, 1, b.Nodes)
	assert.Equal(t, uint64(8<<10), b.VRAM)
	assert.Equal(t, []int{40, 16, 4}, []int{b.HostBits, b.LengthBits, b.Tags})
	require.NoError(t, b.Close())
	assert.ErrorIs(t, b.Close(), bus.ErrClosed)
}

// otherMap is an injected fault that changes MAP_HASH, but not MAGIC.
func otherMap() string {
	for n := range 32 {
		if bit := idreg.MagicValue >> n & 1; uint32(bit) != regmap.Hash()>>n&1 {
			return fmt.Sprintf("stuck-register:D%d=%d", n, bit)
		}
	}
	return ""
}

func TestOpenFails(t *testing.T) {
	for selector, want := range map[string]error{
		"vapour":                          boards.ErrSelector,
		"emu?fault=" + otherMap():         bare.ErrMap,
		"emu?fault=stuck-register:D3=0":   bare.ErrDevice,
		"emu?fault=dead-request&after=10": bus.ErrTimeout,
	} {
		t.Run(selector, func(t *testing.T) {
			_, err := bare.Open(context.Background(), selector, bare.NewHost(64), boards.Open)
			assert.ErrorIs(t, err, want)
		})
	}
}

// A node executes rings in both memories and across their end, and Close restores
// FENCE.
func TestNode(t *testing.T) {
	for _, base := range []uint64{ring, 0x1000} {
		b := open(t, "emu")
		n := b.Node(1)
		n.SetReg(cpreg.Fence, 77)
		require.NoError(t, n.Start(base, cpreg.MinRingLog2, 5))
		for i := range uint32(30) {
			require.NoError(t, n.Do(pkt.NOP{Skip: 3}, pkt.WriteReg{Off: idreg.Scratch0, Value: i}, pkt.Fence{Addr: ring + 0x1000, ID: 6 + i, IRQ: true}))
			require.Equal(t, i, b.Reg(idreg.Scratch0))
			require.Len(t, b.Host.Messages(), int(i+1))
		}
		assert.Equal(t, uint32(30*12%64), n.Wptr())
		assert.Equal(t, byte(35), b.Host.Mem[0x1000])
		require.NoError(t, b.Close())
	}
}

// The error of a node names the cause and its registers.
func TestNodeFails(t *testing.T) {
	b := open(t, "emu")
	n := b.Node(0)
	require.NoError(t, n.Start(ring, 8, 0))
	err := n.Do(pkt.Copy{Src: 1 << 40, Bytes: 8})
	require.ErrorIs(t, err, bare.ErrFault)
	assert.ErrorContains(t, err, "CAUSE=ADDRESS")
	require.NoError(t, n.Start(ring, 8, 0))
	assert.ErrorIs(t, n.Do(pkt.Fill{Dst: pkt.Host, Bytes: 8}), bare.ErrHost)
	assert.ErrorIs(t, n.Start(ring, 3, 0), bare.ErrStuck)
	assert.ErrorIs(t, n.Do(pkt.Fence{Addr: 1}), pkt.ErrAlign)
	require.NoError(t, b.Close())

	b = open(t, "emu?fault=lost-doorbell")
	n = b.Node(0)
	require.NoError(t, n.Start(ring, 8, 0))
	assert.ErrorContains(t, n.Do(pkt.NOP{}), "the doorbell is lost")
	require.NoError(t, b.Close())

	b = open(t, "emu?fault=ignore-reset&after=6&count=1") // four resets are by Open
	n = b.Node(1)
	require.NoError(t, n.Start(ring, 8, 0))
	require.NoError(t, n.Start(ring, 8, 0))
	err = n.Start(ring, 8, 0)
	require.ErrorIs(t, err, bare.ErrStuck)
	assert.ErrorContains(t, err, "CP1.RING_SIZE reads 0x8 after CTL.RESET was set: the reset is ignored")
	require.NoError(t, n.Start(ring, 8, 0))
	require.NoError(t, b.Close())

	b = open(t, "emu?fault=dead")
	n = b.Node(0)
	require.NoError(t, n.Start(ring, 8, 0))
	assert.ErrorIs(t, n.Do(pkt.NOP{}), bare.ErrLost)
	assert.ErrorIs(t, b.Close(), bus.ErrTimeout)
}

// The end of the context ends the accesses, except those of Close.
func TestContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	b, err := bare.Open(ctx, "emu", bare.NewHost(4096), boards.Open)
	require.NoError(t, err)
	require.NoError(t, b.Node(0).Start(ring, 8, 0))
	cancel()
	assert.False(t, b.Await(0, func() bool { return false }))
	assert.Zero(t, b.Reg(idreg.Magic))
	assert.ErrorIs(t, b.Close(), context.Canceled)
}

// After a function-level reset, Revive makes the board usable again.
func TestRevive(t *testing.T) {
	b := open(t, "emu")
	b.SetConfig(pcicfg.DevCtl, pcicfg.DevCtlReset)
	require.True(t, b.Until(func() bool { return b.Config(pcicfg.Command)&pcicfg.CommandMemory == 0 }))
	b.Revive()
	n := b.Node(1)
	require.NoError(t, n.Start(ring, 8, 0))
	require.NoError(t, n.Do(pkt.Fence{Addr: ring + 0x1000, ID: 6, IRQ: true}))
	assert.Len(t, b.Host.Messages(), 1)
	require.NoError(t, b.Close())
}

// Without an aperture, packets access VRAM: in the ring of node 0, or in a ring of
// their own, whose use leaves no trace.
func TestVRAMWithoutAperture(t *testing.T) {
	for _, selector := range []string{"emu", "emu?aperture=0", "emu?config=small&aperture=0&vram=16KiB"} {
		b := open(t, selector)
		assert.Equal(t, selector == "emu", b.Aperture, selector)
		assert.Contains(t, []uint64{16 << 10, 16 << 20}, b.VRAM, selector)
		want := make([]byte, 10000)
		for i := range want {
			want[i] = byte(i*7 + i>>8)
		}
		got := make([]byte, len(want))
		n := b.Node(0)
		n.SetReg(cpreg.Fence, 41)
		b.WriteVRAM(100, want)
		b.ReadVRAM(100, got)
		require.NoError(t, b.Err, selector)
		require.Equal(t, want, got, selector)
		assert.Zero(t, n.Reg(cpreg.Ctl), selector)
		assert.Equal(t, uint32(41), n.Reg(cpreg.Fence), selector)
		require.NoError(t, n.Start(ring, cpreg.MinRingLog2, 5))
		for i := range uint64(20) { // across the end of the ring
			require.NoError(t, n.Do(pkt.Fill{Dst: 0x200 + 8*i, Bytes: 4, Value: i + 1}))
			b.WriteVRAM(0x204+8*i, []byte{1, 2, 3, 4})
			b.ReadVRAM(0x200+8*i, got[:8])
			require.Equal(t, []byte{byte(i + 1), 0, 0, 0, 1, 2, 3, 4}, got[:8], selector)
		}
		assert.Equal(t, uint32(5), n.Reg(cpreg.Fence), selector)
		require.NoError(t, n.Start(0x1000, cpreg.MinRingLog2, 5), "a ring in VRAM")
		if b.Aperture {
			require.NoError(t, n.Do(pkt.Fill{Dst: 0x300, Bytes: 8, Value: 9}))
			require.NoError(t, b.Close())
		} else {
			n.Push(make([]byte, 4))
			require.ErrorIs(t, b.Close(), bare.ErrRing)
		}
	}
}

// A failed packet is the error of the access.
func TestVRAMMoveFails(t *testing.T) {
	b := open(t, "emu?config=small&aperture=0")
	p := []byte{1, 2, 3, 4}
	b.ReadVRAM(b.VRAM-3, p)
	assert.ErrorIs(t, b.Err, bare.ErrFault)
	assert.Equal(t, make([]byte, 4), p)
	b.WriteVRAM(0, p)
	assert.ErrorIs(t, b.Close(), bare.ErrFault)
}

// A board reports its capabilities.
func TestCapabilities(t *testing.T) {
	for _, c := range caps.Table {
		for i, want := range []caps.Set{0, c.Bit} {
			b := open(t, fmt.Sprintf("emu?config=small&%s=%d", c.Option(), i))
			assert.Equal(t, want, b.Capabilities()&c.Bit, c.Name)
		}
	}
	assert.True(t, open(t, "emu").Capabilities().Has(caps.Node1))
}

// patient is a link with a time-out.
type patient struct {
	bus.Link
	timeout time.Duration
}

func (p patient) Timeout() time.Duration { return p.timeout }
func (p patient) Unwrap() bus.Link       { return p.Link }

// A board gets the time that its selector allows for a request, and not less than TimeoutSeconds.
func TestLimit(t *testing.T) {
	for timeout, want := range map[time.Duration]uint64{time.Second: 2, 7 * time.Second: 7} {
		b, err := bare.Open(context.Background(), "emu", bare.NewHost(1<<16), func(selector string, host bus.Host) (bus.Link, bus.Clock, error) {
			link, clock, err := bare.With(boards.Options{})(selector, host)
			return patient{link, timeout}, clock, err
		})
		require.NoError(t, err)
		hz, at := b.Clock.Hz(), b.Clock.Now()
		assert.False(t, b.Until(func() bool { return false }))
		assert.Equal(t, want, (b.Clock.Now()-at)/hz)
		at = b.Clock.Now()
		assert.False(t, b.Await(0, func() bool { return false }))
		assert.Equal(t, want, (b.Clock.Now()-at)/hz)
		require.NoError(t, b.Close())
	}
}
