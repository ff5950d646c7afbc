package regs_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/boards/regs"
	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/abi/pcicfg"
	"github.com/hilgpu/hilgpu/rtl/abi/regmap"
)

// A board is a link to simple registers: those in words can be read and
// written, all others are refused, and log lists every access.
type board struct {
	config map[int]uint32
	words  map[uint64]uint32
	hook   func(off uint64) // before a read
	wired  map[uint64]uint32
	log    []string
	down   error
}

// newBoard returns a function with two nodes, already set up.
func newBoard() *board {
	return &board{
		config: map[int]uint32{
			pcicfg.ID: 0x48471234, pcicfg.Command: 0x00100006,
			pcicfg.BAR0: 0xe0000000, pcicfg.BAR2: 0xc, pcicfg.BAR3: 1,
		},
		words: map[uint64]uint32{
			0x00: 0x47504c48, 0x04: 0x10000, 0x08: 0x00201002, 0x0c: regmap.Hash(), 0x10: 1 << 24, 0x14: 100e6, 0x40: 48, 0x48: 0, 0x50: 0x89abcdef,
			0x18: 0x11, 0x1c: 0x22, 0x20: 7, 0x30: 3, 0x3c: 0,
			0x100: 0x101, 0x104: 0x303, 0x108: 0, 0x1000: 3, 0x1004: 1, 0x1008: 0x1000, 0x100c: 0x80000000,
			0x1018: 8, 0x101c: 5, 0x1020: 4, 0x103c: 0xfffffffc, 0x1040: 1,
			0x8000: 0xfee00000, 0x8004: 0, 0x8008: 0, 0x800c: 0,
		},
	}
}

func (b *board) note(format string, args ...any) error {
	b.log = append(b.log, fmt.Sprintf(format, args...))
	return b.down
}

func (b *board) ReadConfig(off int) (uint32, error) {
	return b.config[off], b.note("cfg rd %#x", off)
}

func (b *board) WriteConfig(off int, v uint32) error {
	switch off {
	case pcicfg.Command:
		b.config[off] = b.config[off]&0xffff0000 | v&0xffff
	case pcicfg.BAR0, pcicfg.BAR2:
		b.config[off] = v&^0xf | b.config[off]&0xf
	default:
		b.config[off] = v
	}
	return b.note("cfg wr %#x %#x", off, v)
}

func (b *board) Read(bar int, off uint64, p []byte) error {
	if err := b.note("rd %#x", off); err != nil {
		return err
	}
	if b.config[pcicfg.Command]&pcicfg.CommandMemory == 0 || b.config[pcicfg.BAR0]&^0xf == 0 {
		return bus.ErrUnsupported
	}
	v, ok := b.words[off]
	if bar != 0 || !ok {
		return fmt.Errorf("%w: %#x", bus.ErrAbort, off)
	}
	if b.hook != nil {
		b.hook(off)
		v = b.words[off]
	}
	binary.LittleEndian.PutUint32(p, v)
	return nil
}

func (b *board) Write(_ int, off uint64, p []byte) error {
	v := binary.LittleEndian.Uint32(p)
	b.words[off] = v&^b.wired[off] | b.words[off]&b.wired[off]
	return b.note("wr %#x %#x", off, v)
}

func (b *board) Close() error { return nil }

func open(t *testing.T, b *board) *regs.Function {
	t.Helper()
	f, err := regs.Open(b, regs.Options{})
	require.NoError(t, err)
	b.log = nil
	return f
}

func find(t *testing.T, f *regs.Function, names ...string) []regs.Target {
	t.Helper()
	ts, err := f.Find(names...)
	require.NoError(t, err)
	return ts
}

func TestOpenLeavesARunningDevice(t *testing.T) {
	b := newBoard()
	f, err := regs.Open(b, regs.Options{})
	require.NoError(t, err)
	require.NoError(t, f.Close())
	for _, line := range b.log {
		assert.NotContains(t, line, "wr ")
	}
	assert.Equal(t, regs.Identity{Vendor: 0x1234, Device: 0x4847, Version: "1.0", Build: "89abcdef", MapHash: fmt.Sprintf("%08x", regmap.Hash()),
		Nodes: 2, Tags: 16, LengthBits: 32, HostBits: 48, VRAMBytes: 1 << 24, ClockHz: 100e6}, f.Identity())
}

