package stress

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

// The rate of hangs holds for each submission, however often it is patched, as those of the faults do.
func TestHangRate(t *testing.T) {
	b := &bench{Options: Options{Seed: 1, Hang: 0.02, Faults: []Injection{{Unplug, 0}}}}
	b.judge = newJudge(b)
	s, d := newSpoiler(b), new(device)
	parts := func() (all []*kmddi.Patch) {
		for range 10_000 {
			all = append(all, &kmddi.Patch{DmaBuffer: make([]byte, 8)})
		}
		return all
	}
	count := func(all []*kmddi.Patch) (n int) {
		for _, arg := range all {
			s.submitted(owner{device: d}, arg)
			if d.hangs {
				n++
			}
			d.hangs = false
		}
		return n
	}
	all := parts()
	assert.InDelta(t, 200, count(all), 60, "about four standard deviations")
	assert.Zero(t, count(all), "they are patched again")
	b.calm = true
	assert.Zero(t, count(parts()), "in a round without injections")
}

// The work of a hang moves at least what it must, in buffers of the given sizes and in few packets.
func TestSizeOfLongWork(t *testing.T) {
	const all = 1 << 32
	for _, tt := range []struct {
		name                       string
		total, least, most, length uint64
		bytes, copies              uint64 // 0: it needs too many packets
	}{
		{"the least buffers", 12_800_000, 256 << 10, 32 << 20, all, 256 << 10, 64},
		{"larger buffers", 128 << 20, 256 << 10, 32 << 20, all, 2 << 20, 64},
		{"more copies", 160_000_000, 256 << 10, 128 << 10, all, 128 << 10, 1221},
		{"the most copies", 2000 * (128 << 10), 256 << 10, 128 << 10, all, 128 << 10, 2000},
		{"a byte more", 2000*(128<<10) + 1, 256 << 10, 128 << 10, all, 0, 0},
		{"a copy of one packet", 64 * 65_280, 4 << 10, 1 << 20, 65_280, 65_280, 64},
		{"copies of several packets", 1000 * 65_280, 4 << 10, 4 << 20, 65_280, 15 * 65_280, 67},
		{"too many packets", 2001 * 65_280, 4 << 10, 64 << 20, 65_280, 0, 0},
		{"a multiple of 16", 64 * 5000, 4 << 10, 1 << 20, all, 4992, 65},
	} {
		var w long
		require.Equal(t, tt.bytes != 0, w.size(tt.total, tt.least, tt.most, tt.length), tt.name)
		assert.Equal(t, []uint64{tt.bytes, tt.copies}, []uint64{uint64(w.bytes), uint64(w.copies)}, tt.name)
	}
}

// Work that hangs is one submission that fits in the memory that the GPU reaches, and outlasts the time-out, also over a link.
func TestHangsOutlast(t *testing.T) {
	tooltest.Long(t)
	for _, tt := range []struct {
		name, board string
		tdr         time.Duration
		frames      int
	}{
		{"an aperture of 512 KiB", "emu?vram=16KiB&gart=1", 5 * time.Millisecond, 1},
		{"short packets", "emu?vram=16KiB&lengthbits=16", 5 * time.Millisecond, 1},
		{"a line", "line?vram=1MiB", time.Second, 2},
		{"a slow line", "line?vram=64KiB&baud=115200", 20 * time.Second, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := small(t, tt.board)
			o.Processes, o.Rounds, o.Frames, o.Pressure, o.Hang, o.System.Tdr = 1, 1, tt.frames, 0.3, 1, tt.tdr
			o.System.Sanitize, o.System.Record = false, nil
			r, err := Run(o)
			require.NoError(t, err, "a device that is not lost is an error")
			assert.Positive(t, r.Guilty)
			assert.LessOrEqual(t, r.NodeResets, r.Hangs)
			assert.Zero(t, r.Recoveries+r.Others)
		})
	}
}
