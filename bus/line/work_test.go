package line_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/bus/bustest"
	"github.com/hilgpu/hilgpu/bus/fault"
	"github.com/hilgpu/hilgpu/bus/line"
	"github.com/hilgpu/hilgpu/bus/rootport"
)

var packetsFlag = flag.Uint64("line.packets", 12_000, "transaction-layer packets of TestDisconnections")

// tlps returns the number of packets transferred in both directions.
func (g *rig) tlps() uint64 {
	st := g.root.Stats()
	return st.TLPs[0] + st.TLPs[1]
}

// Memory layout of the test work.
const (
	modelBytes = 8192       // reference model, from 0 in BAR 2
	jobAt      = modelBytes // jobs, from here on in BAR 2
	jobBytes   = 2048
)

// A change is an accepted write that is not known to have arrived.
type change struct {
	off  int
	data []byte
}

// work makes random calls and checks each against a reference model of the
// device.
type work struct {
	g       *rig
	rng     *rand.Rand
	model   []byte // with all writes known to have arrived
	changes []change
	moved   uint64 // bytes moved
	jobs    int
}

func newWork(t testing.TB, g *rig, seed uint64) *work {
	require.NoError(t, bustest.Enumerate(g.root))
	return &work{g: g, rng: rand.New(rand.NewPCG(seed, 1)), model: make([]byte, modelBytes)}
}

// do makes one call, or runs one job of the device with its message.
func (w *work) do() error {
	switch k := w.rng.IntN(20); {
	case k < 9:
		return w.write()
	case k < 12:
		return w.read()
	case k < 14:
		return w.register()
	}
	return w.job()
}

func (w *work) span() (off, n int) {
	off = 4 * w.rng.IntN(modelBytes/4)
	return off, 4 * (1 + w.rng.IntN(min(512, (modelBytes-off)/4)))
}

func (w *work) random(n int) []byte {
	p := make([]byte, n)
	for i := range p {
		p[i] = byte(w.rng.Uint32())
	}
	return p
}

func (w *work) write() error {
	off, n := w.span()
	p := w.random(n)
	for at := 0; at < n; { // the packets of the call; none crosses a multiple of 128
		end := min(n, at+128-(off+at)%128)
		w.changes = append(w.changes, change{off + at, p[at:end]})
		at = end
	}
	w.moved += uint64(n)
	return w.g.root.Write(2, uint64(off), p)
}

// read sees all earlier writes.
func (w *work) read() error {
	off, n := w.span()
	p := make([]byte, n)
	if err := w.g.root.Read(2, uint64(off), p); err != nil {
		return err
	}
	w.moved += uint64(n)
	w.settle(len(w.changes))
	return same("read", p, w.model[off:off+n])
}

// settle applies the first n changes to the model and drops all.
func (w *work) settle(n int) {
	for _, c := range w.changes[:n] {
		copy(w.model[c.off:], c.data)
	}
	w.changes = w.changes[:0]
}

// errWrong is a wrong answer, as opposed to an error of the link.
var errWrong = errors.New("wrong")

func same(what string, got, want []byte) error {
	if !bytes.Equal(got, want) {
		return fmt.Errorf("%w: %s: %x, want %x", errWrong, what, got, want)
	}
	return nil
}

func (w *work) register() error {
	p := make([]byte, 4)
	if err := w.g.root.Read(0, bustest.RegMagic, p); err != nil {
		return err
	}
	w.moved += 4
	return same("magic", p, []byte{0x44, 0x46, 0x45, 0x52})
}

// job makes the device copy between its memory and the host's, and waits for
// its message, of which there must be exactly one.
func (w *work) job() error {
	root, h := w.g.root, w.g.host
	n := 4 * (1 + w.rng.IntN(jobBytes/4))
	off := 4 * w.rng.IntN((len(h.Mem)-n)/4)
	data := w.random(n)
	w.jobs++
	w.moved += uint64(2 * n)
	h.ForgetMessages()
	toHost := w.rng.IntN(2) == 0
	job := uint32(bustest.JobRead)
	if toHost {
		job = bustest.JobWrite
		if err := root.Write(2, jobAt, data); err != nil {
			return err
		}
	} else {
		copy(h.Mem[off:], data)
	}
	if err := bustest.StartJob(root, job, h.Base+uint64(off), jobAt, uint32(n)); err != nil {
		return err
	}
	for deadline := root.Now() + 5e9; len(h.Messages()) == 0; {
		if root.Now() >= deadline {
			return fmt.Errorf("%w: no message", errWrong)
		}
		if _, err := root.Wait(deadline); err != nil {
			return err
		}
	}
	if toHost {
		return same("memory of the host", h.Mem[off:off+n], data)
	}
	got := make([]byte, n)
	if err := root.Read(2, jobAt, got); err != nil {
		return err
	}
	w.settle(len(w.changes))
	return same("memory of the device", got, data)
}

