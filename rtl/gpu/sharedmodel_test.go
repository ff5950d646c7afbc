package gpu_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/arbiter"
	"github.com/hilgpu/hilgpu/rtl/gpu"
	"github.com/hilgpu/hilgpu/rtl/hostbfm"
	"github.com/hilgpu/hilgpu/rtl/regbus"
)

// The masters, as indices.
const (
	byHost = iota
	bySecond
)

// A twoMasters is a model of registers that only their masters change, written from
// docs/registers.md. The nodes do not run.
type twoMasters struct {
	plain    map[uint16]uint32    // registers that read as written
	timeline [2]uint64            // of each node
	latched  [2][2]uint32         // TIMELINE_HI, by master and node
	owner    uint32               // ARB.OWNER
	errors   uint32               // ID.ERR_COUNT
	info     uint32               // ID.ERR_INFO
	addr     uint64               // ID.ERR_ADDR
	masks    map[uint16]uint32    // implemented bits of plain
	seen     map[[3]uint16]uint64 // accesses by master, operation and offset
}

func newTwoMasters() *twoMasters {
	m := &twoMasters{plain: map[uint16]uint32{}, masks: map[uint16]uint32{
		0x20: 0xffffffff, 0x24: 0xffffffff, 0x28: 0xffffffff, 0x2c: 0xffffffff, // SCRATCH
		0x104: 0x303, 0x10c: 0xff, // INTC.MASK and COALESCE_COUNT
		0x300:  0xffffffff,                                   // WDOG.LIMIT
		0x1008: 0xffffffff, 0x100c: 0xffffffff, 0x1010: 0x1f, // RING_BASE and RING_SIZE
		0x1108: 0xffffffff, 0x110c: 0xffffffff, 0x1110: 0x1f,
		0x1058: 0x1fffff, 0x1158: 0x1fffff, // PROGRESS
		0x8000: 0xffffffff, 0x8018: 0xffffffff, // of the MSI-X table
	}, seen: map[[3]uint16]uint64{}}
	return m
}

// offsets are those that are accessed: of the model, and 0x1060, 0xf000 unmapped.
var offsets = []uint16{
	0x20, 0x24, 0x28, 0x2c, 0x104, 0x10c, 0x300, 0x1008, 0x100c, 0x1010, 0x1108, 0x110c, 0x1110, 0x1058, 0x1158, 0x8000, 0x8018,
	0x101c, 0x1048, 0x104c, 0x111c, 0x1148, 0x114c, 0x400, 0x404, 0x404, 0x30, 0x34, 0x38, 0x3c, 0x3c, 0x1060, 0xf000,
}

// access performs an access and returns whether the register exists, whether the
// write is refused, and the value of a read.
func (m *twoMasters) access(master int, r regbus.Req) (hit, refused bool, v uint32) {
	m.seen[[3]uint16{uint16(master), uint16(r.Op), r.Off}]++
	node := int(r.Off >> 8 & 1)
	write := r.Op == regbus.Write
	ofNode := r.Off >= 0x1000 && r.Off < 0x1200
	if write && (ofNode && int(m.owner>>node&1) != master || r.Off == 0x404 && master == bySecond) {
		m.refuse(master, 4, write, r.Off)
		return false, true, 0
	}
	switch off := r.Off; {
	case off == 0x101c || off == 0x111c || off == 0x1048 || off == 0x1148: // FENCE and TIMELINE_LO
		if write {
			m.timeline[node] = m.timeline[node]>>32<<32 | uint64(r.Data)
		} else if off&0xff == 0x48 {
			m.latched[master][node] = uint32(m.timeline[node] >> 32)
		}
		v = uint32(m.timeline[node])
	case off == 0x104c || off == 0x114c: // TIMELINE_HI
		if write {
			m.timeline[node] = m.timeline[node]&0xffffffff | uint64(r.Data)<<32
		}
		v = m.latched[master][node]
	case off == 0x400: // EVENTS
	case off == 0x404:
		v = m.owner
		if write {
			m.owner = r.Data & 3
		}
	case off == 0x30:
		v = m.errors
		if write {
			m.errors = r.Data
		}
	case off == 0x34 && m.info != 0:
		v = uint32(m.addr)
	case off == 0x38 && m.info != 0:
		v = uint32(m.addr >> 32)
	case off == 0x34 || off == 0x38:
	case off == 0x3c:
		v = m.info
		if write {
			m.info = 0
		}
	case m.masks[off] != 0:
		v = m.plain[off]
		if write {
			m.plain[off] = r.Data & m.masks[off]
		}
	default:
		if master == byHost {
			m.refuse(master, 1, write, r.Off)
		}
		return false, false, 0
	}
	if write {
		v = 0
	}
	return true, false, v
}

