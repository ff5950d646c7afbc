package refmodel_test

import (
	"encoding/binary"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/rtl/refmodel"
	"github.com/hilgpu/hilgpu/rtl/refmodel/vectors"
)

// newDevice returns the device of the vectors, without one capability.
func newDevice(lacks string) *refmodel.Device {
	c := refmodel.Config{
		Nodes: vectors.Nodes, HostBits: vectors.HostBits, LengthBits: vectors.LengthBits, VRAM: vectors.VRAM,
		Caps: caps.All(),
	}
	for _, cap := range caps.Table {
		if cap.Option() == lacks {
			c.Caps &^= cap.Bit
		}
	}
	if lacks == "nodes" {
		c.Nodes = 1
	}
	return refmodel.New(c, &refmodel.Memory{VRAM: make([]byte, vectors.VRAM), Host: make([]byte, vectors.HostSize), HostBase: vectors.HostBase})
}

// The model gives the outcomes that the vectors specify.
func TestVectors(t *testing.T) {
	for _, v := range vectors.All() {
		t.Run(v.Name, func(t *testing.T) {
			d := newDevice(v.Lacks)
			n := d.Nodes[0]
			v.Load(d.Mem.VRAM, d.Mem.Host)
			want := d.Mem.Clone()
			n.Protect, n.Fence, n.Progress = v.Protect, v.Fence, v.Progress
			n.Ring = refmodel.Ring{Base: pkt.Host | vectors.HostBase + vectors.RingAt, Dwords: vectors.RingDwords, Wptr: uint32(len(v.RingBytes()) / 4)}
			stop := refmodel.Idle
			switch {
			case v.Fault != nil:
				stop = refmodel.Faulted
			case v.Waits:
				stop = refmodel.Waiting
			}
			require.Equal(t, stop, n.Run(nil))
			got := vectors.Outcome{
				Cause: cpreg.Causes[n.Fault.Cause], FaultAddr: n.Fault.Addr, FaultOp: n.Fault.Op, FaultBad: n.Fault.Bad,
				Rptr: n.Ring.Rptr, IBLeft: n.IBLeft, Packets: n.Packets, Timeline: n.Fence, Done: n.Done > 0, Scratch: d.Scratch,
			}
			if v.Fault != nil && !v.Fault.Known {
				got.FaultBad = 0
			}
			assert.Equal(t, v.Outcome(), got)
			for _, addr := range n.Stamps {
				d.Mem.Fill(addr, 8, 0x1122334455667788)
			}
			assert.Equal(t, v.Stamp != "", len(n.Stamps) == 1)
			v.Want(want.VRAM, want.Host, d.Mem.VRAM, d.Mem.Host)
			assert.Equal(t, want, d.Mem)
			assert.Empty(t, n.Unclear)
		})
	}
}

// The vectors contain every packet retired and refused, and every cause that a packet
// can have while bus mastering is on.
func TestVectorsCoverTheTable(t *testing.T) {
	causes, retired, names := map[uint32]bool{}, map[uint8]bool{}, map[string]bool{}
	for _, v := range vectors.All() {
		assert.False(t, names[v.Name], v.Name)
		names[v.Name] = true
		if v.Fault != nil {
			causes[v.Fault.Cause] = true
		} else if b := v.RingBytes(); !v.Waits {
			for len(b) > 0 { // dwords that a PREDICATE skips need not be packets
				l, _, rest, err := pkt.Next(b)
				if err != nil {
					break
				}
				retired[l.Op], b = true, rest
			}
		}
	}
	for _, l := range pkt.Table {
		assert.True(t, retired[l.Op], l.Name)
	}
	for cause := uint32(1); cause < uint32(len(cpreg.Causes)); cause++ {
		assert.Equal(t, cause != cpreg.CauseRing && cause != cpreg.CauseWriteError, causes[cause], cpreg.Causes[cause])
	}
}

