package line_test

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/bus/bustest"
	"github.com/hilgpu/hilgpu/bus/datalink"
	"github.com/hilgpu/hilgpu/bus/endpoint"
	"github.com/hilgpu/hilgpu/bus/fault"
	"github.com/hilgpu/hilgpu/bus/line"
	"github.com/hilgpu/hilgpu/bus/rootport"
	"github.com/hilgpu/hilgpu/bus/tlp"
)

// bad returns the injected faults for which the goodput is specified.
func bad(seed uint64) fault.Config {
	return fault.Config{Loss: 0.05, Dup: 0.03, Flip: 0.02, Truncate: 0.01, Reorder: 0.02, Seed: seed}
}

// A rig is the reference device at the end of a line.
type rig struct {
	device *bustest.Device
	line   *line.Line
	host   *bustest.Host
	root   *rootport.RootPort
}

func newRig(t testing.TB, dev bustest.DeviceOptions, opt line.Options, root rootport.Options) *rig {
	return newRigWith(t, dev, endpoint.Options{}, opt, root)
}

func newRigWith(t testing.TB, dev bustest.DeviceOptions, at endpoint.Options, opt line.Options, root rootport.Options) *rig {
	g := &rig{device: bustest.NewDevice(dev), host: bustest.NewHost(4096)}
	ep, err := endpoint.New(g.device, at)
	require.NoError(t, err)
	g.line, err = line.New(ep, opt)
	require.NoError(t, err)
	g.root, err = rootport.New(g.line.Dial, g.host, root)
	require.NoError(t, err)
	return g
}

// TestConformance runs the conformance suite over a good line and bad ones.
func TestConformance(t *testing.T) {
	for _, tt := range []struct {
		name string
		opt  line.Options
	}{
		{"good", line.Options{}},
		{"slow", line.Options{Baud: 115200, Latency: 10 * time.Millisecond}},
		{"bad", line.Options{Faults: bad(1)}},
		{"bad and fast", line.Options{Baud: 12_000_000, Latency: 100 * time.Microsecond, Faults: bad(2)}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			stall := uint64(0)
			bustest.Run(t, func(t *testing.T) bustest.Fixture {
				stall++
				g := newRig(t, bustest.DeviceOptions{Stall: stall % 3}, tt.opt, rootport.Options{})
				f := bustest.DeviceFixture(g.root, g.root, g.host, g.device)
				f.Kill = g.line.Unplug
				return f
			})
		})
	}
}

func TestOptions(t *testing.T) {
	for _, opt := range []line.Options{
		{Baud: 300}, {Baud: -1}, {Latency: -1}, {Latency: time.Minute}, {Hz: 1e13},
	} {
		ep, err := endpoint.New(bustest.NewDevice(bustest.DeviceOptions{}), endpoint.Options{})
		require.NoError(t, err)
		_, err = line.New(ep, opt)
		assert.ErrorIs(t, err, line.ErrOptions, "%+v", opt)
	}
	ep, err := endpoint.New(bustest.NewDevice(bustest.DeviceOptions{}), endpoint.Options{})
	require.NoError(t, err)
	_, err = line.New(ep, line.Options{Link: datalink.Config{Window: 3}})
	assert.ErrorContains(t, err, "Window 3 frames")
}

// TestDeterminism: the seed and the calls determine every byte, clock and
// counter.
func TestDeterminism(t *testing.T) {
	run := func(seed uint64) (line.Stats, rootport.Stats, uint64, []byte) {
		opt := line.Options{Hz: 2_000_000, Faults: bad(seed)}
		opt.Faults.Stall, opt.Faults.Cut = 0.01, 300
		g := newRig(t, bustest.DeviceOptions{Stall: 2}, opt, rootport.Options{})
		w := newWork(t, g, 5)
		for range 300 {
			err := w.do()
			for errors.Is(err, bus.ErrLinkDown) {
				err = w.resume()
			}
			require.NoError(t, err)
		}
		return g.line.Stats(), g.root.Stats(), g.root.Now(), g.host.Mem
	}
	s1, r1, n1, m1 := run(1)
	s2, r2, n2, m2 := run(1)
	assert.Equal(t, s1, s2)
	assert.Equal(t, r1, r2)
	assert.Equal(t, n1, n2)
	assert.Equal(t, m1, m2)
	assert.Positive(t, s1.Fault[0].Cuts+s1.Fault[1].Cuts)
	assert.Positive(t, s1.Fault[0].Stalls)
	other, _, _, _ := run(2)
	assert.NotEqual(t, s1, other)
}

