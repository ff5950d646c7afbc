package pcie

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pcicfg"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/ident"
	"github.com/hilgpu/hilgpu/rtl/regbus"
)

func TestConfigSpace(t *testing.T) {
	// Values after reset and after writing all ones, by hand from PCI 3.0 §6.1,
	// §6.8.2 and PCIe 3.0 §7.8; all other dwords read 0.
	want := map[uint64][2]uint32{
		0x00: {0x48471234, 0x48471234},
		0x04: {0x00100000, 0x00100406},
		0x08: {0x03800001, 0x03800001},
		0x10: {0, 0xffff0000},
		0x18: {0x0000000c, 0xffffc00c},
		0x1c: {0, 0xffffffff},
		0x2c: {0x00011234, 0x00011234},
		0x34: {0x40, 0x40},
		0x3c: {0, 0xff},
		0x40: {0x00016011, 0xc0016011},
		0x44: {0x00008000, 0x00008000},
		0x48: {0x00009000, 0x00009000},
		0x60: {0x00020010, 0x00020010},
		0x64: {0x10000000, 0x10000000},
		0x68: {0x00002000, 0x000070e0},
	}
	b := newBench(t)
	for off := uint64(0); off < 0x1000; off += 4 {
		require.Equal(t, want[off][0], b.readConfig(off), "offset %#x after reset", off)
	}
	for off := uint64(0); off < 0x1000; off += 4 {
		b.config(off, 0xffffffff)
	}
	for off := uint64(0); off < 0x1000; off += 4 {
		require.Equal(t, want[off][1], b.readConfig(off), "offset %#x after all ones", off)
	}
	b.m.Reset()
	for off := uint64(0); off < 0x1000; off += 4 {
		require.Equal(t, want[off][0], b.readConfig(off), "offset %#x after reset", off)
	}
}

// TestMaxPayload: the field of DevCap, PCIe 3.0 §7.8.3.
func TestMaxPayload(t *testing.T) {
	b := newBench(t)
	b.m = New(vramSize, caps.Aperture, 5)
	assert.Equal(t, uint32(0x10000005), b.readConfig(0x64))
	b.m.Reset()
	assert.Equal(t, uint32(0x10000005), b.readConfig(0x64))
}

// A write of the reset bit requests one reset and is completed. The reset clears
// the writable state, and does not disturb a register read.
func TestFunctionLevelReset(t *testing.T) {
	b := mapped(t)
	b.regs[0x20] = 0x1234
	asked := 0
	clock := func(in Target, rst bool) (cpl port.Completion) {
		cpl, _, _ = b.m.Target()
		rsp := b.rsp
		b.register(Carry(b.m.Regs(), in.Beat))
		was, sleeps := b.m, b.m.Sleeps(in, Master{}, rst)
		b.m.Tick(in, true, rsp, VRAM{}, Master{}, Share{}, rst)
		if sleeps {
			require.Equal(t, was, b.m, "a clock of sleep")
		}
		if b.m.Function() {
			asked++
			assert.Zero(t, b.m.IdleFor())
		}
		return cpl
	}
	req := port.Request{Kind: port.CfgWrite, Tag: 5, Len: 1, Addr: pcicfg.DevCtl}
	beat := port.Beat{Valid: true, Last: true, Enable: 0xf, Data: pcicfg.DevCtlReset}
	clock(Target{Req: req}, false)
	clock(Target{}, false)
	clock(Target{Beat: beat}, false)
	assert.Equal(t, port.CplSuccess, clock(Target{}, false).Status)
	assert.True(t, b.m.cfg.memory, "until the reset")
	clock(Target{Req: port.Request{Kind: port.MemRead, Tag: 6, Len: 1, Addr: uint64(b.m.cfg.bar0) + 0x20}}, false)
	clock(Target{}, false)
	var got []port.Completion
	for i := range 6 {
		if cpl := clock(Target{}, i == 1); cpl.Status != port.CplNone {
			got = append(got, cpl)
		}
	}
	require.Len(t, got, 1)
	got[0].Data &= 0xffffffff
	assert.Equal(t, port.Completion{Tag: 6, Status: port.CplSuccess, Last: true, Data: 0x1234}, got[0])
	assert.Equal(t, 1, asked)
	assert.Equal(t, resetConfig(), b.m.cfg)

	b.config(pcicfg.DevCtl, 0x7fff)
	assert.False(t, b.m.Function())
}

