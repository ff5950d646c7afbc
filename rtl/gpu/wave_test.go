package gpu_test

import (
	"bytes"
	"errors"
	"io"
	"math"
	"runtime"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/gpu"
	"github.com/hilgpu/hilgpu/rtl/hdl/vcd/vcdtest"
	"github.com/hilgpu/hilgpu/rtl/wave"
)

// recorded returns an unconfigured machine whose GPU is recorded.
func recorded(t *testing.T, c gpu.Config, seed uint64, w io.Writer, o wave.Options) (*machine, *wave.Recorder) {
	r, err := wave.New(w, o)
	require.NoError(t, err)
	m := power(t, c, seed)
	m.dev = r.Attach(m.g)
	return m, r
}

// parse reads a wave of small, checks its clock, and returns it with times in clocks.
func parse(t *testing.T, r io.Reader) *vcdtest.Dump { return parseAt(t, r, small().ClockHz) }

// parseAt is like parse for a GPU of another frequency.
func parseAt(t *testing.T, r io.Reader, hz uint32) *vcdtest.Dump {
	d, err := vcdtest.Parse(r)
	require.NoError(t, err)
	assert.Equal(t, vcdtest.Var{Kind: "reg", Width: 1}, d.Vars["gpu.clk"])
	d, err = d.Clocks("gpu.clk", uint64(hz))
	require.NoError(t, err)
	return d
}

// registers returns the values that a wave must show of g in the next clock.
func registers(g *gpu.GPU) map[string]string {
	words := make([]uint64, gpu.GPUWords)
	g.Snapshot(words)
	all := map[string]string{}
	for i, s := range g.Signals("gpu", nil) {
		all[s.Name] = strconv.FormatUint(words[i], 2)
		if s.Names != nil {
			all[s.Name] = strconv.FormatUint(words[i], 10)
			if words[i] < uint64(len(s.Names)) {
				all[s.Name] = s.Names[words[i]]
			}
		}
	}
	return all
}

// requireShown checks that a dump has the values of want at a time.
func requireShown(t *testing.T, d *vcdtest.Dump, clock uint64, want map[string]string) {
	got := d.At(clock)
	for name, v := range want {
		require.Equal(t, v, got[name], "%s at %d", name, clock)
	}
}

// A wave shows every register at every clock that was not skipped by sleep.
func TestWave(t *testing.T) {
	var out bytes.Buffer
	m, r := recorded(t, small(), 4, &out, wave.Options{})
	m.configure()
	m.skip, m.stall, m.latency = true, 20, 90
	seen := map[uint64]map[string]string{}
	m.submit(0, pkt.Copy{Src: at(0x10003), Dst: 0x77, Bytes: 999}, pkt.Fill{Dst: 0x1000, Bytes: 50, Value: 7}, fence(0, 1))
	m.run(100_000, func() bool {
		if m.clock%37 == 0 {
			seen[m.clock] = registers(m.g)
		}
		return m.fence(0) == 1
	})
	m.idle()
	sleep := m.clock
	m.run(5001, func() bool { return m.clock >= sleep+5000 })
	seen[m.clock] = registers(m.g)
	require.NoError(t, r.Close())
	d := parse(t, &out)
	require.Greater(t, len(seen), 5)
	for clock, want := range seen {
		requireShown(t, d, clock, want)
	}
	assert.Equal(t, []uint64{sleep, m.clock}, d.Times[len(d.Times)-2:], "a sleep is one step")
	assert.Less(t, len(d.Times), int(m.clock)-5000)
}

// The header has the variables in the hierarchy of the Verilog.
func TestWaveVariables(t *testing.T) {
	for _, c := range []gpu.Config{small(), oneNode()} {
		var out bytes.Buffer
		m, r := recorded(t, c, 1, &out, wave.Options{})
		m.configure()
		require.NoError(t, r.Close())
		vars := parseAt(t, &out, c.ClockHz).Vars
		for name, want := range map[string]vcdtest.Var{
			"gpu.cp0.decode_state":     {Kind: "string", Width: 1},
			"gpu.cp0.op":               {Kind: "string", Width: 1},
			"gpu.cp0.ring_stream_have": {Kind: "reg", Width: 7},
			"gpu.dma.queue.count":      {Kind: "reg", Width: 3},
			"gpu.dma.order.q":          {Kind: "reg", Width: 64},
			"gpu.dma.fill_15":          {Kind: "reg", Width: 4},
			"gpu.req_Kind":             {Kind: "string", Width: 1},
			"gpu.cplReady":             {Kind: "reg", Width: 1},
			"gpu.Target_cpl_Data":      {Kind: "reg", Width: 64},
			"gpu.Initiator_req_Addr":   {Kind: "reg", Width: 64},
		} {
			assert.Equal(t, want, vars[name], name)
		}
		_, second := vars["gpu.cp1.decode_state"]
		assert.Equal(t, c.Nodes == 2, second)
	}
}

