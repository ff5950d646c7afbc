package lockstep

import (
	"encoding/binary"
	"math/rand/v2"

	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/abi/regmap"
	"github.com/hilgpu/hilgpu/rtl/gpu"
)

// Where things are in the random host. Rings and indirect buffers are in the
// low half of its memory, or at the start of VRAM, data above them.
const (
	memBase  = uint64(0x1_8000_0000)
	memSize  = 1 << 16
	dataFrom = memSize / 2
	messages = uint64(0xfee0_0000)
)

// device is what a random host drives: a GPU, or one in lockstep.
type device interface {
	port.Device
	Reset()
	Config() gpu.Config
}

// host is a PC that does everything a PC may do to a GPU, at random: it
// configures, submits packets good and bad, accesses registers and VRAM, turns
// the function off and on, resets it, answers its requests late, out of order
// and with errors, and holds back every ready. Its next clock depends on the
// seed and on what the device drives.
type host struct {
	dev device
	rng *rand.Rand
	mem []byte

	regs []regmap.Entry // all registers of BAR0

	mood  mood
	ops   []op // not yet sent; the first one may be under way
	sent  bool // the header of ops[0] is taken
	shown bool // what is next of ops[0] is offered, and stays so
	await []op // sent, to be completed, in order

	reads   []*deviceRead
	writes  []port.Request // whose beats are awaited
	written int            // beats of writes[0]

	nodes []node
	bars  bars
	saw   coverage
}

// A mood is how fast the host is for a while.
type mood struct {
	until   uint64 // clock of the host
	stall   [4]int // per cent of clocks in which a ready is low, for each ready
	gap     int    // per cent of clocks in which an offer does not start
	latency uint64
	errors  int // per mille of the device's reads that fail
}

// coverage counts what happened, so that a test can see that a run is worth it.
type coverage struct {
	clock    uint64
	resets   int
	restarts int // whole and function-level resets that have ended
	late     int // reads that were under way when a burst ended
	inVRAM   int // times that the read pointer of a ring in VRAM was seen to move
	messages int
	writes   int // beats of the device
	reads    int
	status   [4]int          // completions of the target port by status
	causes   map[uint32]int  // of faults that the host found
	errInfo  map[uint32]bool // causes in ID.ERR_INFO
	fences   int             // writes of fences
}

// deviceRead is a read of the device that is not yet answered.
type deviceRead struct {
	req  port.Request
	due  uint64
	beat uint8
	fail uint8 // beats that are good before an error; 255: all
	data []byte
}

func newHost(dev device, seed uint64) *host {
	h := &host{dev: dev, rng: rand.New(rand.NewPCG(seed, 0x6c6f636b)), mem: make([]byte, memSize), regs: regmap.New().Entries()}
	for i := range h.mem {
		h.mem[i] = byte(h.rng.Uint32())
	}
	h.nodes = make([]node, dev.Config().Nodes)
	h.saw.causes, h.saw.errInfo = map[uint32]int{}, map[uint32]bool{}
	h.boot()
	return h
}

// percent is true so often.
func (h *host) percent(n int) bool { return n > 0 && h.rng.IntN(100) < n }

// change picks a mood.
func (h *host) change() {
	h.mood = mood{until: h.saw.clock + 100 + h.rng.Uint64N(3000), latency: 1 + h.rng.Uint64N(60)}
	stalls := []int{0, 0, 10, 50, 90}
	for i := range h.mood.stall {
		h.mood.stall[i] = stalls[h.rng.IntN(len(stalls))]
	}
	h.mood.gap = stalls[h.rng.IntN(len(stalls))]
	if h.percent(20) {
		h.mood.errors = 100
	}
	if h.percent(10) {
		h.mood.latency = 500
	}
}

