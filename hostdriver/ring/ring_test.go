package ring_test

import (
	"encoding/binary"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hilgpu/hilgpu/hostdriver/ring"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

func TestNew(t *testing.T) {
	for _, tt := range []struct {
		name  string
		size  int
		phys  uint64
		fence uint64
		ok    bool
	}{
		{"minimum for eight submissions", 512, 0x1000, 0, true},
		{"largest", 1 << 20, 0x1000, 8, true},
		{"highest", 4096, 1<<63 - 4096, 8, true},
		{"not a power of two", 768, 0x1000, 8, false},
		{"eight submissions fill the ring", 256, 0x1000, 8, false},
		{"too large", 1 << 21, 0x1000, 8, false},
		{"empty", 0, 0x1000, 8, false},
		{"base off by a dword", 4096, 0x1004, 8, false},
		{"above host memory", 4096, 1 << 63, 8, false},
		{"fence off by a dword", 4096, 0x1000, 12, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := ring.New(0, kmddi.ContiguousMemory{PhysicalAddress: tt.phys, Bytes: make([]byte, tt.size)}, tt.fence, nil)
			if tt.ok {
				assert.NoError(t, err)
				return
			}
			assert.ErrorIs(t, err, ring.ErrMemory)
		})
	}
}

func TestStart(t *testing.T) {
	f := &fakeRegisters{values: map[uint32]uint32{}, resetReads: 3}
	r, err := ring.New(1, kmddi.ContiguousMemory{PhysicalAddress: 0x5_0000_2000, Bytes: make([]byte, 4096)}, 8, f)
	require.NoError(t, err)
	require.Equal(t, ddi.StatusSuccess, r.Start(&ddi.Thread{}))
	assert.Equal(t, []string{
		"0x1100=0x2",        // CTL.RESET
		"0x111c=0x0",        // FENCE
		"0x1108=0x2000",     // RING_BASE_LO
		"0x110c=0x80000005", // RING_BASE_HI, host memory
		"0x1110=0xc",        // RING_SIZE.LOG2
		"0x1100=0x1",        // CTL.RUN
	}, f.writes)
}

func TestStartFails(t *testing.T) {
	for _, tt := range []struct {
		name string
		edit func(f *fakeRegisters)
		want ddi.Status
	}{
		{"reset is never done", func(f *fakeRegisters) { f.resetReads = 1 << 30 }, ddi.StatusIOTimeout},
		{"reset is ignored", func(f *fakeRegisters) { f.ignores = true }, ddi.StatusIOTimeout},
		{"reset is ignored, and nothing shows it", func(f *fakeRegisters) { f.ignores = true; clear(f.values) }, ddi.StatusSuccess},
		{"the node refuses to run", func(f *fakeRegisters) { f.refuseRun = true }, ddi.StatusDeviceConfiguration},
		{"reset is not written", func(f *fakeRegisters) { f.failAt = 1 }, ddi.StatusIODeviceError},
		{"reset is not read", func(f *fakeRegisters) { f.failAt = 2 }, ddi.StatusIODeviceError},
		{"size is not read", func(f *fakeRegisters) { f.failAt = 3 }, ddi.StatusIODeviceError},
		{"base is not written", func(f *fakeRegisters) { f.failAt = 5 }, ddi.StatusIODeviceError},
		{"run is not read", func(f *fakeRegisters) { f.failAt = 9 }, ddi.StatusIODeviceError},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, f, _ := newRing(t, 0, 4096)
			f.accesses = 0
			tt.edit(f)
			assert.Equal(t, tt.want, r.Start(&ddi.Thread{}))
		})
	}
}

// TestSubmit compares the packets with their layouts, dword by dword.
func TestSubmit(t *testing.T) {
	r, f, mem := newRing(t, 0, 4096)
	r.Submit(&ddi.Thread{}, 0x8000000000045678, 0x10, 1)
	r.Submit(&ddi.Thread{}, 0xffff, 0, 2)
	require.NoError(t, r.Err())
	want := []uint32{
		0x02000003, 0x00045678, 0x80000000, 0x10, // INDIRECT
		0x10000004, 0x00034040, 0x80000000, 1, 1, // FENCE
		0x10000004, 0x00034040, 0x80000000, 2, 1, // an empty buffer has only its fence
		0,
	}
	for i, w := range want {
		assert.Equal(t, w, binary.LittleEndian.Uint32(mem[4*i:]), "dword %d", i)
	}
	assert.Equal(t, []string{"0x1018=0x9", "0x1018=0xe"}, f.writes)
	assert.Equal(t, uint32(2), r.Submitted())
}