// The parts before and after a preemption together equal the complete packet.
func TestPartAndRest(t *testing.T) {
	state := func(surface, base, pitch uint32) []uint32 {
		return pkt.Dwords(pkt.OpSetState, surface, base, 0, pitch, 0, 0, 0x40004000)
	}
	for _, tt := range []struct {
		name  string
		p     []uint32
		most  []uint64 // bytes written at each of the values of PROGRESS
		stops []uint32 // those values
		never []uint32 // values at which the packet cannot stop
	}{
		{"FILL", pkt.Dwords(pkt.OpFill, 0x4001, 0, 0x2003, 0x44332211, 0x88776655),
			[]uint64{0, 0x1000, 0x2000}, []uint32{0, 1, 2}, []uint32{3, 1 << 15}},
		{"COPY", pkt.Dwords(pkt.OpCopy, 0x1005, 0, 0x8003, 0, 0x2003),
			[]uint64{0, 0x1000, 0x2000}, []uint32{0, 1, 2}, []uint32{3, 1 << 15}},
		{"FILL_2D", pkt.Dwords(pkt.OpFill2D, 0, 0x0003_0007, 0x44332211, 0x88776655),
			[]uint64{0, 7, 14}, []uint32{0, 1, 2}, []uint32{3, 1 << 15}},
		{"COPY_2D", pkt.Dwords(pkt.OpCopy2D, 0, 0, 0x0003_0007),
			[]uint64{0, 7, 14}, []uint32{0, 1, 2}, []uint32{3, 1 << 15}},
		{"FILL_2D of long rows", pkt.Dwords(pkt.OpFill2D, 0, 0x0002_2001, 0x44332211, 0x88776655),
			[]uint64{0, 0x1000, 0x2000, 0x2001, 0x2021}, []uint32{0, 1 << 15, 2 << 15, 1, 1 | 1<<15}, []uint32{2, 3 << 15, 1 | 3<<15}},
	} {
		whole := newDevice("")
		n := whole.Nodes[0]
		vectors.Vector{}.Load(whole.Mem.VRAM, whole.Mem.Host)
		for _, p := range [][]uint32{state(0, 0x133, 16), state(1, 0xc000, 32)} {
			n.Do(p, n.Judge(p, refmodel.Site{}))
		}
		before := whole.Clone()
		v := n.Judge(tt.p, refmodel.Site{})
		n.Do(tt.p, v)
		op := uint8(tt.p[0] >> 24)
		for _, never := range tt.never {
			assert.False(t, v.Extent(op).Stops(never), "%s, PROGRESS %#x", tt.name, never)
		}
		for i, done := range tt.stops {
			require.True(t, v.Extent(op).Stops(done), "%s, PROGRESS %#x", tt.name, done)
			d := before.Clone()
			m := d.Nodes[0]
			m.Part(m.Judge(tt.p, refmodel.Site{}), op, done)
			changed := uint64(0)
			for i := range d.Mem.VRAM {
				if d.Mem.VRAM[i] != before.Mem.VRAM[i] {
					assert.Equal(t, whole.Mem.VRAM[i], d.Mem.VRAM[i], tt.name)
					changed++
				}
			}
			assert.LessOrEqual(t, changed, tt.most[i], tt.name)
			assert.Equal(t, done > 0, changed > 0, tt.name)
			assert.Equal(t, done, m.Progress)
			m.Do(tt.p, m.Judge(tt.p, refmodel.Site{Done: m.Progress}))
			assert.True(t, slices.Equal(whole.Mem.VRAM, d.Mem.VRAM), "%s, PROGRESS %#x", tt.name, done)
		}
	}
}

// The model does not guess results that the documents leave open.
func TestUndefined(t *testing.T) {
	for _, tt := range []struct {
		name string
		ring []uint32
		want refmodel.Stop
	}{
		{"COPY onto itself", pkt.Dwords(pkt.OpCopy, 0x100, 0, 0x103, 0, 4), refmodel.Declined},
		{"RESTORE_STATE of a state that is cut off", pkt.Dwords(pkt.OpRestoreState, 0x80000000+vectors.HostSize-128, 0x8000_0001), refmodel.Declined},
		{"a packet that the host has not finished", pkt.Dwords(pkt.OpCopy, 0x100, 0, 0x200, 0, 4)[:3], refmodel.Incomplete},
		{"COPY_2D onto itself", slices.Concat(
			pkt.Dwords(pkt.OpSetState, 0, 0x1000, 0, 16, 0, 0, 0x40004000),
			pkt.Dwords(pkt.OpSetState, 1, 0x1013, 0, 16, 0, 0, 0x40004000),
			pkt.Dwords(pkt.OpCopy2D, 0, 0, 0x0002_0004)), refmodel.Declined},
	} {
		d := newDevice("")
		n := d.Nodes[0]
		d.Mem.Host = d.Mem.Host[:vectors.HostSize-64]
		d.Mem.Store(pkt.Host|vectors.HostBase+vectors.RingAt, pkt.Bytes(tt.ring))
		n.Ring = refmodel.Ring{Base: pkt.Host | vectors.HostBase + vectors.RingAt, Dwords: vectors.RingDwords, Wptr: uint32(len(tt.ring))}
		assert.Equal(t, tt.want, n.Run(nil), tt.name)
	}
}

