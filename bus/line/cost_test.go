package line_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/bus/bustest"
	"github.com/hilgpu/hilgpu/bus/fault"
	"github.com/hilgpu/hilgpu/bus/line"
	"github.com/hilgpu/hilgpu/bus/rootport"
	"github.com/hilgpu/hilgpu/rtl/abi/pcicfg"
)

// rate is the baud rate of the measurements.
const rate = 3_000_000

// wireBytes returns the bytes on the wire so far, in both directions.
func (g *rig) wireBytes() uint64 {
	st := g.line.Stats()
	return st.Bytes[0] + st.Bytes[1]
}

// pass advances virtual time.
func (g *rig) pass(t testing.TB, d time.Duration) {
	for end := g.root.Now() + uint64(d); g.root.Now() < end; {
		_, err := g.root.Wait(end)
		require.NoError(t, err)
	}
}

// readCost returns the bytes on the wire for a single register read, and for
// each of many in a row.
func readCost(t testing.TB, baud int) (alone, row float64) {
	g := newRig(t, bustest.DeviceOptions{}, line.Options{Baud: baud}, rootport.Options{})
	require.NoError(t, bustest.Enumerate(g.root))
	p := make([]byte, 4)
	require.NoError(t, g.root.Read(0, bustest.RegMagic, p))
	g.pass(t, 10*time.Millisecond)
	before := g.wireBytes()
	require.NoError(t, g.root.Read(0, bustest.RegScratch, p))
	g.pass(t, 10*time.Millisecond)
	alone = float64(g.wireBytes() - before)
	before = g.wireBytes()
	const n = 500
	for range n {
		require.NoError(t, g.root.Read(0, bustest.RegMagic, p))
	}
	return alone, float64(g.wireBytes()-before) / n
}

// TestReadCost: a register read costs at most 40 bytes on the line, framing and
// acknowledgements included.
func TestReadCost(t *testing.T) {
	for _, baud := range []int{115_200, rate} {
		alone, row := readCost(t, baud)
		t.Logf("%d baud: %.0f bytes for one read, %.1f each in a row", baud, alone, row)
		assert.LessOrEqual(t, alone, 40.0)
		assert.LessOrEqual(t, row, 40.0)
		assert.Greater(t, row, 24.0, "addresses, data, checks and framing need more")
	}
}

// bulk returns the payload of writes and of reads, for packets of a given size,
// as a fraction of the line's capacity, which is a tenth of the baud rate in
// bytes per second.
func bulk(t testing.TB, payload int) (write, read float64) {
	const total = 64 << 10
	dev := bustest.DeviceOptions{MemBytes: total, Config: map[int]uint32{pcicfg.DevCtl: uint32(payload/128-1) << 5}}
	opt := rootport.Options{MaxPayload: payload, MaxReadRequest: payload, Tags: 64}
	g := newRig(t, dev, line.Options{Baud: rate}, opt)
	require.NoError(t, bustest.Enumerate(g.root))
	data := make([]byte, total)
	for i := range data {
		data[i] = byte(i * 13 >> 3)
	}
	share := func(call func() error) float64 {
		start := g.root.Now()
		require.NoError(t, call())
		return total * 10 / (float64(rate) * float64(g.root.Now()-start) / 1e9)
	}
	p := make([]byte, total)
	write = share(func() error {
		if err := g.root.Write(2, 0, data); err != nil {
			return err
		}
		return g.root.Read(2, 0, p[:4]) // flushes the writes
	})
	read = share(func() error { return g.root.Read(2, 0, p) })
	require.Equal(t, data, p)
	return write, read
}

// TestBulkShare: packets of 256 bytes leave 85 % of the line for payload.
func TestBulkShare(t *testing.T) {
	write, read := bulk(t, 256)
	assert.GreaterOrEqual(t, write, 0.85)
	assert.GreaterOrEqual(t, read, 0.85)
	small, _ := bulk(t, 128)
	assert.Less(t, small, write)
	assert.Less(t, write, 1.0)
}

// BenchmarkLine reports the figures of the line in virtual time. They are the
// same on every machine.
func BenchmarkLine(b *testing.B) {
	for b.Loop() {
		alone, row := readCost(b, rate)
		bustest.Figure(b, "register read, both directions", alone, "bytes", alone <= 40, "at most 40")
		bustest.Figure(b, "register reads in a row", row, "bytes", row <= 40, "at most 40")
		write, read := bulk(b, 256)
		bustest.Figure(b, "written, 256-byte payloads", 100*write, "% of line", write >= 0.85, "at least 85")
		bustest.Figure(b, "read, 256-byte payloads", 100*read, "% of line", read >= 0.85, "at least 85")
		mixed, bulk := goodput(b)
		bustest.Figure(b, "goodput with injected faults, bulk", 100*bulk, "%", bulk >= 0.6, "at least 60")
		bustest.Figure(b, "goodput with injected faults, small calls", 100*mixed, "%", mixed >= 0.6, "at least 60")
	}
}

// goodput returns the speed of a bad line relative to a good one: in calls of a
// few hundred bytes that wait for each other, and in calls of 16 KiB.
func goodput(t testing.TB) (mixed, bulk float64) {
	var took [2][2]float64 // good and bad line; mixed and bulk
	for i, faults := range []fault.Config{{}, bad(7)} {
		g := newRig(t, bustest.DeviceOptions{}, line.Options{Baud: rate, Hz: 2_000_000, Faults: faults}, rootport.Options{Tags: 32})
		w := newWork(t, g, 7)
		start := g.root.Now()
		for range 1500 {
			require.NoError(t, w.do())
		}
		took[i][0] = float64(g.root.Now() - start)
		start = g.root.Now()
		got := make([]byte, 16<<10)
		for range 20 {
			data := w.random(len(got))
			require.NoError(t, g.root.Write(2, 0, data))
			require.NoError(t, g.root.Read(2, 0, got))
			require.Equal(t, data, got)
		}
		took[i][1] = float64(g.root.Now() - start)
	}
	return took[0][0] / took[1][0], took[0][1] / took[1][1]
}

// TestGoodput: with injected faults a line keeps 60 % of its speed, in bulk and
// in calls that wait for each other, and therefore for every replay as well.
func TestGoodput(t *testing.T) {
	mixed, bulk := goodput(t)
	t.Logf("mixed %.2f, bulk %.2f", mixed, bulk)
	assert.GreaterOrEqual(t, bulk, 0.6)
	assert.GreaterOrEqual(t, mixed, 0.6)
}