// TestRate: bytes take the time given by the rate, plus the latency.
func TestRate(t *testing.T) {
	for _, opt := range []line.Options{
		{Baud: 9600, Latency: time.Millisecond},
		{Baud: 115_200, Latency: 5 * time.Millisecond},
		{Baud: 3_000_000, Latency: time.Microsecond},
	} {
		opt.Link.Refresh = time.Minute // keeps other frames off the line
		g := newRig(t, bustest.DeviceOptions{}, opt, rootport.Options{})
		_, err := g.root.ReadConfig(0)
		require.NoError(t, err)
		g.pass(t, 50*time.Millisecond)
		at, clocks := g.root.Now(), g.line.Stats().Clocks
		before := g.line.Stats().Bytes
		_, err = g.root.ReadConfig(0)
		require.NoError(t, err)
		took := time.Duration(g.root.Now() - at)
		st := g.line.Stats()
		n := st.Bytes[0] + st.Bytes[1] - before[0] - before[1]
		least := 2*opt.Latency + time.Duration(n)*10*time.Second/time.Duration(opt.Baud)
		assert.GreaterOrEqual(t, took, least, "%+v", opt)
		assert.Less(t, took, least+2*time.Microsecond, "%+v: a few clocks of the device", opt)
		assert.InDelta(t, took.Nanoseconds()/10, st.Clocks-clocks, 2, "100 MHz")
	}
}

// TestUnplug: unplugging the line during a read is an error at once, and
// silence is an error within a second. The line works after Reopen.
func TestUnplug(t *testing.T) {
	for _, tt := range []struct {
		name string
		cut  func(l *line.Line)
		want error
		in   time.Duration
	}{
		{"unplugged", (*line.Line).Unplug, line.ErrCut, time.Millisecond},
		{"silence", (*line.Line).Cut, datalink.ErrDead, time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var g *rig
			var armed bool
			var at time.Duration
			g = newRig(t, bustest.DeviceOptions{}, line.Options{}, rootport.Options{
				Observer: func(dir rootport.Dir, now time.Duration, _ []byte) {
					if armed && dir == rootport.Up {
						armed, at = false, now
						tt.cut(g.line)
					}
				}})
			require.NoError(t, bustest.Enumerate(g.root))
			require.NoError(t, g.root.Write(2, 0, make([]byte, 2048)))
			armed = true
			err := g.root.Read(2, 0, make([]byte, 2048))
			assert.ErrorIs(t, err, bus.ErrLinkDown)
			assert.ErrorIs(t, err, tt.want)
			assert.Less(t, time.Duration(g.root.Now())-at, tt.in)
			_, again := g.root.Wait(g.root.Now() + 1e9)
			assert.Equal(t, err, again)
			require.NoError(t, g.root.Reopen())
			assert.NoError(t, g.root.Read(2, 0, make([]byte, 2048)))
		})
	}
}

// TestInterrupt: a Receive after Interrupt takes no time, and the one after it does.
func TestInterrupt(t *testing.T) {
	g := newRig(t, bustest.DeviceOptions{}, line.Options{}, rootport.Options{})
	port, err := g.line.Dial()
	require.NoError(t, err)
	at := port.Now()
	port.Interrupt()
	for _, want := range []time.Duration{0, time.Second} {
		packet, err := port.Receive(time.Second)
		require.NoError(t, err)
		assert.Nil(t, packet)
		assert.Equal(t, at+want, port.Now())
	}
}

