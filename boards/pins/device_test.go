package pins

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/bus/bustest"
	"github.com/hilgpu/hilgpu/bus/fault"
	"github.com/hilgpu/hilgpu/bus/rootport"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/link"
	"github.com/hilgpu/hilgpu/rtl/link/hard"
	"github.com/hilgpu/hilgpu/rtl/link/hard/dlink"
	"github.com/hilgpu/hilgpu/rtl/link/linkport"
	"github.com/hilgpu/hilgpu/rtl/link/rate"
	"github.com/hilgpu/hilgpu/rtl/link/seq"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

// boardLink is a link in hardware.
type boardLink interface {
	Byte() (valid bool, data uint8)
	Target() (port.Request, port.Beat)
	Takes() (cpl, req, beat bool)
	Complete() port.Completion
	Reset()
	Tick(in linkport.Byte, ready bool, gpu linkport.GPU, reqReady, dataReady bool)
}

// device is a link in hardware with a device.
type device struct {
	link boardLink
	dev  port.Device
	tick func(args ...any) // a clock of the link; nil: its own
}

func (d *device) Err() error { return nil }

func (d *device) Tick(in byte, valid, ready bool) (out byte, sent bool) {
	sent, out = d.link.Byte()
	req, beat := d.link.Target()
	takesCpl, takesReq, takesBeat := d.link.Takes()
	complete := d.link.Complete()
	cpl, reqReady, dataReady := d.dev.Target()
	up, upBeat := d.dev.Initiator()
	b, gpu := linkport.Byte{Valid: valid, Data: in}, linkport.GPU{Cpl: cpl, Req: up, Beat: upBeat}
	if d.tick != nil {
		d.tick(b, ready, gpu, reqReady, dataReady)
	} else {
		d.link.Tick(b, ready, gpu, reqReady, dataReady)
	}
	d.dev.Tick(req, beat, takesCpl, complete, takesReq, takesBeat)
	return out, sent && ready
}

// fewTags is a device whose reads have the tags of a GPU, 0 to 15 and 32 to 47. The
// reference device counts on to 255.
type fewTags struct {
	port.Device
	tags *[48]uint8
}

func ofGPU(tag uint8) uint8 { return tag&15 | tag<<1&32 }

func (f fewTags) Initiator() (port.Request, port.Beat) {
	req, beat := f.Device.Initiator()
	req.Tag = ofGPU(req.Tag)
	return req, beat
}

func (f fewTags) Tick(req port.Request, beat port.Beat, cplReady bool, cpl port.Completion, reqReady, dataReady bool) {
	if r, _ := f.Device.Initiator(); reqReady && r.Kind == port.MemRead {
		f.tags[ofGPU(r.Tag)] = r.Tag
	}
	cpl.Tag = f.tags[min(cpl.Tag, 47)]
	f.Device.Tick(req, beat, cplReady, cpl, reqReady, dataReady)
}

// A made is an implementation of the link.
type made struct {
	name string
	make func(t testing.TB) boardLink
	tags func(port.Device) port.Device // bounds those of the device's reads
}

// both are the implementations, which run the same tests.
var both = []made{{"sequencer", newSeq, newFewTags}, {"hardwired", newHard, newSixBits}}

// forBoth runs a test with each implementation.
func forBoth(t *testing.T, f func(t *testing.T, m made)) {
	for _, m := range both {
		t.Run(m.name, func(t *testing.T) { f(t, m) })
	}
}

func newSeq(t testing.TB) boardLink {
	p, err := seq.Program(seq.Options{Replay: 4})
	require.NoError(t, err)
	m := link.New(p.Words, 25_000)
	return &m
}

// hardConfig has the times of a line with 25 MHz and 80 clocks a byte.
var hardConfig = dlink.Config{
	Window: 8, TickClocks: 2500, TickMicros: 100,
	Ack: 3, Replay: 80, Limit: 64, Nak: 40, Ping: 1024, Dead: 5000, Expiry: 2000,
}

func newHard(testing.TB) boardLink {
	m := hard.New(hardConfig, rate.Config{})
	return &m
}

func newFewTags(dev port.Device) port.Device { return fewTags{dev, new([48]uint8)} }

// sixBits is a device whose reads have tags of 0 to 63, as those of a GPU.
type sixBits struct {
	port.Device
	tags *[64]uint8
}

func newSixBits(dev port.Device) port.Device { return sixBits{dev, new([64]uint8)} }

func (f sixBits) Initiator() (port.Request, port.Beat) {
	req, beat := f.Device.Initiator()
	req.Tag &= 63
	return req, beat
}

func (f sixBits) Tick(req port.Request, beat port.Beat, cplReady bool, cpl port.Completion, reqReady, dataReady bool) {
	if r, _ := f.Device.Initiator(); reqReady && r.Kind == port.MemRead {
		f.tags[r.Tag&63] = r.Tag
	}
	cpl.Tag = f.tags[cpl.Tag&63]
	f.Device.Tick(req, beat, cplReady, cpl, reqReady, dataReady)
}

// newDevice returns a device at the end of the link.
func (m made) newDevice(t testing.TB, dev port.Device) *device {
	return &device{link: m.make(t), dev: m.tags(dev)}
}

func TestConformance(t *testing.T) {
	tooltest.Long(t)
	forBoth(t, func(t *testing.T, m made) { m.conforms(t, Options{}) })
}

// TestConformanceUnderFaults: each link conforms on a line with each fault, with a byte in each
// second clock, and also after the line was cut.
func TestConformanceUnderFaults(t *testing.T) {
	tooltest.Long(t)
	for name, cut := range map[string]int{"stalls": 0, "cut": 30} {
		t.Run(name, func(t *testing.T) {
			f := bad(11)
			f.Stall, f.StallFor, f.Cut = 0.01, 200*time.Microsecond, cut
			forBoth(t, func(t *testing.T, m made) { m.conforms(t, Options{Clocks: 2, Faults: f}) })
		})
	}
}

// conforms runs the conformance suite of the bus.
func (m made) conforms(t *testing.T, o Options) {
	bustest.Run(t, func(t *testing.T) bustest.Fixture {
		dev := bustest.NewDevice(bustest.DeviceOptions{})
		w, err := New(m.newDevice(t, dev), o)
		require.NoError(t, err)
		host := bustest.NewHost(8192)
		link, err := rootport.New(w.Dial, host, rootport.Options{})
		require.NoError(t, err)
		if o.Faults.Cut != 0 {
			beginAfterCut(t, w, link)
		}
		f := bustest.DeviceFixture(link, link, host, dev)
		f.Kill = w.Cut
		return f
	})
}

// beginAfterCut works until the line is cut, and begins a session after it. The line is not cut
// again.
func beginAfterCut(t *testing.T, w *Wire, link *rootport.RootPort) {
	t.Helper()
	err := error(nil)
	for p := make([]byte, 600); err == nil; {
		if err = bustest.Enumerate(link); err == nil {
			err = errors.Join(link.Write(2, 0, p), link.Read(2, 0, p))
		}
	}
	require.ErrorIs(t, err, bus.ErrLinkDown)
	require.Equal(t, uint64(1), w.down.Stats().Cuts+w.up.Stats().Cuts)
	f := w.opt.Faults
	f.Cut = 0
	w.down, w.up = fault.New(f, 2), fault.New(f, 3)
	require.NoError(t, link.Reopen())
}

// bytes returns the line of a board at its byte port.
func (w *Wire) bytes() *byteLine { return w.line.(*byteLine) }
