package bringup_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"encoding/xml"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/boards"
	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/rtl/abi/intcreg"
	"github.com/hilgpu/hilgpu/rtl/abi/msixreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pcicfg"
	"github.com/hilgpu/hilgpu/rtl/abi/reg"
	"github.com/hilgpu/hilgpu/rtl/abi/wdogreg"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
	"github.com/hilgpu/hilgpu/testbench/device/bringup"
)

func run(t *testing.T, o bringup.Options) *bringup.Report {
	t.Helper()
	r, err := bringup.Run(t.Context(), o)
	require.NoError(t, err)
	return r
}

// result returns the result of a stage.
func result(t *testing.T, r *bringup.Report, stage string) bringup.Result {
	t.Helper()
	for _, res := range r.Results {
		if res.Stage == stage {
			return res
		}
	}
	require.Fail(t, "no stage "+stage)
	return bringup.Result{}
}

// failures returns the names of the failed stages.
func failures(r *bringup.Report) []string {
	var names []string
	for _, res := range r.Results {
		if res.Status == bringup.Fail {
			names = append(names, res.Stage)
		}
	}
	return names
}

// text is the entire text of a report.
func text(r *bringup.Report) string {
	var b strings.Builder
	for _, res := range r.Results {
		b.WriteString(res.Line())
	}
	return b.String() + r.Summary()
}

func TestHealthy(t *testing.T) {
	tooltest.Long(t)
	for _, o := range []bringup.Options{
		{},
		{Board: "emu?config=small", Seed: 3, Bytes: 1 << 40},
		{Board: "emu?config=small", Poke: reg.Destructive},
		{Board: "emu?config=small&vram=16KiB&latency=300&bandwidth=1", Poke: reg.Idle},
		{Board: "emu?config=small&hz=1000000"},
		{Board: "emu?config=small&vram=4KiB"},
		{Board: "emu?config=small&aperture=0", Bytes: 1 << 40},
		{Board: "emu?aperture=0&vramports=1"},
		{Board: "emu?config=full", Poke: reg.Destructive},
		{Board: "emu?config=small&mcu=1&master=1&aperture=0"},
		{Board: "line?config=small"},
		{Board: "line?config=small&aperture=0&vramports=1", Bytes: 4096},
		{Board: "line?config=small&faults=loss=0.05,dup=0.03,flip=0.02,truncate=0.01,reorder=0.02,seed=3"},
	} {
		r := run(t, o)
		assert.True(t, r.OK(), "%s:\n%s", o.Board, text(r))
		assert.Len(t, r.Results, len(bringup.Stages()))
		assert.False(t, r.LinkFailed())
		assert.NoError(t, r.Cause())
	}
	r := run(t, bringup.Options{Board: "emu?nodes=1&vram=1MiB&hostbits=40&hz=12000000"})
	d := r.Device
	assert.Equal(t, []any{1, uint64(1 << 20), uint32(40), uint32(12000000), uint32(0x1234), uint32(0x4847)},
		[]any{d.Nodes, d.VRAM, d.HostBits, d.ClockHz, d.Vendor, d.Product})
}

// TestPinsHealthy: the gateware of a board passes all stages.
func TestPinsHealthy(t *testing.T) {
	tooltest.Long(t)
	r := run(t, bringup.Options{Board: "pins:ice40-hx8k", Bytes: 4096})
	assert.True(t, r.OK(), text(r))
}

// The same board, seed and options give the same report.
func TestDeterministic(t *testing.T) {
	o := bringup.Options{Board: "emu?config=small&fault=bit-flip:0.01@4", Seed: 9}
	assert.Equal(t, run(t, o), run(t, o))
}

// A reserved capability bit adds a detail.
func TestReservedCapabilities(t *testing.T) {
	res := result(t, run(t, bringup.Options{Board: "emu?config=small&fault=stuck-register:D31=1", Seed: 5}), "ident.id")
	assert.Equal(t, bringup.Fail, res.Status)
	details := strings.Join(res.Details, "\n")
	assert.Contains(t, details, "ID.CAPS is 0xb0100401, of which 0x80000000 is reserved")
	assert.Contains(t, details, "ID.CAPS2 is 0x80000000, of which 0x80000000 is reserved")
}

// A stage that needs a failed stage is not run and says why; the others run.
func TestDependencies(t *testing.T) {
	r := run(t, bringup.Options{Board: "emu?config=small&fault=stuck-address:A8=1"})
	for stage, why := range map[string]string{
		"mem.enables":  "not run: needs mem.addr, which failed",
		"mem.patterns": "not run: needs mem.addr, which failed",
		"dma.copy":     "not run: needs mem.enables, which was not run",
	} {
		res := result(t, r, stage)
		assert.Equal(t, bringup.Skip, res.Status)
		assert.Equal(t, why, res.Summary)
	}
	for _, stage := range []string{"irq.message", "ring.wrap", "fence.order"} {
		assert.Equal(t, bringup.OK, result(t, r, stage).Status)
	}
	assert.Equal(t, []int{15, 1, 8}, []int{r.Passed, r.Failed, r.Skipped})
	assert.False(t, r.OK())

	for _, stage := range []string{"link.rate", "mcu.load", "mcu.regs", "mcu.boot", "mcu.message"} {
		res := result(t, r, stage)
		assert.Equal(t, bringup.Skip, res.Status)
		assert.True(t, res.Absent)
	}

	r = run(t, bringup.Options{Board: "emu?config=small&timeout=20000&fault=dead"})
	assert.Equal(t, "not run: the board stopped answering in cp.start", result(t, r, "fence.order").Summary)
	assert.ErrorIs(t, r.Cause(), bus.ErrTimeout)
}

