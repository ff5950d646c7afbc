package inproc_test

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/bus/bustest"
	"github.com/hilgpu/hilgpu/bus/inproc"
)

// dwords returns the bytes of dwords.
func dwords(all ...uint32) []byte {
	var p []byte
	for _, v := range all {
		p = binary.LittleEndian.AppendUint32(p, v)
	}
	return p
}

// A device that ignores writes of a register, or some of its bits, keeps their old value.
// Everything else arrives, also the rest of the same write.
func TestIgnoredWrites(t *testing.T) {
	scratch := []inproc.Register{{Off: bustest.RegScratch}}
	middle := []inproc.Register{{Off: bustest.RegMem}, {Off: bustest.RegHostHi, Bits: 0xf0}}
	type write struct {
		bar  int
		off  uint64
		data []byte
		want []byte // what is then read there
	}
	of := func(v, want uint32) write { return write{0, bustest.RegScratch, dwords(v), dwords(want)} }
	for _, tt := range []struct {
		name   string
		fault  inproc.Fault
		writes []write
		harmed uint64
	}{
		{"all", inproc.Fault{Registers: scratch}, []write{of(5, 0), of(6, 0)}, 2},
		{"the second and the third", inproc.Fault{Registers: scratch, After: 1, Count: 2},
			[]write{of(1, 1), of(2, 1), of(3, 1), of(4, 4), of(5, 5)}, 2},
		{"a bit", inproc.Fault{Registers: []inproc.Register{{Off: bustest.RegScratch, Bits: 2}}, After: 1, Count: 1},
			[]write{of(7, 7), of(1, 1), of(6, 4), of(3, 3)}, 1},
		{"inside a long write", inproc.Fault{Registers: middle, Count: 3}, []write{
			{0, bustest.RegHostLo, dwords(1, 0x52, 3, 4), dwords(1, 0x02, 0, 4)},
			{0, bustest.RegHostHi, dwords(0x0f, 6), dwords(0x0f, 0)},
			{0, bustest.RegHostLo, dwords(7, 0x98, 9), dwords(7, 0x98, 9)},
		}, 3},
		{"neither another BAR nor another register", inproc.Fault{Registers: middle}, []write{
			{2, bustest.RegMem, dwords(8), dwords(8)},
			{0, bustest.RegLen, dwords(9), dwords(9)}, // in the same beat
			{0, bustest.RegScratch, dwords(10), dwords(10)},
		}, 0},
	} {
		for stall := range uint64(4) {
			t.Run(tt.name, func(t *testing.T) {
				tt.fault.Kind = inproc.IgnoreWrite
				f := inproc.NewFaulty(bustest.NewDevice(bustest.DeviceOptions{Stall: stall}), tt.fault)
				link, err := inproc.New(f, bustest.NewHost(4096), inproc.Options{BytesPerClock: 3})
				require.NoError(t, err)
				require.NoError(t, link.WriteConfig(bustest.RegScratch, 6), "another space, before BAR0 has an address")
				require.NoError(t, bustest.Enumerate(link))
				for i, w := range tt.writes {
					require.NoError(t, link.Write(w.bar, w.off, w.data))
					got := make([]byte, len(w.want))
					require.NoError(t, link.Read(w.bar, w.off, got))
					assert.Equal(t, w.want, got, "write %d, stall %d", i, stall)
				}
				assert.Equal(t, tt.harmed, f.Injected())
			})
		}
	}
}

// Writes that are posted without a pause are affected one by one.
func TestIgnoredWritesInARun(t *testing.T) {
	f := inproc.NewFaulty(bustest.NewDevice(bustest.DeviceOptions{}), inproc.Fault{
		Kind: inproc.IgnoreWrite, Registers: []inproc.Register{{Off: bustest.RegScratch}}, After: 3, Count: 2,
	})
	link, err := inproc.New(f, bustest.NewHost(4096), inproc.Options{})
	require.NoError(t, err)
	require.NoError(t, bustest.Enumerate(link))
	for i := range uint32(5) {
		require.NoError(t, link.Write(2, 0, make([]byte, 300)))
		require.NoError(t, link.Write(0, bustest.RegScratch, dwords(i+1)))
	}
	got := make([]byte, 4)
	require.NoError(t, link.Read(0, bustest.RegScratch, got))
	assert.Equal(t, dwords(3), got)
	assert.EqualValues(t, 2, f.Injected())
}