func TestSubmitAllocatesNothing(t *testing.T) {
	r, err := ring.New(0, kmddi.ContiguousMemory{PhysicalAddress: physical, Bytes: make([]byte, 4096)}, 8, &quietRegisters{})
	require.NoError(t, err)
	th, id := &ddi.Thread{}, uint32(0)
	got := testing.AllocsPerRun(100, func() {
		id++
		r.Submit(th, 4, 1, id)
		_, _ = r.Complete(id)
	})
	assert.Zero(t, got)
	assert.NoError(t, r.Err())
}

func TestSubmitFails(t *testing.T) {
	for _, tt := range []struct {
		name string
		do   func(r *ring.Ring, f *fakeRegisters)
		want error
	}{
		{"the same id again", func(r *ring.Ring, _ *fakeRegisters) { r.Submit(nil, 0, 1, 7) }, ring.ErrSubmission},
		{"an id that decreases", func(r *ring.Ring, _ *fakeRegisters) { r.Submit(nil, 0, 1, 6) }, ring.ErrSubmission},
		{"half the range ahead counts as earlier", func(r *ring.Ring, _ *fakeRegisters) { r.Submit(nil, 0, 1, 7+1<<31) }, ring.ErrSubmission},
		{"just below half the range is ahead", func(r *ring.Ring, _ *fakeRegisters) { r.Submit(nil, 0, 1, 6+1<<31) }, nil},
		{"misaligned", func(r *ring.Ring, _ *fakeRegisters) { r.Submit(nil, 2, 1, 8) }, ring.ErrSubmission},
		{"the longest", func(r *ring.Ring, _ *fakeRegisters) { r.Submit(nil, 0, 1<<20-1, 8) }, nil},
		{"too long", func(r *ring.Ring, _ *fakeRegisters) { r.Submit(nil, 0, 1<<20, 8) }, ring.ErrSubmission},
		{"the doorbell is not written", func(r *ring.Ring, f *fakeRegisters) {
			f.failAt = f.accesses + 1
			r.Submit(nil, 0, 1, 8)
		}, ring.ErrRegister},
		{"eight outstanding", func(r *ring.Ring, _ *fakeRegisters) {
			for i := range uint32(7) {
				r.Submit(nil, 0, 1, 8+i)
			}
		}, nil},
		{"nine outstanding", func(r *ring.Ring, _ *fakeRegisters) {
			for i := range uint32(8) {
				r.Submit(nil, 0, 1, 8+i)
			}
		}, ring.ErrFull},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, f, _ := newRing(t, 0, 512)
			r.Submit(nil, 0, 1, 7)
			f.writes = nil
			tt.do(r, f)
			if tt.want == nil {
				require.NoError(t, r.Err())
				assert.NotEmpty(t, f.writes)
				return
			}
			require.ErrorIs(t, r.Err(), tt.want)
			n, first := len(f.writes), r.Err()
			r.Submit(nil, 0, 1, 100)
			r.Fail(errors.New("later"))
			assert.Len(t, f.writes, n, "a failed ring submits nothing")
			assert.Equal(t, first, r.Err(), "the first cause is kept")
		})
	}
}

func TestFirstID(t *testing.T) {
	for _, tt := range []struct {
		name   string
		id     uint32
		writes []string
	}{
		{"1 follows the reset value", 1, []string{"0x1018=0x5"}},
		{"any other presets the register", 0xfffffff0, []string{"0x1000=0x0", "0x101c=0xffffffef", "0x1000=0x1", "0x1018=0x5"}},
		{"also for 0", 0, []string{"0x1000=0x0", "0x101c=0xffffffff", "0x1000=0x1", "0x1018=0x5"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, f, _ := newRing(t, 0, 4096)
			newer, err := r.Complete(0)
			assert.NoError(t, err, "before the first submission the register is ignored")
			assert.False(t, newer)
			r.Submit(nil, 0, 0, tt.id)
			require.NoError(t, r.Err())
			assert.Equal(t, tt.writes, f.writes)
			newer, err = r.Complete(tt.id)
			assert.NoError(t, err)
			assert.True(t, newer)
		})
	}
	t.Run("a preset that is not written", func(t *testing.T) {
		r, f, _ := newRing(t, 0, 4096)
		f.failAt = f.accesses + 2
		r.Submit(nil, 0, 0, 9)
		assert.ErrorIs(t, r.Err(), ring.ErrRegister)
	})
}