// A copy whose read fails may or may not have written the answered bytes, and has
// written the rows before them.
func TestReadFailsMidway(t *testing.T) {
	d := newDevice("")
	n := d.Nodes[0]
	vectors.Vector{}.Load(d.Mem.VRAM, d.Mem.Host)
	last := uint64(vectors.HostSize - 4)
	p := pkt.Dwords(pkt.OpCopy, uint32(vectors.HostBase+last), 0x8000_0001, 0x100, 0, 8)
	v := n.Judge(p, refmodel.Site{})
	assert.Equal(t, uint32(cpreg.CauseReadError), v.Cause)
	assert.Equal(t, pkt.Host|vectors.HostBase+last, v.Bad)
	n.Do(p, v)
	assert.Equal(t, map[uint64]byte{0x100: 0x03, 0x101: 0x02, 0x102: 0x01, 0x103: 0x00}, n.Unclear)
	assert.Equal(t, uint64(0x0706050403020100), binary.LittleEndian.Uint64(d.Mem.Bytes(0x100, 8)))

	n.Unclear = map[uint64]byte{}
	for i, base := range []uint64{pkt.Host | vectors.HostBase + last - 6, 0x1000} {
		p := pkt.Dwords(pkt.OpSetState, uint32(i), uint32(base), uint32(base>>32), 8, 0, 0, 0x40004000)
		n.Do(p, n.Judge(p, refmodel.Site{}))
	}
	p = pkt.Dwords(pkt.OpCopy2D, 0, 0, 0x0002_0004)
	v = n.Judge(p, refmodel.Site{})
	assert.Equal(t, uint32(cpreg.CauseReadError), v.Cause)
	n.Do(p, v)
	assert.Equal(t, []byte{0x09, 0x08, 0x07, 0x06}, d.Mem.Bytes(0x1000, 4), "the first row")
	assert.Equal(t, map[uint64]byte{0x1008: 0x01, 0x1009: 0x00}, n.Unclear, "of the second row")
}

// Without bus mastering, writes of host memory are not sent and reads are not
// answered.
func TestNoMaster(t *testing.T) {
	d := newDevice("")
	d.NoMaster = true
	n := d.Nodes[0]
	const at = pkt.Host | vectors.HostBase + 0x10000
	for _, tt := range []struct {
		p     []uint32
		cause uint32
		bad   uint64
	}{
		{pkt.Dwords(pkt.OpFill, 0x80010000, 0x80000001, 1, 0, 0), cpreg.CauseWriteError, at},
		{pkt.Dwords(pkt.OpCopy, 0x100, 0, 0x80010000, 0x80000001, 1), cpreg.CauseWriteError, at},
		{pkt.Dwords(pkt.OpCopy, 0x80010000, 0x80000001, 0x100, 0, 1), cpreg.CauseReadError, at},
		{pkt.Dwords(pkt.OpFence, 0x80010000, 0x80000001, 1, 0), cpreg.CauseWriteError, at},
		{pkt.Dwords(pkt.OpSaveState, 0x80010000, 0x80000001), cpreg.CauseWriteError, at},
		{pkt.Dwords(pkt.OpRestoreState, 0x80010000, 0x80000001), cpreg.CauseReadError, at},
		{pkt.Dwords(pkt.OpPredicate, 0x80010000, 0x80000001, 0), cpreg.CauseReadError, at},
		{pkt.Dwords(pkt.OpFill, 0x100, 0, 1, 0, 0), cpreg.CauseNone, 0},
	} {
		v := n.Judge(tt.p, refmodel.Site{})
		assert.Equal(t, tt.cause, v.Cause, "%#x", tt.p)
		assert.Equal(t, tt.bad, v.Bad, "%#x", tt.p)
	}
}
