package ring_test

import (
	"encoding/binary"
	"fmt"

	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/hostdriver/ring"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

const (
	physical  = 0x12000
	fenceAddr = 0x8000000000034040
)

// fakeRegisters is the bus view of a node's registers: a log of the writes, and
// values for the reads.
type fakeRegisters struct {
	writes     []string
	values     map[uint32]uint32
	resetReads int  // remaining reads of CTL with RESET set
	ignores    bool // CTL.RESET has no effect
	refuseRun  bool // writes do not set CTL.RUN
	failAt     int  // access to fail, counted from 1; 0: none
	accesses   int
}

func (f *fakeRegisters) fails() bool {
	f.accesses++
	return f.accesses == f.failAt
}

func (f *fakeRegisters) ReadRegister(_ *ddi.Thread, off uint32) (uint32, ddi.Status) {
	if f.fails() {
		return 0xdeadbeef, ddi.StatusIODeviceError
	}
	if off&0xff == 0x00 && f.resetReads > 0 {
		f.resetReads--
		return 2, ddi.StatusSuccess
	}
	return f.values[off], ddi.StatusSuccess
}

func (f *fakeRegisters) WriteRegister(_ *ddi.Thread, off, v uint32) ddi.Status {
	if f.fails() {
		return ddi.StatusIODeviceError
	}
	f.writes = append(f.writes, fmt.Sprintf("%#x=%#x", off, v))
	if off&0xff == 0 {
		if v&2 != 0 && !f.ignores {
			fence := f.values[off+0x1c]
			clear(f.values)
			f.values[off+0x1c] = fence
		}
		v &= 1
		if f.refuseRun {
			v = 0
		}
	}
	f.values[off] = v
	return ddi.StatusSuccess
}

func newRing(t require.TestingT, node, size int) (*ring.Ring, *fakeRegisters, []byte) {
	f := &fakeRegisters{values: map[uint32]uint32{}}
	mem := make([]byte, size)
	r, err := ring.New(node, kmddi.ContiguousMemory{PhysicalAddress: physical, Bytes: mem}, fenceAddr, f)
	require.NoError(t, err)
	require.Equal(t, ddi.StatusSuccess, r.Start(&ddi.Thread{}))
	f.writes = nil
	return r, f, mem
}

type quietRegisters struct{}

func (*quietRegisters) ReadRegister(*ddi.Thread, uint32) (uint32, ddi.Status) {
	return 0, ddi.StatusSuccess
}
func (*quietRegisters) WriteRegister(*ddi.Thread, uint32, uint32) ddi.Status {
	return ddi.StatusSuccess
}

// take returns the dwords from *rptr to wptr and advances *rptr.
func take(mem []byte, rptr *uint32, wptr uint32) []uint32 {
	var out []uint32
	for ; *rptr != wptr; *rptr = (*rptr + 1) % uint32(len(mem)/4) {
		out = append(out, binary.LittleEndian.Uint32(mem[4**rptr:]))
	}
	return out
}

func dwordsOf(b []byte) []uint32 {
	var out []uint32
	for ; len(b) > 0; b = b[4:] {
		out = append(out, binary.LittleEndian.Uint32(b))
	}
	return out
}
