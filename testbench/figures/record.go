package figures

import (
	"errors"
	"fmt"
	"time"

	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/gpu"
	"github.com/hilgpu/hilgpu/rtl/verilog"
	"github.com/hilgpu/hilgpu/rtl/verilog/sim"
)

// ErrDigest is wrapped by the error of sides whose outputs differ.
var ErrDigest = errors.New("figures: Go and the Verilog drive different outputs")

// An event is one clock with its inputs, or a number of skipped clocks.
type event struct {
	in            sim.Inputs
	sleep         uint64 // number of skipped clocks, or 0 for one clock
	idleForCalled bool   // IdleFor was called before the event
}

// recorder is a GPU that records the calls of its methods.
type recorder struct {
	*gpu.GPU
	events        []event
	idleForCalled bool
}

var _ port.Device = (*recorder)(nil)

func (r *recorder) note(e event) {
	e.idleForCalled = r.idleForCalled
	r.idleForCalled = false
	r.events = append(r.events, e)
}

// Tick records and performs one clock.
func (r *recorder) Tick(req port.Request, beat port.Beat, cplReady bool, cpl port.Completion, reqReady, dataReady bool) {
	r.note(event{in: sim.Inputs{Req: req, Beat: beat, CplReady: cplReady, Cpl: cpl, ReqReady: reqReady, DataReady: dataReady}})
	r.GPU.Tick(req, beat, cplReady, cpl, reqReady, dataReady)
}

// IdleFor returns the idle time of the GPU and records the call.
func (r *recorder) IdleFor() uint64 {
	r.idleForCalled = true
	return r.GPU.IdleFor()
}

// Skip records and skips n clocks.
func (r *recorder) Skip(n uint64) {
	r.note(event{sleep: n})
	r.GPU.Skip(n)
}

// A Recording is the activity of a workload at the ports of a GPU, from a reset on.
type Recording struct {
	Name   string
	Clocks uint64
	Slept  uint64 // clocks that the Go side skips

	events []event
}

// stop ends the recording and returns it.
func (r *recorder) stop(name string) *Recording {
	rec := &Recording{Name: name, events: r.events}
	for _, e := range r.events {
		rec.Clocks += max(e.sleep, 1)
		rec.Slept += e.sleep
	}
	return rec
}

// device is a GPU, or a wrapper that records its waves.
type device interface {
	port.Device
	Reset()
}

// replay repeats the recorded calls on g, including those of IdleFor, and returns
// the digest.
func (rec *Recording) replay(g device) uint64 {
	digest := uint64(0)
	g.Reset()
	for i := range rec.events {
		e := &rec.events[i]
		if e.idleForCalled {
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

// Repeat replays the recording on a GPU of configuration c until d has passed.
func (rec *Recording) Repeat(c gpu.Config, d time.Duration) error {
	g, err := gpu.New(c)
	if err != nil {
		return err
	}
	for start := time.Now(); time.Since(start) < d; {
		rec.replay(g)
	}
	return nil
}

// factors holds the digest factors of the output ports, in the order of the
// manifest.
var factors = func() (f [14]uint64) {
	for i := range f {
		f[i] = sim.DigestFactor(i)
	}
	return f
}()

// outputs returns the contribution of a GPU's ports to the digest.
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

// stimuli converts the recording to stimuli for the simulation of a manifest.
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