// The wave shows the names of the decoder's states and opcodes, and the ports.
func TestWaveReads(t *testing.T) {
	var out bytes.Buffer
	m, r := recorded(t, small(), 1, &out, wave.Options{})
	m.configure()
	m.submit(1, pkt.Copy{Src: 0, Dst: 0x1000, Bytes: 64}, pkt.Fill{Dst: 0x100, Bytes: 8}, fence(1, 1))
	m.idle()
	require.NoError(t, r.Close())
	d := parse(t, &out)
	all := map[string]map[string]bool{}
	for _, changes := range d.Changes {
		for name, v := range changes {
			if all[name] == nil {
				all[name] = map[string]bool{}
			}
			all[name][v] = true
		}
	}
	assert.Equal(t, map[string]bool{"0": true, "COPY": true, "FILL": true, "FENCE": true}, all["gpu.cp1.op"])
	assert.Equal(t, map[string]bool{"0": true}, all["gpu.cp0.op"])
	for _, s := range []string{"Next", "Body", "Check", "Exec"} {
		assert.True(t, all["gpu.cp1.decode_state"][s], s)
	}
	for _, s := range []string{"Idle", "Offer", "Drain"} {
		assert.True(t, all["gpu.cp1.issue_state"][s], s)
	}
	assert.Equal(t, map[string]bool{"None": true, "CfgWrite": true, "MemWrite": true}, all["gpu.req_Kind"])
	assert.Equal(t, map[string]bool{"None": true, "MemRead": true, "MemWrite": true}, all["gpu.Initiator_req_Kind"])
	assert.True(t, all["gpu.cpl_Status"]["Success"])
	assert.True(t, all["gpu.Target_cpl_Status"]["Success"])
	assert.True(t, all["gpu.Initiator_beat_Data"][strconv.FormatUint(0x50<<32|0x50, 2)], "the message of vector 0")
}

// A wave of a range has the clocks of the half-open range and no others.
func TestWaveOfARange(t *testing.T) {
	var all, part bytes.Buffer
	for w, o := range map[*bytes.Buffer]wave.Options{&all: {}, &part: {From: 300, To: 400}} {
		m, r := recorded(t, small(), 5, w, o)
		m.configure()
		m.submit(0, pkt.Copy{Src: at(0x10003), Dst: 0x77, Bytes: 9999})
		m.idle()
		require.Greater(t, m.clock, uint64(500))
		require.NoError(t, r.Close())
	}
	want, got := parse(t, &all), parse(t, &part)
	assert.Equal(t, uint64(300), got.Times[0])
	assert.Equal(t, uint64(400), got.Times[len(got.Times)-1])
	for clock := range uint64(100) {
		require.Equal(t, want.At(300+clock), got.At(300+clock), "clock %d", 300+clock)
	}
}

// pokeReset makes changes that happen to a device between clocks.
func pokeReset(m *machine, dev *wave.Device) {
	switch n := m.rng.IntN(300); {
	case n < 10:
		dev.PokeVRAM(m.rng.Uint64N(1000), []byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10})
	case n == 10:
		if m.dev.IdleFor() > 0 && len(m.bus.Reads) == 0 && len(m.bus.Writes) == 0 {
			dev.Reset()
			m.bus.Forget()
		}
	}
}

// A flight recorder reproduces the past exactly: its dump equals a wave of every clock of
// the same machine.
func TestFlightRecorder(t *testing.T) {
	for seed := range uint64(6) {
		var live, ring bytes.Buffer
		depth := []int{1, 50, 700}[seed%3]
		var rec *wave.Recorder
		for _, w := range []io.Writer{&live, nil} {
			m, r := recorded(t, small(), seed, w, wave.Options{Depth: depth})
			m.configure()
			m.stall, m.shuffle, m.skip = int(seed)*10, seed%2 == 0, true
			for id := range 6 {
				// Data that was read is soon overwritten by packets and by pokes.
				m.submit(0, pkt.Copy{Src: 0, Dst: 0x1000, Bytes: 999}, pkt.Fill{Dst: 0, Bytes: 1000, Value: m.rng.Uint64()},
					pkt.Copy{Src: 0x1000, Dst: at(0x10000), Bytes: 999}, pkt.Fill{Dst: 0x1000, Bytes: 1000, Value: m.rng.Uint64()})
				m.submit(1, randomPacket(m, 1), randomPacket(m, 1), pkt.Timestamp{Addr: 0x20000})
				until := m.clock + 500 + 100*uint64(id)
				m.run(2000, func() bool { pokeReset(m, m.dev.(*wave.Device)); return m.clock >= until })
			}
			rec = r
			require.NoError(t, r.Close())
		}
		require.NoError(t, rec.Dump(&ring))
		want, got := parse(t, &live), parse(t, &ring)
		first, last := got.Times[0], got.Times[len(got.Times)-1]
		require.Equal(t, want.Times[len(want.Times)-1], last, "seed %d", seed)
		require.LessOrEqual(t, uint64(depth), last-first+uint64(depth)/100, "seed %d", seed)
		require.Equal(t, want.At(first), got.At(first), "seed %d", seed)
		at := slices.Index(want.Times, first)
		require.Equal(t, want.Times[at:], got.Times, "seed %d", seed)
		for i, changes := range got.Changes[1:] {
			require.Equal(t, want.Changes[at+1+i], changes, "seed %d, clock %d", seed, got.Times[1+i])
		}
	}
}

