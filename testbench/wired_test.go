package testbench

import (
	"image"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/boards"
	"github.com/hilgpu/hilgpu/bus/endpoint"
	"github.com/hilgpu/hilgpu/bus/line"
	"github.com/hilgpu/hilgpu/bus/rootport"
	"github.com/hilgpu/hilgpu/bus/tlp"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/hal"
	"github.com/hilgpu/hilgpu/runtime/verifier"
	"github.com/hilgpu/hilgpu/runtime/verifier/kmcheck"
	"github.com/hilgpu/hilgpu/testbench/compose"
)

// wired is a system whose GPU is at the end of a line in virtual time. A test can
// cut the line at any packet.
type wired struct {
	*System
	line    *line.Line
	dialErr error // error of the next dial, or nil

	passed int             // packets since arm was called
	left   int             // packets until the cut; 0: none
	cut    func()          // cuts the line
	cutAt  uint64          // time of the cut, in ns
	kind   string          // kind of the packet at the cut
	kinds  map[string]bool // kinds of all cuts so far
}

// newWired opens a system on the emulator of a selector. Host memory is small, so
// that a leak shows.
func newWired(t *testing.T, selector string) *wired {
	t.Helper()
	w := &wired{
		System: &System{machine: hal.New(4 << 20), thread: new(ddi.Thread), drivers: HostDrivers()},
		kinds:  map[string]bool{},
	}
	var err error
	w.monitor, err = verifier.NewMonitor(verifier.Options{})
	require.NoError(t, err)
	w.wrap(w.drivers, nil, kmcheck.Options{})
	w.unwatch = func() {}
	w.power(t, selector)
	port, err := rootport.New(w.dial, w.machine, rootport.Options{Observer: w.observe})
	require.NoError(t, err)
	w.link, w.clock = port, port
	require.NoError(t, w.start(Options{}))
	return w
}

// power connects a newly powered device to a new line.
func (w *wired) power(t *testing.T, selector string) {
	t.Helper()
	dev, err := boards.Device(selector)
	require.NoError(t, err)
	end, err := endpoint.New(dev, endpoint.Options{})
	require.NoError(t, err)
	w.line, err = line.New(end, line.Options{Baud: 30_000_000, Latency: 50 * time.Microsecond, Hz: dev.Hz()})
	require.NoError(t, err)
}

func (w *wired) dial() (rootport.Port, error) {
	if w.dialErr != nil {
		return nil, w.dialErr
	}
	return w.line.Dial()
}

// observe cuts the line at the chosen packet.
func (w *wired) observe(dir rootport.Dir, at time.Duration, packet []byte) {
	w.passed++
	if w.left == 0 {
		return
	}
	if w.left--; w.left == 0 {
		w.cutAt = uint64(at)
		w.kind = kindOf(dir, packet)
		w.kinds[w.kind] = true
		w.cut()
	}
}

// kindOf names the purpose of a packet.
func kindOf(dir rootport.Dir, packet []byte) string {
	var p tlp.Packet
	if err := p.Decode(packet); err != nil {
		return err.Error()
	}
	who := "the host's "
	if dir == rootport.Up != p.IsCompletion() {
		who = "the device's "
	}
	switch {
	case p.IsConfig():
		return "configuration"
	case p.IsCompletion():
		return "answer to " + who + "read"
	case p.Kind == tlp.MRd32 || p.Kind == tlp.MRd64:
		return who + "read"
	case dir == rootport.Up && p.Addr >= hal.MessageBase && p.Addr < hal.MessageEnd:
		return "interrupt"
	}
	return who + "write"
}

// arm makes the nth packet from now call cut; n = 0 disarms.
func (w *wired) arm(n int, cut func()) { w.left, w.cut, w.passed = n, cut, 0 }

// recovered recovers the system and checks that it composes.
func (w *wired) recovered(t *testing.T, seed uint64) {
	t.Helper()
	w.arm(0, nil)
	require.NoError(t, w.Recover())
	require.NoError(t, w.Err())
	composes(t, w.System, tinyPlan(t, seed))
}

// tinyPlan composes two images of a few pixels.
func tinyPlan(t *testing.T, seed uint64) *compose.Plan {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 9))
	var sources []compose.Source
	for _, size := range []image.Point{{16, 24}, {25, 13}} {
		img := image.NewNRGBA(image.Rectangle{Max: size})
		for i := range img.Pix {
			img.Pix[i] = uint8(r.Uint32())
		}
		sources = append(sources, compose.Source{Name: "noise", Image: img})
	}
	plan, err := compose.NewPlan(compose.Options{Width: 24, Height: 16, Contexts: 1, Seed: seed, Sources: sources})
	require.NoError(t, err)
	return plan
}