// clock is one clock of the host and the device.
func (h *host) clock() {
	if h.saw.clock >= h.mood.until {
		h.change()
	}
	h.saw.clock++
	if h.rng.IntN(20000) == 0 {
		h.reset()
		return
	}
	if len(h.ops) == 0 && !h.percent(h.mood.gap) {
		h.plan()
	}
	cpl, reqReady, dataReady := h.dev.Target()
	up, upBeat := h.dev.Initiator()
	req, beat := h.offer()
	down := h.complete()
	cplReady := !h.percent(h.mood.stall[0])
	upReady := !h.percent(h.mood.stall[1])
	// A beat of a header that is taken in this clock is legal too.
	owed := len(h.writes) > 0 || upReady && up.Kind == port.MemWrite
	upBeatReady := owed && !h.percent(h.mood.stall[2])
	h.dev.Tick(req, beat, cplReady, down, upReady, upBeatReady)
	if up.Kind != port.None && upReady {
		h.take(up)
	}
	if upBeat.Valid && upBeatReady {
		h.takeBeat(upBeat)
	}
	h.sentOne(req.Kind != port.None && reqReady, beat.Valid && dataReady)
	if cpl.Status != port.CplNone && cplReady {
		h.completed(cpl)
	}
}

// reset is a clock with the reset input set: all that was under way is gone.
func (h *host) reset() {
	h.dev.Reset()
	h.saw.resets++
	h.ops, h.await, h.sent, h.shown = nil, nil, false, false
	h.reads, h.writes, h.written = nil, nil, 0
	h.boot()
}

// take takes a header of the device.
func (h *host) take(r port.Request) {
	if r.Kind == port.MemWrite {
		h.writes = append(h.writes, r)
		return
	}
	h.saw.reads++
	d := &deviceRead{req: r, due: h.saw.clock + 1 + h.rng.Uint64N(h.mood.latency), fail: 255}
	if off := r.Addr - memBase; off < memSize && off+4*uint64(r.Len) <= memSize {
		d.data = append(d.data, h.mem[off:off+4*uint64(r.Len)]...)
	} else {
		d.fail = 0
	}
	if h.rng.IntN(1000) < h.mood.errors {
		d.fail = uint8(h.rng.IntN(int(port.Beats(r.Addr, r.Len))))
	}
	h.reads = append(h.reads, d)
}

// takeBeat takes a beat of the device's oldest write.
func (h *host) takeBeat(b port.Beat) {
	h.saw.writes++
	w := h.writes[0]
	at := w.Addr&^7 + 8*uint64(h.written) - memBase
	for i := range uint64(8) {
		if b.Enable>>i&1 != 0 && at+i < memSize {
			h.mem[at+i] = byte(b.Data >> (8 * i))
		}
	}
	h.written++
	if b.Last {
		if w.Addr&^0xfff == messages {
			h.saw.messages++
		}
		if off := w.Addr - memBase; off >= fencesAt && off < fencesAt+16*uint64(len(h.nodes)) {
			h.saw.fences++
		}
		h.writes, h.written = h.writes[1:], 0
	}
}

// complete returns the completion of this clock: of any read that is due.
func (h *host) complete() port.Completion {
	pick := -1
	for i, r := range h.reads {
		if r.due <= h.saw.clock && (pick < 0 || h.percent(50)) {
			pick = i
		}
	}
	if pick < 0 || h.percent(h.mood.stall[3]) {
		return port.Completion{}
	}
	r := h.reads[pick]
	c := port.Completion{Tag: r.req.Tag, Status: port.CplSuccess, Data: h.rng.Uint64()}
	if r.beat >= r.fail {
		c.Status, c.Last = port.CplUnsupported+port.Status(h.rng.IntN(2)), true
	} else {
		at := r.req.Addr&^7 + 8*uint64(r.beat) - r.req.Addr
		for i := range uint64(8) {
			if at+i < uint64(len(r.data)) {
				c.Data = c.Data&^(0xff<<(8*i)) | uint64(r.data[at+i])<<(8*i)
			}
		}
		r.beat++
		c.Last = r.beat == port.Beats(r.req.Addr, r.req.Len)
	}
	if c.Last {
		h.reads = append(h.reads[:pick:pick], h.reads[pick+1:]...)
	}
	return c
}

// store puts bytes at a GPU address, a multiple of 4: at once in host memory,
// through the aperture in VRAM.
func (h *host) store(addr uint64, p []byte) {
	if addr>>63 != 0 {
		copy(h.mem[addr<<1>>1-memBase:], p)
		return
	}
	for len(p) > 0 {
		n := min(len(p), int(128-addr%128))
		h.ops = append(h.ops, h.bars.write(h.bars.bar2+addr, p[:n]))
		addr, p = addr+uint64(n), p[n:]
	}
}

// dword returns the bytes of a dword.
func dword(v uint32) []byte { return binary.LittleEndian.AppendUint32(nil, v) }
