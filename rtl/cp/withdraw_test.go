package cp

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/dma"
	"github.com/hilgpu/hilgpu/rtl/regbus"
)

// TestWithdraw preempts a packet whose descriptor the engine does not take. The node stops
// without it if the descriptor may be withdrawn, and resumes with it.
func TestWithdraw(t *testing.T) {
	for _, withdraws := range []bool{false, true} {
		p := everything
		p.Withdraws = withdraws
		b := newBenchOf(t, p)
		b.start(ringAt, 12)
		b.put(0xc000, 0x06000005, 0x1000, 0, 0x2001, 1, 2)
		b.push(0x02000003, 0xc000, 0, 6)
		b.busy = true
		b.doorbell()
		for range 100 {
			b.tick(regbus.Req{})
		}
		require.NotEqual(t, dma.None, b.cp.Desc().Op)
		b.write(cpreg.Preempt, 5)
		for range 20 {
			b.tick(regbus.Req{})
		}
		assert.Equal(t, withdraws, b.read(cpreg.Preempted) == 5)
		b.busy = false
		b.preempt(6)
		assert.Len(t, b.descs, map[bool]int{false: 1, true: 0}[withdraws])
		b.resume()
		b.idle()
		assert.Len(t, b.descs, 3)
	}
}

// TestResumeInsideARow resumes a FILL_2D whose rows have three pieces.
func TestResumeInsideARow(t *testing.T) {
	for _, tt := range []struct {
		progress uint32
		want     [][2]uint64 // offset and length of the descriptors
	}{
		{0, [][2]uint64{{0, 0x1000}, {0x1000, 0x1000}, {0x2000, 1}, {16, 0x1000}, {0x1010, 0x1000}, {0x2010, 1}}},
		{1 << 15, [][2]uint64{{0x1000, 0x1000}, {0x2000, 1}, {16, 0x1000}, {0x1010, 0x1000}, {0x2010, 1}}},
		{1 | 2<<15, [][2]uint64{{0x2010, 1}}},
		{1 | 3<<15, [][2]uint64{{16, 0x1000}, {0x1010, 0x1000}, {0x2010, 1}}},
		{1 | 63<<15, [][2]uint64{{16, 0x1000}, {0x1010, 0x1000}, {0x2010, 1}}},
		{2, nil},
		{2 | 63<<15, nil},
	} {
		b := newBenchOf(t, everything)
		b.start(ringAt, 12)
		b.run(surfaces(0, 0x1000)...)
		b.put(0xc000, 0x07000004, 0, 0x00022001, 3, 4)
		b.write(cpreg.Progress, tt.progress)
		b.run(0x02000003, 0xc000, 0, 5|1<<20)
		var got [][2]uint64
		for _, d := range b.descs {
			got = append(got, [2]uint64{d.Dst - 0x1000, uint64(d.Len)})
		}
		assert.Equal(t, tt.want, got, "PROGRESS %#x", tt.progress)
		assert.Zero(t, b.faults)
	}
}

// TestResumePastRow255 resumes a FILL_2D of 400 rows after PROGRESS rows.
func TestResumePastRow255(t *testing.T) {
	for _, progress := range []uint32{255, 256, 300, 399, 400, 0x3fff} {
		b := newBenchOf(t, everything)
		b.start(ringAt, 12)
		b.run(surfaces(0, 0x1000)...)
		b.put(0xc000, 0x07000004, 0, 400<<16|1, 3, 4)
		b.write(cpreg.Progress, progress)
		b.run(0x02000003, 0xc000, 0, 5|1<<20)
		var rows []uint64
		for _, d := range b.descs {
			rows = append(rows, (d.Dst-0x1000)/16)
		}
		var want []uint64
		for row := uint64(progress); row < 400; row++ {
			want = append(want, row)
		}
		assert.Equal(t, want, rows, "PROGRESS %d", progress)
		assert.Zero(t, b.faults)
	}
}