// refuse captures a refused access.
func (m *twoMasters) refuse(master int, cause uint32, write bool, off uint16) {
	if m.errors+1 != 0 {
		m.errors++
	}
	if m.info != 0 {
		return
	}
	m.info, m.addr = cause, bar0+uint64(off)
	if write {
		m.info |= 1 << 4
	}
	if master == bySecond {
		m.info, m.addr = m.info|1<<5, uint64(off)
	}
}

// A bout is a run of random accesses of both masters at the same time. The order of
// their accesses is that of their answers, one in a clock.
type bout struct {
	*pair
	model *twoMasters
	queue []regbus.Req // of the host, of which the first is in progress
	want  []uint32     // values of the host's reads
	hits  []bool       // whether they succeed
	state int          // index of the state of the PCIe function in words
	was   uint64       // that state in the previous clock
	words []uint64
}

// random returns a random access.
func (b *bout) random() regbus.Req {
	r := regbus.Req{Op: regbus.Op(1 + b.rng.IntN(2)), Off: offsets[b.rng.IntN(len(offsets))], Data: b.rng.Uint32()}
	switch r.Off {
	case 0x1008, 0x1108:
		r.Data &^= 0xfff
	case 0x30:
		r.Data |= -b.rng.Uint32N(2) // sometimes the largest value, which saturates
	}
	return r
}

// The states of the PCIe function that the order depends on.
const (
	stateCpl        = 5
	stateRegReadRsp = 7
	stateRegRsp     = 10
	stateRegNext    = 11
)

// hostEnds applies the host's access that the last clock has ended. One that is
// retried has not ended.
func (b *bout) hostEnds() {
	b.g.Snapshot(b.words)
	state := b.words[b.state]
	read, write := b.was == stateRegReadRsp && state == stateCpl, b.was == stateRegRsp && state == stateRegNext
	if read || write {
		hit, _, v := b.model.access(byHost, b.queue[0])
		b.queue = b.queue[1:]
		if read {
			b.want, b.hits = append(b.want, v), append(b.hits, hit)
		}
	}
	b.was = state
}

// send queues an access of the host.
func (b *bout) send(r regbus.Req) {
	b.queue = append(b.queue, r)
	if r.Op == regbus.Write {
		b.bus.SetReg(uint64(r.Off), r.Data)
		return
	}
	req := port.Request{Kind: port.MemRead, Tag: uint8(b.rng.Uint32()), Len: 1, Addr: bar0 + uint64(r.Off)}
	b.bus.Queue(hostbfm.Op{Req: req, Done: func(s port.Status, data []uint64) {
		require.Equal(b.t, b.hits[0], s == port.CplSuccess, "%+v", r)
		if b.hits[0] {
			require.Equal(b.t, b.want[0], uint32(data[0]>>(8*(r.Off&4))), "the host reads %#x", r.Off)
		}
		b.want, b.hits = b.want[1:], b.hits[1:]
	}})
}

// run performs accesses for a number of clocks.
func (b *bout) run(clocks int) {
	pause, gaps := 0, b.rng.IntN(3)*5
	b.next = func() (regbus.Req, bool) {
		pause--
		return b.random(), pause < 0
	}
	b.done = func(r regbus.Req, a arbiter.Answer, _ uint64) {
		hit, refused, v := b.model.access(bySecond, r)
		require.Equal(b.t, arbiter.Answer{Done: true, Hit: hit, Refused: refused, Data: v}, a, "%+v", r)
		pause = b.rng.IntN(gaps + 1)
	}
	for i := 0; i < clocks || len(b.queue) != 0 || b.bus.Busy() || b.asked.Op != regbus.None; i++ {
		if i >= clocks {
			b.next = nil
			require.Less(b.t, i, clocks+20_000, "an access is not answered")
		} else if !b.bus.Busy() && b.rng.IntN(gaps+1) == 0 {
			b.send(b.random())
		}
		b.tick()
		b.hostEnds()
	}
	b.next, b.done = nil, nil
}

// Random accesses of both masters at the same time have the values of a model. Both
// resets give all nodes back to the host.
func TestTwoMastersAgainstModel(t *testing.T) {
	for seed := range uint64(8) {
		p := bootPair(t, gpu.Default(), seed)
		p.stall = int(p.rng.Uint32N(3)) * 30
		b := &bout{pair: p, words: make([]uint64, gpu.GPUWords)}
		for i, s := range p.g.Signals("gpu", nil) {
			if s.Name == "gpu.pcie.state" {
				b.state = i
			}
		}
		seen := map[[3]uint16]uint64{}
		for round := range 6 {
			b.dev.(pairDevice).Reset()
			b.bus.Forget()
			b.enumerate()
			b.model = newTwoMasters()
			b.run(2500)
			if round&1 == 0 {
				b.resetBoth()
			}
			for k, n := range b.model.seen {
				seen[k] += n
			}
		}
		require.Greater(t, len(seen), 4*len(offsets)-len(offsets), "accesses of each kind, seed %d", seed)
	}
}