// TestCutLosesTheRest: bytes in flight when the line is cut do not arrive, and
// packets accepted before a session ended do not arrive in the next.
func TestCutLosesTheRest(t *testing.T) {
	g := newRig(t, bustest.DeviceOptions{}, line.Options{Latency: 20 * time.Millisecond}, rootport.Options{})
	require.NoError(t, bustest.Enumerate(g.root))
	require.NoError(t, g.root.Read(2, 0, make([]byte, 4)))
	before := g.device.Requests()
	require.NoError(t, g.root.Write(2, 0, []byte{1, 2, 3, 4}))
	g.line.Cut()
	_, err := g.root.Wait(g.root.Now() + 10e9)
	for err == nil {
		_, err = g.root.Wait(g.root.Now() + 10e9)
	}
	assert.ErrorIs(t, err, bus.ErrLinkDown)
	assert.Equal(t, before, g.device.Requests())
	require.NoError(t, g.root.Reopen())
	got := make([]byte, 4)
	require.NoError(t, g.root.Read(2, 0, got))
	assert.Equal(t, make([]byte, 4), got)
}

// TestCutFrame: half a frame that arrived before a cut does not spoil the first
// frame after it.
func TestCutFrame(t *testing.T) {
	g := newRig(t, bustest.DeviceOptions{}, line.Options{Baud: 9600}, rootport.Options{})
	p, err := g.line.Dial()
	require.NoError(t, err)
	w := tlp.Packet{Kind: tlp.MWr32, Len: 32, First: 15, Last: 15, Addr: 0x1000, Data: bytes.Repeat([]byte{0xaa}, 128)}
	packet, err := w.Append(nil)
	require.NoError(t, err)
	require.NoError(t, p.Send(packet))
	_, err = p.Receive(100 * time.Millisecond) // the frame takes 150 ms
	require.NoError(t, err)
	g.line.Unplug()
	p, err = g.line.Dial()
	require.NoError(t, err)
	assert.Less(t, p.Now(), 120*time.Millisecond, "one hello and its answer, of 52 bytes at most")
	assert.Positive(t, g.line.Stats().Frame[1].Garbage)
}

// TestStaleWrites: packets of an ended session that have reached the board but
// not the device do not reach the device in the next session.
func TestStaleWrites(t *testing.T) {
	opt := line.Options{Hz: 1000} // a clock lasts longer than the following packets
	g := newRigWith(t, bustest.DeviceOptions{}, endpoint.Options{Queue: 1}, opt, rootport.Options{Timeout: time.Minute})
	require.NoError(t, bustest.Enumerate(g.root))
	require.NoError(t, g.root.Read(2, 0, make([]byte, 4)))
	for i := range uint64(12) {
		require.NoError(t, g.root.Write(2, 4*i, []byte{1, 1, 1, 1}))
	}
	g.pass(t, 5*time.Millisecond)
	before := g.line.Stats().Link[1].PacketsReceived
	g.line.Unplug()
	require.NoError(t, g.root.Reopen())
	got := make([]byte, 48)
	require.NoError(t, g.root.Read(2, 0, got))
	n := bytes.Count(got, []byte{1}) / 4
	assert.Less(t, n, 8)
	assert.Equal(t, bytes.Repeat([]byte{1}, 4*n), got[:4*n], "the first ones")
	assert.Greater(t, before, uint64(24), "all of them had arrived at the board")
}

// TestStall: a stalled line carries nothing for that time, and then everything.
func TestStall(t *testing.T) {
	faults := fault.Config{Stall: 1, StallFor: 30 * time.Millisecond}
	opt := line.Options{Faults: faults, Link: datalink.Config{ReplayMin: 200 * time.Millisecond, ReplayMax: 200 * time.Millisecond}}
	g := newRig(t, bustest.DeviceOptions{}, opt, rootport.Options{})
	start := g.root.Now()
	_, err := g.root.ReadConfig(0)
	require.NoError(t, err)
	assert.GreaterOrEqual(t, g.root.Now()-start, uint64(60e6), "both ways")
	assert.Less(t, g.root.Now()-start, uint64(200e6))
}

