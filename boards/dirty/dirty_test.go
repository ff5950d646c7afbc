package dirty_test

import (
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"math"
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/boards/dirty"
	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/bus/inproc"
	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/abi/pcicfg"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/abi/reg"
	"github.com/hilgpu/hilgpu/rtl/abi/regmap"
	"github.com/hilgpu/hilgpu/rtl/gpu"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

var seeds = flag.Uint64("dirty.seeds", 400, "`seeds` of TestRegisters")

// constant lists the registers and fields that an earlier host cannot change,
// with the reason. It must change all others.
var constant = map[string]string{
	"CP0.STATUS.RING":    "a unit works only in a node that is busy",
	"CP0.STATUS.WALK":    "a unit works only in a node that is busy",
	"CP0.STATUS.ISSUE":   "a unit works only in a node that is busy",
	"CP1.STATUS.RING":    "a unit works only in a node that is busy",
	"CP1.STATUS.WALK":    "a unit works only in a node that is busy",
	"CP1.STATUS.ISSUE":   "a unit works only in a node that is busy",
	"ID.MAGIC":           "identity",
	"ID.VERSION":         "identity",
	"ID.CAPS":            "the configuration",
	"ID.CAPS2":           "the configuration",
	"ID.MAP_HASH":        "identity",
	"ID.VRAM_SIZE":       "the configuration",
	"ID.CLOCK_HZ":        "the configuration",
	"ID.HOST_BITS":       "the configuration",
	"ID.BUILD":           "the configuration",
	"ID.ERR_INFO.SECOND": "the configuration has no second master",
	"ID.RESET.WHOLE":     "reads as 1 only during a reset",
	"INTC.RAISE":         "reads as 0; the raised events are in STATUS",
	"PERF.CTL.CLEAR":     "reads as 0",
	"PERF.CTL.SNAPSHOT":  "reads as 0",
	"CP0.CTL.RESET":      "reads as 1 only during a reset",
	"CP1.CTL.RESET":      "reads as 1 only during a reset",
	"PBA.PENDING_HI":     "there are two vectors",
	"configuration 0x00": "identity",
	"configuration 0x08": "identity",
	"configuration 0x0c": "identity",
	"configuration 0x14": "not implemented",
	"configuration 0x20": "not implemented",
	"configuration 0x24": "not implemented",
	"configuration 0x28": "not implemented",
	"configuration 0x2c": "identity",
	"configuration 0x30": "not implemented",
	"configuration 0x34": "location of a capability",
	"configuration 0x38": "not implemented",
	"configuration 0x44": "location of the MSI-X table",
	"configuration 0x48": "location of the pending bits",
	"configuration 0x4c": "not implemented",
	"configuration 0x50": "not implemented",
	"configuration 0x54": "not implemented",
	"configuration 0x58": "not implemented",
	"configuration 0x5c": "not implemented",
	"configuration 0x60": "identity",
	"configuration 0x64": "identity",
}

// tooSlow matches counters whose high half stays 0 in a session.
var tooSlow = regexp.MustCompile(`^PERF\.(STALL_READ|STALL_WRITE|STALL_RING|BYTES|PACKETS)_HI`)

// noHost is a host without memory.
type noHost struct{}

var errNoHost = errors.New("no memory")

func (noHost) ReadMem(uint64, []byte) error  { return errNoHost }
func (noHost) WriteMem(uint64, []byte) error { return errNoHost }

// connect connects another host to a device.
func connect(t *testing.T, dev port.Device) *inproc.Link {
	link, err := inproc.New(dev, noHost{}, inproc.Options{})
	require.NoError(t, err)
	return link
}

// left returns a GPU after the session of a seed.
func left(t *testing.T, c gpu.Config, seed uint64) *gpu.GPU {
	g, err := gpu.New(c)
	require.NoError(t, err)
	require.NoError(t, dirty.Leave(g, dirty.Options{Seed: seed, Idle: 1 << 40}), "seed %d", seed)
	return g
}

// config has all features but little VRAM, so that a session is fast.
func config() gpu.Config {
	c := gpu.Default()
	c.VRAMBytes = 64 << 10
	return c
}

// entries returns the registers of the configuration.
func entries() []regmap.Entry {
	return slices.DeleteFunc(regmap.New().Entries(), func(e regmap.Entry) bool { return e.Needs()&(caps.Master|caps.MCU|caps.GART) != 0 })
}

// A seen collects the values of a register over the seeds: the bits that were
// 1, the bits that were 0, and the values of its fields.
type seen struct {
	ones, zeros uint32
	values      map[uint32]bool
}

func (s *seen) add(v uint32) {
	if s.values == nil {
		s.values = map[uint32]bool{}
	}
	s.ones, s.zeros = s.ones|v, s.zeros|^v
	s.values[v] = true
}

// snapshot reads configuration space and all registers, with no side effect
// except latching.
func snapshot(t *testing.T, dev port.Device, see func(name string, v uint32)) {
	link := connect(t, dev)
	for off := 0; off < pcicfg.PCIeEnd; off += 4 {
		v, err := link.ReadConfig(off)
		require.NoError(t, err)
		see(fmt.Sprintf("configuration %#02x", off), v)
	}
	for _, w := range [][2]uint32{{pcicfg.Command, 0}, {pcicfg.BAR0, 0xe0000000}, {pcicfg.BAR2, 0}, {pcicfg.BAR3, 2}, {pcicfg.Command, pcicfg.CommandMemory}} {
		require.NoError(t, link.WriteConfig(int(w[0]), w[1]))
	}
	var p [4]byte
	for _, e := range entries() {
		require.NoError(t, link.Read(0, uint64(e.Off()), p[:]), e.Name())
		see(e.Name(), binary.LittleEndian.Uint32(p[:]))
	}
}

// Over the seeds, every bit of a plain read-write register is both 0 and 1, and
// every field of the other registers except those in constant differs from its
// value after reset.
func TestRegisters(t *testing.T) {
	all := map[string]*seen{}
	for seed := range *seeds {
		snapshot(t, left(t, config(), seed), func(name string, v uint32) {
			if all[name] == nil {
				all[name] = &seen{}
			}
			all[name].add(v)
		})
	}
	for _, e := range entries() {
		fields := e.Reg.Fields
		if len(fields) == 0 {
			fields = []reg.Field{{Mask: math.MaxUint32}}
		}
		for _, f := range fields {
			if f.Needs.Has(caps.MCU) {
				continue
			}
			checkField(t, all[e.Name()], e, f)
		}
	}
	for _, cp := range []string{"CP0", "CP1"} {
		assert.Greater(t, len(all[cp+".FAULT_INFO"].values), 8, "fault causes")
	}
	for off := 0; off < pcicfg.PCIeEnd; off += 4 {
		name := fmt.Sprintf("configuration %#02x", off)
		if off >= pcicfg.LinkCap {
			assert.Len(t, all[name].values, 1, "%s: not implemented, this function has no link to control", name)
			continue
		}
		assert.Equal(t, constant[name] == "", len(all[name].values) > 1, name)
	}
	for name, bits := range map[string]uint32{
		"configuration 0x04": pcicfg.CommandMemory | pcicfg.CommandBusMaster | pcicfg.CommandINTxDisable | pcicfg.StatusReceivedUR,
		"configuration 0x10": 0xffff0000,
		"configuration 0x18": 0xffff0000,
		"configuration 0x1c": 0xffffffff,
		"configuration 0x3c": 0x000000ff,
		"configuration 0x40": pcicfg.MSIXEnable | pcicfg.MSIXFunctionMask,
		"configuration 0x68": pcicfg.DevCtlMaxPayload | pcicfg.DevCtlMaxReadReq | pcicfg.DevStaUnsupported | pcicfg.DevStaNonFatal,
	} {
		assert.Equal(t, bits, all[name].ones&all[name].zeros, "%s: the bits that took both values", name)
	}
}

func checkField(t *testing.T, s *seen, e regmap.Entry, f reg.Field) {
	name := e.Name()
	if tooSlow.MatchString(name) {
		assert.Len(t, s.values, 1, "%s: 2^32 events take too long", name)
		return
	}
	if constant[name] != "" {
		assert.Len(t, s.values, 1, "%s: %s", name, constant[name])
		return
	}
	if f.Name != "" {
		name += "." + f.Name
	}
	values, other := map[uint32]bool{}, false
	for v := range s.values {
		values[f.Get(v)] = true
		other = other || f.Get(v) != f.Get(e.Reg.Reset)
	}
	if constant[name] != "" {
		assert.Len(t, values, 1, "%s: %s", name, constant[name])
		return
	}
	assert.True(t, other, "%s never differs from its value after reset", name)
	assert.Greater(t, len(values), 1, "%s is always the same", name)
	if e.Reg.Access == reg.RW && !e.Reg.Volatile {
		assert.Equal(t, f.Mask, s.ones&s.zeros&f.Mask, "%s: the bits that took both values", name)
	}
}

// The same seed leaves the same state, VRAM included; different seeds leave
// different states.
func TestSeed(t *testing.T) {
	one, two, other := left(t, config(), 3), left(t, config(), 3), left(t, config(), 4)
	assert.Equal(t, one.Hash(), two.Hash())
	assert.NotEqual(t, one.Hash(), other.Hash())
}

// VRAM is nonzero almost everywhere.
func TestVRAM(t *testing.T) {
	g := left(t, config(), 1)
	same := 0
	for off := uint64(0); off < config().VRAMBytes; off += 8 {
		if g.VRAMWord(off) == 0 {
			same++
		}
	}
	assert.Less(t, same, 1024, "words of VRAM are 0 only where packets filled them")
}

// Nothing of the session is in flight after it: a host without memory sees no
// request of the session, and the device accepts a reset.
func TestIdleAfterwards(t *testing.T) {
	tooltest.Long(t)
	for _, c := range []gpu.Config{config(), gpu.Small(), noAperture(), onePort(), full()} {
		for seed := range uint64(64) {
			g := left(t, c, seed)
			req, beat := g.Initiator()
			cpl, _, _ := g.Target()
			require.Equal(t, port.None, req.Kind, "seed %d", seed)
			require.False(t, beat.Valid, "seed %d", seed)
			require.Equal(t, port.CplNone, cpl.Status, "seed %d", seed)
			link := connect(t, g)
			require.NoError(t, link.WriteConfig(pcicfg.DevCtl, pcicfg.DevCtlReset))
			_, err := link.Wait(link.Now() + 1000)
			require.NoError(t, err)
			v, err := link.ReadConfig(pcicfg.Command)
			require.NoError(t, err)
			require.Equal(t, uint32(pcicfg.StatusCapList), v, "seed %d: a function-level reset", seed)
		}
	}
}

func noAperture() gpu.Config {
	c := config()
	c.Caps &^= caps.Aperture
	return c
}

func onePort() gpu.Config {
	c := config()
	c.VRAMPorts, c.VRAMBytes = 1, 8<<10
	return c
}

// silent is a device that accepts no request.
type silent struct{ port.Device }

func (silent) Target() (cpl port.Completion, reqReady, dataReady bool) { return }

// A device that does not answer is an error.
func TestNoAnswer(t *testing.T) {
	g, err := gpu.New(gpu.Small())
	require.NoError(t, err)
	err = dirty.Leave(silent{g}, dirty.Options{Seed: 5})
	assert.ErrorIs(t, err, bus.ErrTimeout)
	assert.ErrorContains(t, err, "seed 5")
}

// neverIdle is a device that reads host memory all the time.
type neverIdle struct{ port.Device }

func (neverIdle) Initiator() (port.Request, port.Beat) {
	return port.Request{Kind: port.MemRead, Len: 1}, port.Beat{}
}

func (d neverIdle) Tick(req port.Request, beat port.Beat, cplReady bool, _ port.Completion, _, _ bool) {
	d.Device.Tick(req, beat, cplReady, port.Completion{}, false, false)
}

func (neverIdle) IdleFor() uint64 { return 0 }

func TestNeverIdle(t *testing.T) {
	tooltest.Long(t)
	g, err := gpu.New(gpu.Small())
	require.NoError(t, err)
	assert.ErrorIs(t, dirty.Leave(neverIdle{g}, dirty.Options{}), dirty.ErrNotIdle)
}