// A function-level reset wakes the function, and an error keeps it awake for the
// clock in which it is reported.
func TestWakes(t *testing.T) {
	b := mapped(t)
	assert.True(t, b.m.Sleeps(Target{}, Master{}, false))
	assert.False(t, b.m.Sleeps(Target{}, Master{}, true))
	b.m.cause = idreg.ErrDecode
	assert.False(t, b.m.Sleeps(Target{}, Master{}, false))
	b.m.Tick(Target{}, false, regbus.Rsp{}, VRAM{}, Master{}, Share{}, false)
	assert.Zero(t, b.m.Err().Cause)
}

func TestConfigByteEnables(t *testing.T) {
	for enable := range uint8(16) {
		b := newBench(t)
		b.config(pcicfg.BAR3, 0x11223344)
		b.configBytes(pcicfg.BAR3, 0xaabbccdd, enable)
		want := uint32(0)
		for i := range 4 {
			v := uint32(0x11223344)
			if enable>>i&1 != 0 {
				v = 0xaabbccdd
			}
			want |= v & (0xff << (8 * i))
		}
		assert.Equal(t, want, b.readConfig(pcicfg.BAR3), "enable %#x", enable)
	}
	b := newBench(t)
	b.configBytes(pcicfg.Command, 0xffffffff, 0x2)
	assert.Equal(t, uint32(0x00100400), b.readConfig(pcicfg.Command), "only byte 1")
	b.configBytes(pcicfg.MSIX, 0xffffffff, 0x7)
	assert.Equal(t, uint32(0x00016011), b.readConfig(pcicfg.MSIX))
	b.configBytes(pcicfg.MSIX, 0xffffffff, 0x8)
	assert.Equal(t, uint32(0xc0016011), b.readConfig(pcicfg.MSIX))
}

func TestStatusBits(t *testing.T) {
	for _, tt := range []struct {
		name   string
		master Master
		off    uint64
		bit    uint32
	}{
		{"completer abort", Master{Status: port.CplAbort}, pcicfg.Command, 1 << 28},
		{"unsupported request", Master{Status: port.CplUnsupported}, pcicfg.Command, 1 << 29},
		{"success", Master{Status: port.CplSuccess}, pcicfg.Command, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t)
			b.master = tt.master
			b.tick(Target{})
			b.master = Master{}
			assert.Equal(t, 0x00100000|tt.bit, b.readConfig(tt.off))
			b.config(tt.off, 0)
			assert.Equal(t, 0x00100000|tt.bit, b.readConfig(tt.off), "0 clears nothing")
			b.config(tt.off, tt.bit)
			assert.Equal(t, uint32(0x00100000), b.readConfig(tt.off))
		})
	}
	b := newBench(t)
	b.master = Master{Pending: true}
	b.tick(Target{})
	assert.Equal(t, uint32(0x00202000), b.readConfig(pcicfg.DevCtl), "transactions pending")
	b.master = Master{}
	b.tick(Target{})
	assert.Equal(t, uint32(0x00002000), b.readConfig(pcicfg.DevCtl))
}

