package hostbfm

import (
	"math/rand/v2"

	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/abi/regmap"
	"github.com/hilgpu/hilgpu/rtl/gpu"
	"github.com/hilgpu/hilgpu/rtl/noc"
	"github.com/hilgpu/hilgpu/rtl/refmodel"
)

// Layout of the random host. Rings and indirect buffers are in the low half of its
// memory or at the start of VRAM; data is above them.
const (
	memBase  = uint64(0x1_8000_0000)
	memSize  = 1 << 16
	dataFrom = memSize / 2
	messages = uint64(0xfee0_0000)
)

// A Device is driven by a Stimulus: a GPU, or a GPU in lockstep with its Verilog.
type Device interface {
	port.Device
	Reset()
	Config() gpu.Config
}

// A Stimulus is a PC that does, at random, everything a PC may do to a GPU: it
// configures the function, submits good and bad packets, accesses registers and
// VRAM, turns the function off and on, and resets it. It answers requests late, out
// of order and with errors, and it holds back every ready signal. If the device is a
// Second with caps.Master, its second master accesses registers at the same time. A
// microcontroller runs random programs, which it loads and debugs. The pages of an aperture
// change, also while they are used.
type Stimulus struct {
	*Bus
	Saw      Coverage
	Restless bool // resets are always frequent, and not only in some phases

	dev      Device
	config   refmodel.Config
	aperture bool
	regs     []regmap.Entry // all registers of BAR0
	phase    uint64         // clock of the next change of Timing
	restless bool           // resets are frequent
	started  uint64         // clock of the last reset
	brief    uint64         // clock of the next reset after a brief boot; 0: none
	quiet    uint64         // clock of the next request
	nodes    []node
	table    uint64 // GPU address of the table of the aperture
	second   second
}

// Coverage counts events, so that a test can check that a run is useful.
type Coverage struct {
	Resets   int // clocks with the reset input set
	Restarts int // whole and function-level resets that have ended
	Late     int // reads in flight when a burst ended
	InVRAM   int // observed advances of the read pointer of a ring in VRAM
	Odd      int // indirect buffers that begin in the upper half of a beat
	Messages int
	Writes   int    // beats written by the device
	Reads    int    // reads by the device
	Spare    int    // those whose tag is a spare one, because their own is retired
	Fences   int    // fence values written
	Answers  int    // to the second master
	Refused  int    // those that refuse a write
	Programs int    // loaded into the microcontroller
	MCU      [3]int // reads of MCU.STATUS with each of its bits: asleep, halted, hung
	Flushing int    // reads of GART.FLUSH while it was busy
	Pages    [4]int // faults of pages by GART.FAULT.KIND

	Status  [4]int          // completions of the target port by port.Status
	Causes  map[uint32]int  // faults that the host found, by cpreg.Cause
	ErrInfo map[uint32]bool // causes seen in ID.ERR_INFO
}

// ModelConfig returns the part of a configuration that packets depend on.
func ModelConfig(c gpu.Config) refmodel.Config {
	return refmodel.Config{
		Nodes: c.Nodes, HostBits: c.HostBits, LengthBits: c.LengthBits, VRAM: c.VRAMBytes, Caps: c.Caps,
	}
}

// NewStimulus returns a host for a device and queues the boot of the function. Equal
// seeds give equal runs.
func NewStimulus(dev Device, seed uint64) *Stimulus {
	rng := rand.New(rand.NewPCG(seed, 0x6c6f636b))
	h := &Stimulus{
		Bus: &Bus{Dev: dev, Rng: rng, Mem: make([]byte, memSize), Base: memBase},
		dev: dev, config: ModelConfig(dev.Config()), aperture: dev.Config().Caps.Has(caps.Aperture), regs: regmap.New().Entries(),
	}
	for i := range h.Mem {
		h.Mem[i] = byte(rng.Uint32())
	}
	h.second = newSecond(dev, seed)
	h.nodes = make([]node, h.config.Nodes)
	h.Saw.Causes, h.Saw.ErrInfo = map[uint32]int{}, map[uint32]bool{}
	h.Took = func(r port.Request) {
		if r.Kind == port.MemRead {
			h.Saw.Reads++
			if r.Tag>>4 == noc.ReadTarget {
				h.Saw.Spare++
			}
		}
	}
	h.Beat = func() { h.Saw.Writes++ }
	h.Wrote = h.wrote
	h.Completed = func(s port.Status) { h.Saw.Status[s]++ }
	h.boot()
	return h
}

// change picks new random Timing for a while.
func (h *Stimulus) change() {
	h.phase = h.Clocks + 100 + h.Rng.Uint64N(3000)
	h.Timing = Timing{Jitter: 1 + h.Rng.Uint64N(60), Shuffle: true}
	if h.restless = h.percent(2); h.restless {
		h.phase += 20_000
	}
	stalls := []int{0, 0, 10, 50, 90}
	for i := range h.Stall {
		h.Stall[i] = stalls[h.Rng.IntN(len(stalls))]
	}
	h.Gap = stalls[h.Rng.IntN(len(stalls))]
	if h.percent(20) {
		h.Errors = 100
	}
	switch {
	case h.percent(10):
		h.Jitter = 500
	case h.config.Caps.Has(caps.ReadTimeout) && h.percent(5):
		h.Jitter = 5000 // longer than short time-outs
	}
}

// Step runs the host and the device for one clock.
func (h *Stimulus) Step() {
	if h.Clocks >= h.phase {
		h.change()
	}
	h.second.step(&h.Saw)
	if h.resetNow() {
		h.reset()
		return
	}
	switch {
	case h.Queued() || h.Clocks < h.quiet || h.percent(h.Gap):
	case h.brief != 0:
		h.probe()
	default:
		h.plan()
	}
	h.Bus.Step()
}

// resetNow reports whether the next clock has the reset input set. In some phases resets are
// frequent, mostly during an access of the host.
func (h *Stimulus) resetNow() bool {
	switch {
	case h.brief != 0:
		return h.Clocks >= h.brief
	case !h.restless && !h.Restless || h.Clocks-h.started < 800:
		return h.Rng.IntN(20_000) == 0
	case h.Busy():
		return h.Rng.IntN(150) == 0
	}
	return h.Rng.IntN(600) == 0
}

// reset runs one clock with the reset input set.
func (h *Stimulus) reset() {
	h.dev.Reset()
	h.Clocks++
	h.started, h.quiet = h.Clocks, 0
	h.Saw.Resets++
	h.Forget()
	h.second.waits = false
	if h.brief = 0; h.Restless && h.percent(80) {
		h.bootBriefly()
		return
	}
	h.boot()
}

// wrote counts a write by the device.
func (h *Stimulus) wrote(w port.Request, _ []byte) {
	if w.Addr&^0xfff == messages {
		h.Saw.Messages++
	}
	if off := w.Addr - memBase; off >= fencesAt && off < fencesAt+16*uint64(len(h.nodes)) {
		h.Saw.Fences++
	}
}
