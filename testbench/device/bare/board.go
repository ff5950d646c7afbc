package bare

import (
	"context"
	"errors"
	"fmt"
	"math/bits"

	"github.com/hilgpu/hilgpu/boards"
	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/rtl/abi/intcreg"
	"github.com/hilgpu/hilgpu/rtl/abi/msixreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pcicfg"
	"github.com/hilgpu/hilgpu/rtl/abi/regmap"
)

// Errors of Open, wrapped with the value that was read.
var (
	ErrDevice = errors.New("bare: not this GPU")
	ErrMap    = errors.New("bare: another register map")
)

// An Opener connects a host to the board of a selector, as boards.Open does.
type Opener func(selector string, host bus.Host) (bus.Link, bus.Clock, error)

// With returns boards.OpenWith with these options.
func With(o boards.Options) Opener {
	return func(selector string, host bus.Host) (bus.Link, bus.Clock, error) {
		return boards.OpenWith(selector, host, o)
	}
}

// A Board is a board ready for work: BARs are set, interrupts are on, nodes are
// stopped and their timelines are 0.
type Board struct {
	*Access
	Nodes      int
	VRAM       uint64 // bytes
	Aperture   bool   // BAR 2 maps VRAM; otherwise packets access it
	HostBits   int
	LengthBits int
	Tags       int

	lines []uint64     // timelines of the nodes before Open
	rated boards.Rated // the link; nil: as fast as its clock
}

// Open connects host to the board and prepares it. It fails with ErrDevice, ErrMap,
// or an error of open. Once ctx is done, accesses fail.
func Open(ctx context.Context, selector string, host *Host, open Opener) (*Board, error) {
	link, clock, err := open(selector, host)
	if err != nil {
		return nil, err
	}
	b := &Board{Access: &Access{Ctx: ctx, Link: link, Clock: clock, Host: host}}
	b.rated, _ = bus.As[boards.Rated](link)
	if err := b.prepare(); err != nil {
		return nil, errors.Join(err, link.Close())
	}
	return b, nil
}

func (b *Board) prepare() error {
	b.SetConfig(pcicfg.Command, 0)
	b.VRAM = b.Size(pcicfg.BAR2)
	b.Aperture = b.VRAM != 0
	b.PlaceBARs()
	magic, hash, caps := b.Reg(idreg.Magic), b.Reg(idreg.MapHash), b.Reg(idreg.Caps)
	switch {
	case b.Err != nil:
		return b.Err
	case magic != idreg.MagicValue:
		return fmt.Errorf("%w: ID.MAGIC is %#08x, want %#08x", ErrDevice, magic, uint32(idreg.MagicValue))
	case hash != regmap.Hash():
		return fmt.Errorf("%w: ID.MAP_HASH is %#08x, want %#08x", ErrMap, hash, regmap.Hash())
	}
	if !b.Aperture {
		b.VRAM = uint64(b.Reg(idreg.VRAMSize))
		b.UsePackets()
	}
	b.Nodes = int(field(caps, idreg.CapsNodes))
	b.Tags = int(field(caps, idreg.CapsTags))
	b.LengthBits = int(field(caps, idreg.CapsLength))
	b.HostBits = int(b.Reg(idreg.HostBits))
	b.Quiesce()
	for i := range b.Nodes {
		n := b.Node(i)
		if err := n.Reset(); err != nil {
			return errors.Join(b.Err, err)
		}
		b.lines = append(b.lines, n.Timeline())
		n.SetTimeline(0)
	}
	b.interrupts()
	return b.Err
}

// field returns the bits of v under mask, shifted down to bit 0.
func field(v, mask uint32) uint32 { return v & mask >> bits.TrailingZeros32(mask) }

// Revive prepares a board again after a function-level reset, except its nodes.
func (b *Board) Revive() {
	b.PlaceBARs()
	b.interrupts()
}

// interrupts sets every vector to write its number to its own address.
func (b *Board) interrupts() {
	for v := range uint32(pcicfg.Vectors) {
		entry := msixreg.Base + v*msixreg.Stride
		b.SetReg(entry+msixreg.AddrLo, MessageBase+0x10*v)
		b.SetReg(entry+msixreg.AddrHi, 0)
		b.SetReg(entry+msixreg.Data, v)
		b.SetReg(entry+msixreg.Control, 0)
	}
	b.SetReg(intcreg.Base+intcreg.Status, intcreg.All)
	b.SetReg(intcreg.Base+intcreg.Mask, intcreg.All)
	b.SetConfig(pcicfg.MSIX, pcicfg.MSIXEnable)
}

// Await waits until done returns true, and reports whether it did before the
// deadline: Limit plus four times the link's transfer time of the given
// bytes. It calls done after every message and at growing intervals.
func (b *Board) Await(bytes uint64, done func() bool) bool {
	hz := b.Clock.Hz()
	began := b.Clock.Now()
	for step := max(1, hz/1000); b.Alive(); step = min(2*step, max(1, hz/100)) { // an emulator takes long for a second
		if done() {
			return b.Err == nil
		}
		now, end := b.Clock.Now(), began+b.Limit()*hz
		if b.rated != nil {
			end += 4 * bytes * max(1, hz/b.rated.BytesPerSecond())
		}
		if now >= end || !b.Alive() {
			return false
		}
		b.Wait(min(now+step, end))
	}
	return false
}

// Close stops the nodes, restores their timelines, turns interrupts off and
// releases the link. It returns the first error of an access.
func (b *Board) Close() error {
	b.Ctx = context.WithoutCancel(b.Ctx)
	for i, line := range b.lines {
		n := b.Node(i)
		if err := n.Reset(); err != nil && b.Err == nil {
			b.Err = err
		}
		n.SetTimeline(line)
	}
	b.SetReg(intcreg.Base+intcreg.Mask, 0)
	b.SetReg(intcreg.Base+intcreg.Status, intcreg.All)
	b.SetConfig(pcicfg.MSIX, 0)
	return errors.Join(b.Err, b.Link.Close())
}