func TestOutputs(t *testing.T) {
	for _, tt := range []struct {
		command, msix        uint32
		master, enable, mask bool
	}{
		{0, 0, false, false, false},
		{pcicfg.CommandBusMaster, 0, true, false, false},
		{0, pcicfg.MSIXEnable, false, false, false},
		{pcicfg.CommandBusMaster, pcicfg.MSIXEnable, true, true, false},
		{pcicfg.CommandBusMaster, pcicfg.MSIXEnable | pcicfg.MSIXFunctionMask, true, true, true},
	} {
		b := newBench(t)
		b.config(pcicfg.Command, tt.command)
		b.config(pcicfg.MSIX, tt.msix)
		enable, mask := b.m.MSIX()
		assert.Equal(t, tt.master, b.m.BusMaster())
		assert.Equal(t, tt.enable, enable)
		assert.Equal(t, tt.mask, mask)
	}
}

func TestDecode(t *testing.T) {
	for _, tt := range []struct {
		name    string
		command uint32
		addr    uint64
		hit     bool
	}{
		{"first dword of BAR0", pcicfg.CommandMemory, bar0, true},
		{"last dword of BAR0", pcicfg.CommandMemory, bar0 + 0xfffc, true},
		{"below BAR0", pcicfg.CommandMemory, bar0 - 4, false},
		{"after BAR0", pcicfg.CommandMemory, bar0 + 0x10000, false},
		{"BAR0 above 4 GiB", pcicfg.CommandMemory, 1<<32 | bar0, false},
		{"first dword of BAR2", pcicfg.CommandMemory, bar2, true},
		{"last dword of BAR2", pcicfg.CommandMemory, bar2 + vramSize - 4, true},
		{"below BAR2", pcicfg.CommandMemory, bar2 - 4, false},
		{"after BAR2", pcicfg.CommandMemory, bar2 + vramSize, false},
		{"BAR2 below 4 GiB", pcicfg.CommandMemory, bar2 & 0xffffffff, false},
		{"memory decode off", pcicfg.CommandBusMaster, bar0, false},
		{"memory decode off, BAR2", pcicfg.CommandBusMaster, bar2, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := mapped(t)
			b.config(pcicfg.Command, tt.command)
			b.regs[0], b.regs[0xfffc] = 1, 1
			got := b.request(port.Request{Kind: port.MemRead, Tag: 3, Len: 1, Addr: tt.addr})
			require.Len(t, got, 1)
			if tt.hit {
				assert.Equal(t, port.CplSuccess, got[0].Status)
				assert.Empty(t, b.errs)
				return
			}
			got[0].Data = 0
			assert.Equal(t, port.Completion{Tag: 3, Status: port.CplUnsupported, Last: true}, got[0])
			assert.Equal(t, uint32(0x00082000), b.readConfig(pcicfg.DevCtl))
			b.config(pcicfg.DevCtl, 1<<19|2<<12)
			assert.Equal(t, uint32(0x00002000), b.readConfig(pcicfg.DevCtl))

			beat := lanes(tt.addr, 5, 0xf)
			two := port.Beat{Valid: true, Enable: 0xff}
			b.request(port.Request{Kind: port.MemWrite, Len: 3, Addr: tt.addr &^ 7}, two, beat)
			assert.Empty(t, b.ops)
			assert.Empty(t, b.beats)
			assert.Equal(t, uint32(0x000a2000), b.readConfig(pcicfg.DevCtl))
			assert.Equal(t, []ident.Error{{Cause: 3, BAR: 7, Addr: tt.addr}, {Cause: 3, Write: true, BAR: 7, Addr: tt.addr &^ 7}}, b.errs)
		})
	}
}