func TestComplete(t *testing.T) {
	for _, tt := range []struct {
		name  string
		first uint32 // first id of three submissions
		seen  []uint32
		newer bool // result of the last call
		fails bool // the last call fails
	}{
		{"not yet", 5, []uint32{4}, false, false},
		{"one", 5, []uint32{5}, true, false},
		{"several at once", 5, []uint32{7}, true, false},
		{"the same id again", 5, []uint32{6, 6}, false, false},
		{"one after the other", 5, []uint32{5, 6}, true, false},
		{"around 2^32", 0xfffffffe, []uint32{0xfffffffe, 0}, true, false},
		{"beyond the last submission", 5, []uint32{8}, false, true},
		{"back", 5, []uint32{6, 5}, false, true},
		{"before the first", 5, []uint32{3}, false, true},
		{"all ones", 5, []uint32{0xffffffff}, false, true},
		{"beyond the last around 2^32", 0xfffffffe, []uint32{1}, false, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, _, _ := newRing(t, 0, 4096)
			for i := range uint32(3) {
				r.Submit(nil, 0, 1, tt.first+i)
			}
			require.NoError(t, r.Err())
			last := len(tt.seen) - 1
			for _, id := range tt.seen[:last] {
				_, err := r.Complete(id)
				require.NoError(t, err)
			}
			before := r.Completed()
			newer, err := r.Complete(tt.seen[last])
			assert.Equal(t, tt.newer, newer)
			if tt.fails {
				assert.ErrorIs(t, err, ring.ErrFence)
				assert.Equal(t, before, r.Completed())
				return
			}
			assert.NoError(t, err)
			assert.Equal(t, tt.seen[last], r.Completed())
		})
	}
}

func TestExecuting(t *testing.T) {
	r, _, _ := newRing(t, 0, 4096)
	_, ok := r.Executing()
	assert.False(t, ok)
	for id := uint32(1); id <= 3; id++ {
		r.Submit(nil, 0, 1, id)
	}
	for done, want := range []ring.Submission{{ID: 1, Start: 0, End: 9}, {ID: 2, Start: 9, End: 18}, {ID: 3, Start: 18, End: 27}} {
		_, err := r.Complete(uint32(done))
		require.NoError(t, err)
		got, ok := r.Executing()
		assert.True(t, ok)
		assert.Equal(t, want, got)
	}
	_, err := r.Complete(3)
	require.NoError(t, err)
	_, ok = r.Executing()
	assert.False(t, ok)
}

// TestWrap runs random submissions and completions against a reference model of
// the device that reads the ring as the command processor does: dword by dword,
// modulo the ring, from its own read pointer to the doorbell value.
func TestWrap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r, f, mem := newRing(t, 0, 512)
		rptr, queued, done := uint32(0), []uint32(nil), uint32(0)
		id := rapid.Uint32().Draw(t, "first")
		for range 200 {
			if len(queued) < 8 && (len(queued) == 0 || rapid.Bool().Draw(t, "submit")) {
				dwords := rapid.Uint32Range(0, 3).Draw(t, "dwords")
				r.Submit(nil, uint64(id)*4, dwords, id)
				require.NoError(t, r.Err())
				queued = append(queued, id)
				got := take(mem, &rptr, f.values[0x1018])
				want := []uint32{0x10000004, 0x00034040, 0x80000000, id, 1}
				if dwords > 0 {
					want = append([]uint32{0x02000003, id * 4, uint32(uint64(id) * 4 >> 32), dwords}, want...)
				}
				require.Equal(t, want, got)
				recent := r.Recent()
				require.Equal(t, id, recent[len(recent)-1].ID)
				require.Equal(t, want, dwordsOf(r.Bytes(recent[len(recent)-1])))
				id++
				continue
			}
			n := rapid.IntRange(1, len(queued)).Draw(t, "complete")
			done, queued = queued[n-1], queued[n:]
			newer, err := r.Complete(done)
			require.NoError(t, err)
			require.True(t, newer)
			if rapid.Bool().Draw(t, "retire") {
				r.Retire()
			}
		}
	})
}

func TestRecentIsBounded(t *testing.T) {
	r, _, _ := newRing(t, 0, 4096)
	assert.Empty(t, r.Recent())
	for id := uint32(1); id <= 40; id++ {
		r.Submit(nil, 0, 1, id)
		_, err := r.Complete(id)
		require.NoError(t, err)
	}
	recent := r.Recent()
	require.Len(t, recent, ring.History)
	assert.Equal(t, uint32(25), recent[0].ID)
	assert.Equal(t, uint32(40), recent[15].ID)

	small, _, _ := newRing(t, 0, 512)
	for id := uint32(1); id <= 40; id++ {
		small.Submit(nil, 0, 1, id)
		_, err := small.Complete(id)
		require.NoError(t, err)
	}
	assert.Len(t, small.Recent(), 14, "9 dwords each in a ring of 128, one of which is never used")
}