func TestOpenPutsBackWhatItChanged(t *testing.T) {
	for _, tt := range []struct {
		name    string
		change  func(*board)
		command uint32 // while open
	}{
		{"just powered on", func(b *board) {
			b.config[pcicfg.Command], b.config[pcicfg.BAR0], b.config[pcicfg.BAR3] = 0x00100000, 0, 0
		}, 0x00100002},
		{"decode off", func(b *board) { b.config[pcicfg.Command] = 0x00100004 }, 0x00100006},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBoard()
			tt.change(b)
			before := []uint32{b.config[pcicfg.Command], b.config[pcicfg.BAR0], b.config[pcicfg.BAR2], b.config[pcicfg.BAR3]}
			f := open(t, b)
			assert.Equal(t, tt.command, b.config[pcicfg.Command])
			assert.EqualValues(t, 0xe0000000, b.config[pcicfg.BAR0])
			assert.EqualValues(t, 0xc, b.config[pcicfg.BAR2])
			assert.EqualValues(t, 1, b.config[pcicfg.BAR3])
			require.NoError(t, f.Close())
			require.NoError(t, f.Close())
			assert.Equal(t, before, []uint32{b.config[pcicfg.Command], b.config[pcicfg.BAR0], b.config[pcicfg.BAR2], b.config[pcicfg.BAR3]})
		})
	}
}

// A function without BAR 2 has no second BAR to place.
func TestOpenWithoutBAR2(t *testing.T) {
	b := newBoard()
	b.config[pcicfg.Command], b.config[pcicfg.BAR0], b.config[pcicfg.BAR2], b.config[pcicfg.BAR3] = 0x00100000, 0, 0, 0
	f := open(t, b)
	assert.Zero(t, b.config[pcicfg.BAR3])
	require.NoError(t, f.Close())
}

func TestOpenRefuses(t *testing.T) {
	off := func(b *board) { b.config[pcicfg.Command], b.config[pcicfg.BAR0] = 0, 0 }
	for _, tt := range []struct {
		name   string
		change func(*board)
		want   error
		says   string
	}{
		{"nothing there", func(b *board) { b.config[pcicfg.ID] = 0xffffffff }, regs.ErrDevice, "no answer"},
		{"zeros", func(b *board) { b.config[pcicfg.ID] = 0 }, regs.ErrDevice, "no answer"},
		{"another device", func(b *board) { b.config[pcicfg.ID] = 0x12348086 }, regs.ErrDevice, "8086:1234"},
		{"another magic", func(b *board) { off(b); b.words[0] = 0x484c5047 }, regs.ErrDevice, "0x484c5047"},
		{"another map", func(b *board) { off(b); b.words[0xc]++ }, regs.ErrMapHash, fmt.Sprintf("%08x", regmap.Hash()+1)},
		{"link down", func(b *board) { b.down = bus.ErrLinkDown }, bus.ErrLinkDown, "link down"},
		{"an identity register refused", func(b *board) { delete(b.words, 0x40) }, bus.ErrAbort, "0x40"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBoard()
			tt.change(b)
			command := b.config[pcicfg.Command]
			_, err := regs.Open(b, regs.Options{})
			assert.ErrorIs(t, err, tt.want)
			assert.ErrorContains(t, err, tt.says)
			assert.Equal(t, command, b.config[pcicfg.Command])
		})
	}
	b := newBoard()
	b.words[0xc]++
	delete(b.words, 0x48) // not of that map
	_, err := regs.Open(b, regs.Options{AnyMap: true})
	assert.NoError(t, err)
}

func TestFind(t *testing.T) {
	names := func(n *regs.Names, pattern string) (all []string) {
		ts, err := n.Find(pattern)
		require.NoError(t, err, pattern)
		for _, tt := range ts {
			all = append(all, tt.Name())
		}
		return all
	}
	n := regs.NewNames(caps.Node1)
	for pattern, want := range map[string][]string{
		"CP0.Ctl":           {"cp0.ctl"},
		"cp?.ctl.r*":        {"cp0.ctl.run", "cp0.ctl.reset", "cp1.ctl.run", "cp1.ctl.reset"},
		"cp0.ring_base":     {"cp0.ring_base"},
		"intc":              names(n, "intc.*"),
		"cp*":               names(n, "cp*.*"),
		"*":                 names(n, "*.*"),
		"cp[01].fault_addr": {"cp0.fault_addr", "cp1.fault_addr"},
		"cp0.ring_base_*":   {"cp0.ring_base_lo", "cp0.ring_base_hi"},
		"msix.addr1":        {"msix.addr1"},
		"*.pending_hi":      {"pba.pending_hi"},
		"@0x1004":           {"cp0.status"},
		"@4100":             {"cp0.status"},
		"*.*.cause":         {"id.err_info.cause", "cp0.fault_info.cause", "cp1.fault_info.cause"},
		"id.scratch[2-3]":   {"id.scratch2", "id.scratch3"},
	} {
		assert.Equal(t, want, names(n, pattern), pattern)
	}
	pair, err := n.Find("cp0.ring_base!")
	require.NoError(t, err)
	assert.True(t, pair[0].Forced)
	assert.Equal(t, "CP0.RING_BASE_HI", pair[0].High.Name())
	assert.Equal(t, 64, pair[0].Bits())

	for pattern, says := range map[string]string{
		"cp0.wprt":      "near: cp0.wptr",
		"wptr":          "near: cp0.wptr, cp1.wptr",
		"cp0.ctl.rnu":   "cp0.ctl.run",
		"nonsense.name": "'hilgpu reg list'",
		"":              "want BLOCK.REGISTER",
		"cp0.":          "want BLOCK.REGISTER",
		"a.b.c.d":       "want BLOCK.REGISTER",
		"cp0.[":         "syntax error",
		"@0x1002":       "no register at 0x1002",
		"@x":            "@x",
	} {
		_, err := n.Find(pattern)
		assert.ErrorIs(t, err, regs.ErrName, pattern)
		assert.ErrorContains(t, err, says, pattern)
	}
	_, err = regs.NewNames(0).Find("cp1.ctl")
	assert.ErrorContains(t, err, "which has no node 1")
	assert.Len(t, regs.AllNames().Entries(), 299)
	assert.Len(t, regs.NewNames(caps.Node1|caps.Coalescing).Entries(), 81)
	assert.Len(t, regs.NewNames(caps.Coalescing).Entries(), 58)
	assert.Len(t, regs.NewNames(0).Entries(), 56)
}