// TestTight: with the shortest queues and a device that stalls, nothing
// deadlocks and nothing is lost.
func TestTight(t *testing.T) {
	opt := line.Options{Hz: 500_000, Faults: bad(11), Link: datalink.Config{Queue: 1, Window: 2}}
	opt.Faults.Cut = 400
	g := newRigWith(t, bustest.DeviceOptions{Stall: 5}, endpoint.Options{Queue: 1, Reads: 1}, opt, rootport.Options{Tags: 32})
	w := newWork(t, g, 11)
	for range 300 {
		err := w.do()
		for errors.Is(err, bus.ErrLinkDown) {
			err = w.resume()
		}
		require.NoError(t, err)
	}
	st := g.root.Stats()
	assert.Zero(t, st.Refused, st.Refusal)
	assert.Zero(t, st.Timeouts)
	assert.Greater(t, st.Sessions, uint64(3))
}

// TestDial: a board that is not heard is an error, and the port of an earlier
// session is unusable.
func TestDial(t *testing.T) {
	ep, err := endpoint.New(bustest.NewDevice(bustest.DeviceOptions{}), endpoint.Options{})
	require.NoError(t, err)
	deaf, err := line.New(ep, line.Options{Faults: fault.Config{Loss: 1}})
	require.NoError(t, err)
	_, err = deaf.Dial()
	assert.ErrorIs(t, err, bus.ErrLinkDown)
	assert.ErrorIs(t, err, datalink.ErrOpen)

	g := newRig(t, bustest.DeviceOptions{}, line.Options{}, rootport.Options{})
	first, err := g.line.Dial()
	require.NoError(t, err)
	second, err := g.line.Dial()
	require.NoError(t, err)
	_, err = first.Receive(time.Second)
	assert.ErrorIs(t, err, bus.ErrStale)
	assert.ErrorIs(t, first.Send(make([]byte, 12)), bus.ErrStale)
	require.NoError(t, first.Close())
	before := second.Now()
	got, err := second.Receive(time.Millisecond)
	assert.Nil(t, got)
	assert.NoError(t, err, "closing the first does not affect the second")
	assert.Equal(t, time.Millisecond, second.Now()-before)

	require.NoError(t, second.Close())
	require.NoError(t, second.Close())
	_, err = second.Receive(time.Second)
	assert.ErrorIs(t, err, bus.ErrLinkDown)
	assert.ErrorIs(t, err, datalink.ErrClosed)
}

// TestPort: Receive returns long before its time-out when a queue that was full
// has room again.
func TestPort(t *testing.T) {
	g := newRig(t, bustest.DeviceOptions{}, line.Options{Link: datalink.Config{Queue: 4, Window: 4}}, rootport.Options{})
	p, err := g.line.Dial()
	require.NoError(t, err)
	w := tlp.Packet{Kind: tlp.MWr32, Len: 32, First: 15, Last: 15, Addr: 0x1000, Data: make([]byte, 128)}
	packet, err := w.Append(nil)
	require.NoError(t, err)
	sent, full := 0, 0
	for sent < 100 {
		err := p.Send(packet)
		if err == nil {
			sent++
			continue
		}
		require.ErrorIs(t, err, datalink.ErrFull)
		full++
		before := p.Now()
		got, err := p.Receive(time.Minute)
		require.NoError(t, err)
		require.Nil(t, got)
		require.Less(t, p.Now()-before, 20*time.Millisecond)
		require.Positive(t, p.Now()-before)
	}
	assert.Positive(t, full)
	assert.ErrorIs(t, p.Send(make([]byte, 5000)), datalink.ErrSize)
}