// A wave on faults has the clocks before and after each fault; two faults that are close
// share one section.
func TestWaveOnFault(t *testing.T) {
	var all, some bytes.Buffer
	var faults []uint64
	for w, o := range map[*bytes.Buffer]wave.Options{&all: {}, &some: {Fault: true, Depth: 100, After: 40}} {
		m, r := recorded(t, small(), 3, w, o)
		m.configure()
		m.skip = true
		faults = nil
		for _, n := range []int{0, 1, 0} {
			rest := m.clock + 3000
			m.run(3001, func() bool { return m.clock >= rest })
			m.writeReg(uint64(cpreg.Base+n*cpreg.Stride+cpreg.Ctl), cpreg.CtlReset)
			m.startNode(n)
			m.submit(n, pkt.Copy{Src: 0, Dst: 1 << 40, Bytes: 64})
			m.run(5000, func() bool { return m.g.Faulted() })
			faults = append(faults, m.clock)
		}
		m.idle()
		require.NoError(t, r.Close())
	}
	want, got := parse(t, &all), parse(t, &some)
	count := 0
	for _, clock := range got.Times {
		near := false
		for _, f := range faults {
			near = near || clock+5000 >= f && clock <= f+40
		}
		require.True(t, near, "clock %d is in no window around %d", clock, faults)
	}
	for _, f := range faults {
		for clock := f - 50; clock < f+40; clock++ {
			require.Equal(t, want.At(clock), got.At(clock), "clock %d of a fault at %d", clock, f)
			count++
		}
		assert.Equal(t, "Fault", got.At(f)["gpu.cp0.decode_state"])
	}
	assert.Equal(t, 270, count)
}

// A wave that ends while the GPU works is complete, and the GPU continues.
func TestWaveEndsAtAnyTime(t *testing.T) {
	for _, o := range []wave.Options{{}, {Fault: true}} {
		var out bytes.Buffer
		m, r := recorded(t, small(), 2, &out, o)
		m.configure()
		for id := range uint32(20) {
			m.submit(0, pkt.Copy{Src: at(0x10003), Dst: 0x77, Bytes: 5000}, fence(0, id))
			if id == 3 {
				m.submit(1, pkt.Copy{Src: 0, Dst: 1 << 40, Bytes: 64})
				m.run(20000, func() bool { return m.g.Faulted() })
			}
			if id == 10 {
				closed := make(chan error, 1)
				go func() { closed <- r.Close() }()
				m.run(20000, func() bool {
					runtime.Gosched()
					return len(closed) > 0
				})
				require.NoError(t, <-closed)
				r.Fault()
				break
			}
			m.idle()
		}
		size, clock := out.Len(), m.clock
		m.submit(0, pkt.Copy{Src: 0, Dst: 1 << 40, Bytes: 64})
		m.run(20000, func() bool { return m.g.Faulted() })
		m.run(20000, func() bool { return m.clock > clock+5000 })
		require.NoError(t, r.Close(), "again")
		assert.Equal(t, size, out.Len())
		d := parse(t, &out)
		assert.Greater(t, len(d.Times), 1000)
		assert.LessOrEqual(t, d.Times[len(d.Times)-1], clock)
	}
}

// A recorder is for one device, and its options are checked.
func TestRecorder(t *testing.T) {
	for _, o := range []wave.Options{{Depth: -1}, {Depth: 1<<20 + 1}, {From: 5, To: 5}, {From: math.MaxUint64}} {
		_, err := wave.New(io.Discard, o)
		assert.ErrorIs(t, err, wave.ErrOptions, "%+v", o)
	}
	var out bytes.Buffer
	m, r := recorded(t, small(), 1, &out, wave.Options{})
	other, err := gpu.New(oneNode())
	require.NoError(t, err)
	r.Attach(other).Tick(port.Request{}, port.Beat{}, false, port.Completion{}, false, false)
	m.configure()
	require.NoError(t, r.Close())
	assert.Contains(t, parse(t, &out).Vars, "gpu.cp1.decode_state")
	none, err := wave.New(&out, wave.Options{})
	require.NoError(t, err)
	assert.False(t, none.Attached())
	assert.NoError(t, none.Close())
	m, r = recorded(t, small(), 1, failing{}, wave.Options{})
	m.configure()
	assert.ErrorIs(t, r.Close(), errWrite)
	assert.ErrorIs(t, r.Dump(io.Discard), wave.ErrOptions, "it has no flight recorder")
	m, r = recorded(t, small(), 1, nil, wave.Options{})
	m.configure()
	assert.ErrorIs(t, r.Dump(failing{}), errWrite)
}

var errWrite = errors.New("no room")

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errWrite }
