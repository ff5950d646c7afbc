package figures

import (
	"errors"
	"fmt"

	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/gpu"
	"github.com/hilgpu/hilgpu/rtl/verilog"
	"github.com/hilgpu/hilgpu/rtl/verilog/sim"
)

// ErrDigest is wrapped by the error of sides that have not done the same.
var ErrDigest = errors.New("figures: Go and the Verilog drive different outputs")

// An event is a clock with inputs, or a sleep.
type event struct {
	in    sim.Inputs
	sleep uint64 // clocks without inputs that the GPU sleeps through; 0: a clock
	asked bool   // IdleFor was called before
}

// recorder is a GPU that notes what is done to it.
type recorder struct {
	*gpu.GPU
	events []event
	asked  bool
}

var _ port.Device = (*recorder)(nil)

func (r *recorder) note(e event) {
	e.asked = r.asked
	r.asked = false
	r.events = append(r.events, e)
}

// Tick is one clock.
func (r *recorder) Tick(req port.Request, beat port.Beat, cplReady bool, cpl port.Completion, reqReady, dataReady bool) {
	r.note(event{in: sim.Inputs{Req: req, Beat: beat, CplReady: cplReady, Cpl: cpl, ReqReady: reqReady, DataReady: dataReady}})
	r.GPU.Tick(req, beat, cplReady, cpl, reqReady, dataReady)
}

// IdleFor is the GPU's.
func (r *recorder) IdleFor() uint64 {
	r.asked = true
	return r.GPU.IdleFor()
}

// Skip is n clocks without input.
func (r *recorder) Skip(n uint64) {
	r.note(event{sleep: n})
	r.GPU.Skip(n)
}

// A Recording is what a workload does at the ports of a GPU, from a reset on.
type Recording struct {
	Name   string
	Clocks uint64
	Slept  uint64 // of them, through which the Go side skips

	events []event
}

// stop ends a recording.
func (r *recorder) stop(name string) *Recording {
	rec := &Recording{Name: name, events: r.events}
	for _, e := range r.events {
		rec.Clocks += max(e.sleep, 1)
		rec.Slept += e.sleep
	}
	return rec
}

// device is a GPU, or one that is recorded.
type device interface {
	port.Device
	Reset()
}

// replay does to g what was recorded, as the wire did it: what it asked is asked
// again. It returns the digest.
func (rec *Recording) replay(g device) uint64 {
	digest := uint64(0)
	g.Reset()
	for i := range rec.events {
		e := &rec.events[i]
		if e.asked {
			g.IdleFor()
		}
		if e.sleep > 0 {
			g.Skip(e.sleep)
			continue
		}
		digest = digest*sim.DigestStep + outputs(g)
		g.Tick(e.in.Req, e.in.Beat, e.in.CplReady, e.in.Cpl, e.in.ReqReady, e.in.DataReady)
	}
	return digest
}

// factors are of the output ports, in the order of the manifest.
var factors = func() (f [14]uint64) {
	for i := range f {
		f[i] = sim.DigestFactor(i)
	}
	return f
}()

// outputs returns what the ports of a GPU add to a digest.
func outputs(g port.Device) uint64 {
	cpl, reqReady, dataReady := g.Target()
	req, beat := g.Initiator()
	f := &factors
	d := uint64(cpl.Tag)*f[0] + uint64(cpl.Status)*f[1] + cpl.Data*f[3] +
		uint64(req.Kind)*f[6] + uint64(req.Tag)*f[7] + uint64(req.Len)*f[8] + req.Addr*f[9] +
		uint64(beat.Enable)*f[12] + beat.Data*f[13]
	return d + bit(cpl.Last)*f[2] + bit(reqReady)*f[4] + bit(dataReady)*f[5] + bit(beat.Valid)*f[10] + bit(beat.Last)*f[11]
}

// bit returns 1 for true, without a branch.
func bit(b bool) (v uint64) {
	if b {
		v = 1
	}
	return v
}

// stimuli returns the recording for the model of a manifest.
func (rec *Recording) stimuli(m *verilog.Manifest) (*sim.Stimuli, error) {
	lay, err := sim.NewLayout(m)
	if err != nil {
		return nil, err
	}
	ports, err := sim.NewPorts(m)
	if err != nil {
		return nil, err
	}
	if lay.Outputs != len(factors) {
		return nil, fmt.Errorf("%w: %d output ports, want %d", sim.ErrManifest, lay.Outputs, len(factors))
	}
	s := new(sim.Stimuli)
	values := make([]uint64, ports.NumInputs())
	s.Append(lay, true, values, 1, false)
	for i := range rec.events {
		e := &rec.events[i]
		ports.GetInputs(&e.in, values)
		const most = 1 << 30
		for n := max(e.sleep, 1); n > 0; n -= min(n, most) {
			s.Append(lay, false, values, uint32(min(n, most)), e.sleep == 0)
		}
	}
	return s, nil
}