func TestOnly(t *testing.T) {
	for _, tt := range []struct {
		only []string
		want []string
	}{
		{[]string{"mem.addr"}, []string{"mem.addr"}},
		{[]string{"config", "link.trips"}, []string{"link.trips", "config.header", "config.command"}},
		{[]string{"dma.copy"}, []string{"dma.copy"}},
		{[]string{"fence"}, []string{"fence.order"}},
	} {
		r := run(t, bringup.Options{Board: "emu?config=small", Only: tt.only})
		var names []string
		for _, res := range r.Results {
			names = append(names, res.Stage)
		}
		assert.Equal(t, tt.want, names)
		assert.True(t, r.OK(), text(r))
	}
	r := run(t, bringup.Options{Board: "emu?config=small&fault=stuck-address:A5=0", Only: []string{"regs.access", "mem.data", "dma.copy"}})
	details := result(t, r, "dma.copy").Details
	assert.Equal(t, "relies on link.trips, ident.id, config.header, config.command, regs.data, cp.start, mem.addr, mem.enables, mem.patterns, "+
		"excluded by --only", details[len(details)-1])

	_, err := bringup.Run(t.Context(), bringup.Options{Only: []string{"mem.lines"}})
	require.ErrorIs(t, err, bringup.ErrOptions)
	assert.ErrorContains(t, err, `no stage "mem.lines", want one of link.trips, link.errors`)
	_, err = bringup.Run(t.Context(), bringup.Options{Board: "vapour"})
	assert.ErrorIs(t, err, boards.ErrSelector)
}

// Registers and configuration space that the stages write are restored.
func TestRestores(t *testing.T) {
	const bar0, bar2 = 0xd0000000, 0x3_0000_0000
	at := map[uint64]uint32{
		idreg.Base + idreg.Scratch0: 0x11111111, idreg.Base + idreg.Scratch3: 0x33333333,
		intcreg.Base + intcreg.CoalesceCount: 9, intcreg.Base + intcreg.CoalesceTime: 5000, wdogreg.Base + wdogreg.Limit: 777,
		intcreg.Base + intcreg.Mask: intcreg.Done0, msixreg.Base + msixreg.AddrLo: 0xfee00040,
		msixreg.Base + msixreg.Data: 7, msixreg.Base + msixreg.Control: 0, cpreg.Base + cpreg.Fence: 41,
	}
	s := &spy{}
	open := func(selector string, host bus.Host) (bus.Link, bus.Clock, error) {
		link, clock, err := s.over(selector, host)
		for _, w := range [][2]uint32{
			{pcicfg.BAR0, bar0}, {pcicfg.BAR2, bar2 & 0xffffffff}, {pcicfg.BAR3, bar2 >> 32},
			{pcicfg.Command, pcicfg.CommandMemory}, {pcicfg.MSIX, pcicfg.MSIXEnable},
		} {
			require.NoError(t, link.WriteConfig(int(w[0]), w[1]))
		}
		for off, v := range at {
			require.NoError(t, link.Write(0, off, binary.LittleEndian.AppendUint32(nil, v)))
		}
		check := func() {
			for off, want := range map[int]uint32{
				pcicfg.BAR0: bar0, pcicfg.BAR2: bar2&0xffffffff | 0xc, pcicfg.BAR3: bar2 >> 32,
				pcicfg.Command: pcicfg.CommandMemory | pcicfg.StatusCapList,
				pcicfg.MSIX:    pcicfg.MSIXEnable | 1<<16 | pcicfg.PCIe<<8 | pcicfg.MSIXCapID,
			} {
				v, err := s.Link.ReadConfig(off)
				require.NoError(t, err)
				assert.Equal(t, want, v, "configuration %#x", off)
			}
			p := make([]byte, 4)
			for off, want := range at {
				require.NoError(t, s.Link.Read(0, off, p))
				assert.Equal(t, want, binary.LittleEndian.Uint32(p), "register %#x", off)
			}
		}
		return &closing{Link: link, last: check}, clock, err
	}
	r := run(t, bringup.Options{Board: "emu?config=small&coalescing=1&watchdog=1", Open: open, Poke: reg.Idle})
	assert.True(t, r.OK(), text(r))
	details := strings.Join(result(t, r, "regs.reset").Details, "\n")
	assert.Contains(t, details, "INTC.MASK=0x1 (DONE0=1 DONE1=0 FIRMWARE=0 HUNG=0 FAULT0=0 FAULT1=0), reset value 0x0: written since")
}

