package doorbell

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
)

// Each write of WPTR returns the packets from the last WPTR to the new one, also over the end of the ring. A WPTR
// that goes back after a preemption gives none. The packets that the host puts there again are returned again.
func TestRingPackets(t *testing.T) {
	memory := make([]byte, 64)
	for at := 0; at < len(memory); at += 8 {
		binary.LittleEndian.PutUint32(memory[at:], 1) // a header, and one dword
	}
	r := New(func(addr uint64, p []byte) error { copy(p, memory[addr-0x1000:]); return nil })
	write := func(off, value uint32) (at []uint64) {
		for _, e := range r.Write(uint64(cpreg.Base+off), value) {
			at = append(at, e.Address&^pkt.Host-0x1000)
			assert.Len(t, e.Data, 8)
		}
		return at
	}
	high := uint64(pkt.Host) >> 32
	write(cpreg.RingLo, 0x1000)
	write(cpreg.RingHi, uint32(high))
	write(cpreg.RingSize, 6)
	for i, step := range []struct {
		off, value uint32
		want       []uint64
	}{
		{cpreg.Wptr, 10, []uint64{0, 8, 16, 24, 32}},
		{cpreg.Preempt, 7, nil},
		{cpreg.Wptr, 6, nil},
		{cpreg.Ctl, cpreg.CtlRun, nil},
		{cpreg.Wptr, 10, []uint64{24, 32}},
		{cpreg.Wptr, 2, []uint64{40, 48, 56, 0}},
		{cpreg.Preempt, 8, nil},
		{cpreg.Wptr, 12, nil},
		{cpreg.Wptr, 14, []uint64{48}},
	} {
		assert.Equal(t, step.want, write(step.off, step.value), "write %d", i)
	}
	from, to := r.Ring(0)
	assert.Equal(t, [2]uint64{pkt.Host | 0x1000, pkt.Host | 0x1040}, [2]uint64{from, to})
	r.Write(idreg.Base+idreg.Reset, idreg.ResetWhole)
	from, to = r.Ring(0)
	assert.Equal(t, from, to, "after a reset of the device")
}