func TestValueString(t *testing.T) {
	b := newBoard()
	b.words[0x1004] = 0x8093
	b.words[0x101c] = 77
	f := open(t, b)
	for name, want := range map[string]string{
		"cp0.status": "cp0.status @0x1004 = 0x0000_8093   reset 0x1   volatile\n" +
			"  [0]      idle   1\n  [1]      fault  1\n  [6:4]    state  1 → BODY\n  [9]      in_ib  0\n  [12:10]  ring   0 → IDLE\n" +
			"  [16:13]  walk   4 → LOW\n  [19:17]  issue  0 → IDLE\n  [22:20]  sync   0 → IDLE\n  bits of no field: 0x80\n",
		"cp0.fault_info":       "cp0.fault_info @0x1020 = 0x0000_0004   reset 0x0   volatile\n  [3:0]  cause  4 → ALIGN\n",
		"cp0.fault_info.cause": "cp0.fault_info.cause @0x1020[3:0] = 4 → ALIGN\n",
		"cp0.wptr":             "cp0.wptr @0x1018 = 0x0000_0008 (8 dwords)   reset 0x0\n",
		"cp0.fence":            "cp0.fence @0x101c = 0x0000_004d (77)   reset 0x0   volatile\n",
		"id.caps.length":       "id.caps.length @0x0008[21:16] = 32 bits\n",
		"id.vram_size":         "id.vram_size @0x0010 = 0x0100_0000 (16777216 bytes)\n",
		"cp0.ring_base":        "cp0.ring_base @0x1008 = 0x8000_0000_0000_1000\n",
	} {
		values, _, err := f.ReadAll(find(t, f, name))
		require.NoError(t, err)
		assert.Equal(t, want, values[0].String())
	}
}

func TestNoMemory(t *testing.T) {
	assert.ErrorIs(t, regs.NoMemory{}.ReadMem(0x1000, nil), bus.ErrUnsupported)
	assert.ErrorIs(t, regs.NoMemory{}.WriteMem(0x1000, nil), bus.ErrUnsupported)
}

// full returns a board with every register.
func full() *board {
	b := newBoard()
	for _, e := range regmap.New().Entries() {
		if _, ok := b.words[uint64(e.Off())]; !ok {
			b.words[uint64(e.Off())] = e.Reg.Reset
		}
	}
	return b
}

func TestTake(t *testing.T) {
	b := full()
	b.config[pcicfg.Command], b.config[pcicfg.BAR0], b.config[pcicfg.BAR3] = 0x00100004, 0, 0
	f := open(t, b)
	s, err := f.Take("emu")
	require.NoError(t, err)
	assert.False(t, slices.Contains(b.log, "rd 0x18"), "a read of time_lo latches")
	assert.False(t, slices.Contains(b.log, "rd 0x108"), "raise is write-only")
	assert.Len(t, s.Registers, 75)
	assert.Equal(t, regs.Register{Name: "cp0.ctl", Off: 0x1000, Value: 3}, s.Registers[21])
	assert.Len(t, s.Config, 65)
	assert.Equal(t, regs.Setting{Off: 4, Value: 0x00100004}, s.Config[1], "as it was found")
	assert.Equal(t, regs.Setting{Off: 0x10, Value: 0}, s.Config[4])

	b.down = errors.New("gone")
	_, err = f.Take("emu")
	assert.ErrorIs(t, err, b.down)
}