// A register fault names the register.
func TestRegistersNamed(t *testing.T) {
	for _, tt := range []struct {
		stage string
		off   uint64
		wrong func(v uint32) uint32
		text  string
	}{
		{"regs.reset", msixreg.PendingBase + 4, func(uint32) uint32 { return 4 }, "PBA.PENDING_HI=0x4 @0x9004, want 0x0: D2 reads 1"},
		{"regs.access", intcreg.Base + intcreg.Mask, func(v uint32) uint32 { return v &^ intcreg.Fault1 }, "INTC.MASK=0x0 (DONE0=0 DONE1=0 FIRMWARE=0 HUNG=0 FAULT0=0 FAULT1=0) @0x0104 after 0x200 was written, want 0x200: D9 reads 0"},
		{"regs.unmapped", idreg.Base + idreg.ErrCount, func(uint32) uint32 { return 0 }, "ID.ERR_COUNT after an unmapped read is 0x0, want 0x1"},
		{"ident.id", idreg.Base + idreg.MapHash, func(v uint32) uint32 { return v ^ 1<<31 }, "ID.MAP_HASH is"},
		{"ident.id", idreg.Base + idreg.TimeLo, func(uint32) uint32 { return 9 }, "ID.TIME_LO stays at 0x9"},
		{"ident.id", idreg.Base + idreg.VRAMSize, func(v uint32) uint32 { return 2 * v }, "ID.VRAM_SIZE is 0x4000, BAR 2 has size 0x2000"},
		{"irq.message", intcreg.Base + intcreg.Status, func(uint32) uint32 { return 0 }, "INTC.STATUS is 0x0 after DONE0 was raised under INTC.MASK, want 0x1"},
	} {
		s := &spy{read: func(bar int, off uint64, p []byte, err error) error {
			if bar == 0 && off == tt.off && err == nil {
				binary.LittleEndian.PutUint32(p, tt.wrong(binary.LittleEndian.Uint32(p)))
			}
			return err
		}}
		r := run(t, bringup.Options{Board: "emu?config=small", Open: s.over})
		res := result(t, r, tt.stage)
		assert.Equal(t, bringup.Fail, res.Status, tt.text)
		assert.Contains(t, res.Line(), tt.text)
	}
	wrong := map[int]func(v uint32) uint32{
		pcicfg.BAR0:  func(v uint32) uint32 { return v &^ 0x10000 },
		pcicfg.Class: func(v uint32) uint32 { return v ^ 1<<24 },
		pcicfg.MSIX:  func(v uint32) uint32 { return v + 1<<16 },
	}
	for off, text := range map[int]string{
		pcicfg.BAR0: "BAR 0 has size 0x20000 bytes, want 0x10000", pcicfg.Class: "class code is 0x28000, want 0x38000",
		pcicfg.MSIX: "MSI-X table size is 0x3, want 0x2",
	} {
		s := &spy{config: func(at int, v uint32, err error) (uint32, error) {
			if at == off {
				v = wrong[off](v)
			}
			return v, err
		}}
		r := run(t, bringup.Options{Board: "emu?config=small", Open: s.over, Only: []string{"config.header"}})
		assert.Contains(t, r.Results[0].Line(), text)
	}
}

// The files of a report agree with it.
func TestFiles(t *testing.T) {
	r := run(t, bringup.Options{Board: "emu?config=small&fault=dead-lane:3", Seed: 2})
	var j, x, h bytes.Buffer
	require.NoError(t, r.WriteJSON(&j))
	var back bringup.Report
	require.NoError(t, json.Unmarshal(j.Bytes(), &back))
	assert.Equal(t, *r, back)

	require.NoError(t, r.WriteJUnit(&x))
	var doc struct {
		Suites []struct {
			Tests    int `xml:"tests,attr"`
			Failures int `xml:"failures,attr"`
			Skipped  int `xml:"skipped,attr"`
			Cases    []struct {
				Name    string `xml:"name,attr"`
				Failure *struct {
					Text string `xml:",chardata"`
				} `xml:"failure"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	require.NoError(t, xml.Unmarshal(x.Bytes(), &doc))
	require.Len(t, doc.Suites, 1)
	s := doc.Suites[0]
	assert.Equal(t, []int{len(r.Results), r.Failed, r.Skipped}, []int{s.Tests, s.Failures, s.Skipped})
	for _, c := range s.Cases {
		assert.Equal(t, c.Name == "mem.data", c.Failure != nil, c.Name)
		if c.Failure != nil {
			assert.Contains(t, c.Failure.Text, "byte lane 3 (D24 to D31) always reads 0xff")
		}
	}

	require.NoError(t, r.WriteHTML(&h))
	for _, text := range []string{"byte lane 3 (D24 to D31) always reads 0xff", "--only mem.data --seed 2", "1 failed", "config=small&amp;fault=dead-lane:3"} {
		assert.Contains(t, h.String(), text)
	}
	assert.NotContains(t, h.String(), "src=")
	assert.NotContains(t, h.String(), "href=")
}
