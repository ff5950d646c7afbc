package pins

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/bus/bustest"
	"github.com/hilgpu/hilgpu/bus/rootport"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/link"
	"github.com/hilgpu/hilgpu/rtl/link/seq"
)

// device is a link in hardware with a device.
type device struct {
	link link.Module
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
	b, gpu := link.Byte{Valid: valid, Data: in}, seq.GPU{Cpl: cpl, Req: up, Beat: upBeat}
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

func newDevice(t *testing.T, dev port.Device) *device {
	p, err := seq.Program(seq.Options{Replay: 4})
	require.NoError(t, err)
	return &device{link: link.New(p.Words, 25_000), dev: fewTags{dev, new([48]uint8)}}
}

func TestConformance(t *testing.T) {
	bustest.Run(t, func(t *testing.T) bustest.Fixture {
		dev := bustest.NewDevice(bustest.DeviceOptions{})
		w, err := New(newDevice(t, dev), Options{})
		require.NoError(t, err)
		host := bustest.NewHost(8192)
		link, err := rootport.New(w.Dial, host, rootport.Options{})
		require.NoError(t, err)
		f := bustest.DeviceFixture(link, link, host, dev)
		f.Kill = w.Cut
		return f
	})
}