// resume reopens the port after a disconnection. The device's memory must then
// match the accepted writes without zero or more of the last ones: exactly once
// and in order up to the cut.
func (w *work) resume() error {
	if err := w.g.root.Reopen(); err != nil {
		return err
	}
	got := make([]byte, modelBytes)
	if err := w.g.root.Read(2, 0, got); err != nil {
		return err
	}
	now := slices.Clone(w.model)
	for k := 0; !bytes.Equal(now, got); k++ {
		if k == len(w.changes) {
			return fmt.Errorf("%w: memory matches no prefix of the %d writes", errWrong, k)
		}
		copy(now[w.changes[k].off:], w.changes[k].data)
	}
	w.model, w.changes = now, w.changes[:0]
	return w.quiet()
}

// quiet waits until the device has ended the interrupted job.
func (w *work) quiet() error {
	last := []byte{0xff, 0xff, 0xff, 0xff}
	for p := make([]byte, 4); ; last, p = p, make([]byte, 4) {
		if err := w.g.root.Read(0, bustest.RegDone, p); err != nil || bytes.Equal(p, last) {
			return err
		}
		if _, err := w.g.root.Wait(w.g.root.Now() + 20e6); err != nil {
			return err
		}
	}
}

// leastSpan is the smallest number of packets between two cuts: more than
// resume needs, which would otherwise be cut itself for ever.
const leastSpan = 300

// campaign makes random calls until the given number of packets has crossed.
// With cuts, it repeatedly unplugs or silences the line during a transfer. It
// returns the number of disconnections, and the bytes moved per second of
// virtual time.
func campaign(t *testing.T, faults fault.Config, packets, cuts uint64) (g *rig, down uint64, speed float64) {
	every := packets // packets between cuts
	if cuts > 0 {
		every = max(packets/cuts, leastSpan)
	}
	next, silent := every, false
	g = newRig(t, bustest.DeviceOptions{Stall: 1}, line.Options{Hz: 2_000_000, Faults: faults}, rootport.Options{
		Observer: func(rootport.Dir, time.Duration, []byte) {
			if next--; next > 0 || cuts == 0 {
				return
			}
			if silent = !silent; silent {
				g.line.Cut()
			} else {
				g.line.Unplug()
			}
			next = every
		},
	})
	w := newWork(t, g, 3)
	for g.tlps() < packets {
		err := w.do()
		for errors.Is(err, bus.ErrLinkDown) {
			down++
			err = w.resume()
		}
		require.NoError(t, err)
	}
	return g, down, float64(w.moved) * 1e9 / float64(g.root.Now())
}

// TestDisconnections: with injected faults and a hundred disconnections during
// transfers, every packet arrives exactly once and in order, or the link
// reports that it is down. No byte is wrong, and nothing hangs.
func TestDisconnections(t *testing.T) {
	const cuts = 100
	packets := *packetsFlag
	g, down, speed := campaign(t, bad(3), packets, cuts)
	st, ls := g.root.Stats(), g.line.Stats()
	t.Logf("%d packets, %d sessions, %v; %+v", g.tlps(), st.Sessions, time.Duration(g.root.Now()), ls)
	assert.GreaterOrEqual(t, down+1, min(cuts, packets/leastSpan))
	assert.Equal(t, down+1, st.Sessions)
	assert.LessOrEqual(t, ls.Resets, st.Sessions)
	assert.Greater(t, ls.Resets, st.Sessions/2, "a session may end before the board has begun it")
	assert.Zero(t, st.Refused, st.Refusal)
	assert.Zero(t, st.Timeouts)
	assert.Positive(t, ls.Link[0].Stale+ls.Link[1].Stale, "frames of an earlier session")

	// Detecting a disconnection takes a fixed time. Compare speeds only if that
	// time is small relative to the transfer.
	_, _, clean := campaign(t, fault.Config{}, packets, 0)
	t.Logf("%.0f bytes a second, %.0f on a good line", speed, clean)
	if packets >= 1_000_000 {
		assert.GreaterOrEqual(t, speed/clean, 0.6)
	}
}
