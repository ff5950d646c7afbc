// Package regmap joins the register blocks to the map of BAR0, finds registers
// by name and by offset, and hashes the map together with the packets.
package regmap

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/hilgpu/hilgpu/rtl/abi/arbreg"
	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/gartreg"
	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/rtl/abi/intcreg"
	"github.com/hilgpu/hilgpu/rtl/abi/mcureg"
	"github.com/hilgpu/hilgpu/rtl/abi/msixreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pcicfg"
	"github.com/hilgpu/hilgpu/rtl/abi/perfreg"
	"github.com/hilgpu/hilgpu/rtl/abi/reg"
	"github.com/hilgpu/hilgpu/rtl/abi/tracereg"
	"github.com/hilgpu/hilgpu/rtl/abi/wdogreg"
)

// An Entry is a register and its block.
type Entry struct {
	Block reg.Block
	Reg   reg.Reg
}

// Off returns the offset in BAR0, in bytes.
func (e Entry) Off() uint32 { return e.Block.Base + e.Reg.Off }

// Name returns the name that Find takes, as in "CP0.CTL".
func (e Entry) Name() string { return e.Block.Name + "." + e.Reg.Name }

// Needs returns the capabilities without which the register does not exist.
func (e Entry) Needs() caps.Set { return e.Block.Needs | e.Reg.Needs }

// In reports whether a device with these capabilities has the register.
func (e Entry) In(have caps.Set) bool { return have.Has(e.Needs()) }

// Format returns a value of the register with its fields; see reg.Format.
func (e Entry) Format(value uint32) string { return reg.Format(e.Block, e.Reg, value) }

// A Map has all registers of BAR0. It is immutable.
type Map struct {
	blocks  []reg.Block
	entries []Entry // by offset
	names   map[string]int
}

// New returns the map of the GPU. CP1 is in it for any configuration; with one
// node its registers are unmapped. New panics if a table has a mistake.
func New() *Map { return newMap(blocks()) }

func blocks() []reg.Block {
	bs := []reg.Block{idreg.Block, intcreg.Block, perfreg.Block, wdogreg.Block, arbreg.Block, gartreg.Block, mcureg.Block, mcureg.Debug}
	for n := range cpreg.Nodes {
		bs = append(bs, cpreg.Block(n))
	}
	for n := range tracereg.Nodes {
		bs = append(bs, tracereg.Block(n))
	}
	return append(bs, msixreg.Table, msixreg.Pending)
}

func newMap(bs []reg.Block) *Map {
	if err := reg.Check(bs...); err != nil {
		panic(err)
	}
	m := &Map{blocks: bs, names: map[string]int{}}
	for _, b := range bs {
		if end := uint64(b.Base) + uint64(b.Size); end > pcicfg.BAR0Size {
			panic(fmt.Errorf("%w: %s ends at %#x, want within BAR0, %#x", reg.ErrTable, b.Name, end, pcicfg.BAR0Size))
		}
		for _, r := range b.Regs {
			m.entries = append(m.entries, Entry{b, r})
		}
	}
	slices.SortFunc(m.entries, func(x, y Entry) int { return cmp.Compare(x.Off(), y.Off()) })
	for i, e := range m.entries {
		m.names[e.Name()] = i
	}
	return m
}

// Blocks returns the blocks, by base.
func (m *Map) Blocks() []reg.Block { return slices.Clone(m.blocks) }

// Entries returns all registers by offset.
func (m *Map) Entries() []Entry { return slices.Clone(m.entries) }

// Lookup returns the register at an offset in BAR0, in bytes, and false if no
// register begins there.
func (m *Map) Lookup(off uint32) (Entry, bool) {
	i, ok := slices.BinarySearchFunc(m.entries, off, func(e Entry, off uint32) int { return cmp.Compare(e.Off(), off) })
	if !ok {
		return Entry{}, false
	}
	return m.entries[i], true
}

// Find returns the register with a name as in "CP0.CTL", and false if there is
// none. Names are in upper case.
func (m *Map) Find(name string) (Entry, bool) {
	i, ok := m.names[name]
	if !ok {
		return Entry{}, false
	}
	return m.entries[i], true
}