// An access that a block does not accept is retried. Meanwhile nothing is written
// or answered.
func TestRetry(t *testing.T) {
	b := mapped(t)
	b.regs[0], b.regs[4], b.regs[8] = 0x11, 0x22, 0x33
	b.retries = 3
	got := b.request(port.Request{Kind: port.MemRead, Tag: 3, Len: 3, Addr: bar0})
	require.Len(t, got, 2)
	assert.Equal(t, port.Completion{Tag: 3, Status: port.CplSuccess, Data: 0x2200000011}, got[0])
	got[1].Data &= 0xffffffff
	assert.Equal(t, port.Completion{Tag: 3, Status: port.CplSuccess, Last: true, Data: 0x33}, got[1])
	var offs []uint16
	for _, r := range b.ops {
		assert.Equal(t, regbus.Read, r.Op)
		offs = append(offs, r.Off)
	}
	assert.Equal(t, []uint16{0, 0, 0, 0, 4, 4, 4, 4, 8, 8, 8, 8}, offs)

	b.ops = nil
	b.request(port.Request{Kind: port.MemWrite, Len: 3, Addr: bar0 + 4},
		port.Beat{Valid: true, Enable: 0xf0, Data: 0x44 << 32}, port.Beat{Valid: true, Last: true, Enable: 0xff, Data: 0x6600000055})
	assert.Equal(t, map[uint16]uint32{0: 0x11, 4: 0x44, 8: 0x55}, b.regs)
	assert.Len(t, b.ops, 9, "two writes retried three times, and one to an unmapped register")
	assert.Len(t, b.errs, 1)
	assert.Equal(t, []string{"register", "register"}, b.order)
}

// Without the aperture there is no BAR 2 at any address. A request to where it
// would be is unsupported.
func TestNoAperture(t *testing.T) {
	b := newBench(t)
	b.m = New(vramSize, 0, 0)
	b.config(pcicfg.BAR0, bar0)
	b.config(pcicfg.Command, pcicfg.CommandMemory)
	for _, base := range []uint64{bar2, 0, 0xffffffff_ffffffff} {
		b.config(pcicfg.BAR2, uint32(base&0xffffffff))
		b.config(pcicfg.BAR3, uint32(base>>32))
		assert.Zero(t, b.readConfig(pcicfg.BAR2))
		assert.Zero(t, b.readConfig(pcicfg.BAR3))
		at := base &^ (vramSize - 1)
		b.errs = nil
		got := b.request(port.Request{Kind: port.MemRead, Tag: 3, Len: 1, Addr: at})
		require.Len(t, got, 1)
		assert.Equal(t, port.CplUnsupported, got[0].Status)
		assert.Empty(t, b.request(port.Request{Kind: port.MemWrite, Len: 1, Addr: at}, lanes(at, 1, 0xf)))
		assert.Equal(t, []ident.Error{{Cause: 3, BAR: 7, Addr: at}, {Cause: 3, Write: true, BAR: 7, Addr: at}}, b.errs)
	}
	assert.Empty(t, b.writes)
	assert.Empty(t, b.beats)
	b.regs[0x10] = 5
	got := b.request(port.Request{Kind: port.MemRead, Tag: 1, Len: 1, Addr: bar0 + 0x10})
	require.Len(t, got, 1)
	assert.Equal(t, port.CplSuccess, got[0].Status)
	assert.Equal(t, uint32(5), uint32(got[0].Data))
	b.m.Reset()
	assert.Equal(t, uint64(math.MaxUint64), b.m.IdleFor())
}

func TestSleep(t *testing.T) {
	b := mapped(t)
	assert.Equal(t, uint64(math.MaxUint64), b.m.IdleFor())
	was := b.m
	b.m.Skip(9)
	b.tick(Target{})
	assert.Equal(t, was, b.m)
	b.tick(Target{Req: port.Request{Kind: port.CfgRead, Len: 1}})
	assert.Zero(t, b.m.IdleFor())
	b.tick(Target{})
	assert.Zero(t, b.m.IdleFor())
	b.tick(Target{})
	assert.Equal(t, uint64(math.MaxUint64), b.m.IdleFor())
	b.latency = 40
	b.tick(Target{Req: port.Request{Kind: port.MemRead, Len: 1, Addr: bar2}})
	b.tick(Target{})
	assert.Zero(t, b.m.IdleFor(), "the header is offered")
	b.tick(Target{})
	assert.Equal(t, uint64(math.MaxUint64), b.m.IdleFor(), "waits for VRAM")
}
