package relay_test

import (
	"errors"
	"flag"
	"fmt"
	"image"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/boards"
	"github.com/hilgpu/hilgpu/boards/serve"
	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/bus/bustest"
	"github.com/hilgpu/hilgpu/bus/fault"
	"github.com/hilgpu/hilgpu/rtl/abi/regmap"
	"github.com/hilgpu/hilgpu/testbench"
	"github.com/hilgpu/hilgpu/testbench/compose"
	"github.com/hilgpu/hilgpu/testbench/relay"
)

var (
	packetsFlag = flag.Uint64("relay.packets", 2_000, "transaction-layer packets of TestFaultsAndCuts on each kind of path")
	cutsFlag    = flag.Uint64("relay.cuts", 2, "cuts of TestFaultsAndCuts")
	framesFlag  = flag.Int("relay.frames", 1, "frames of TestCompose on each kind of path")
)

// TestFaultsAndCuts: with five faults of the frames and with cuts, each packet arrives
// exactly once and in order, or the link is down with its cause. No byte is wrong, and
// nothing hangs. A ledger checks each packet of the bulk writes at the board, and another
// one each packet that the board writes back at the host.
func TestFaultsAndCuts(t *testing.T) {
	for _, p := range paths() {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			p.compare(t)
		})
	}
}

// compare makes the same calls without and with faults.
func (p *path) compare(t *testing.T) {
	var clean, five float64
	faults := fault.Config{Loss: 0.05, Dup: 0.03, Flip: 0.02, Truncate: 0.01, Reorder: 0.02, Seed: *seedFlag}
	t.Run("mixed", func(t *testing.T) { p.faulty(t, faults, false, *packetsFlag/4, *cutsFlag/4) })
	t.Run("clean", func(t *testing.T) { clean = p.faulty(t, fault.Config{}, true, *packetsFlag, 0) })
	t.Run("faults", func(t *testing.T) { five = p.faulty(t, faults, true, *packetsFlag, *cutsFlag) })
	t.Logf("%s: goodput %.0f bytes a second with faults, without the time of cuts, %.0f without: %.2f", p.name, five, clean, five/clean)
	if *packetsFlag >= measurable {
		assert.GreaterOrEqual(t, five/clean, 0.6, "goodput, of the run without faults")
	}
}

// measurable is the least number of packets whose goodput is compared.
const measurable = 100_000

// faulty moves packets, in bulk or by calls of all kinds. It returns the bytes moved in a
// second, without the time from a cut to the next session.
func (p *path) faulty(t *testing.T, faults fault.Config, bulk bool, packets, cuts uint64) float64 {
	w := &work{rng: rand.New(rand.NewPCG(*seedFlag, 1)), model: make([]byte, modelBytes), ends: map[string]int{}, bulk: bulk}
	var opt serve.Options
	var device bustest.DeviceOptions
	if cuts == 0 {
		opt.Silence = uncut
	}
	if bulk {
		opt.Observer = w.ledger.observe
		w.model, device.MemBytes = make([]byte, bulkBytes), bulkBytes
	}
	l := p.listen(t)
	serveBoard(t, l, bustest.NewDevice(device), faults, opt)
	r, err := p.relay(t, l.Selector(), relay.Plan{Seed: *seedFlag})
	require.NoError(t, err)
	defer r.Close()
	var lost, all time.Duration
	limited(t, "the run", 5*time.Minute+time.Duration(packets)*5*time.Millisecond, func() error {
		if err := w.open(patient(r.Selector(), cuts > 0)); err != nil {
			return err
		}
		begun := time.Now()
		lost, err = w.cross(r, packets, cuts)
		all = time.Since(begun)
		if err == nil {
			err = w.complete()
		}
		return errors.Join(err, w.link.Close())
	})
	var n uint64
	for _, c := range r.Stats().Cuts {
		n += c
	}
	t.Logf("%s: %d cuts, ends %v, %v, of which %v after cuts; to the board: %v; back: %v", p.name, n, w.ends, all, lost, &w.ledger, &w.back)
	assert.Equal(t, cuts, n)
	return float64(w.moved) / (all - lost).Seconds()
}

// cross makes calls until the packets have crossed, and cuts the path meanwhile. It
// returns the time from cuts to the next session.
func (w *work) cross(r *relay.Relay, packets, cuts uint64) (lost time.Duration, err error) {
	if err = w.check(); err != nil {
		return 0, err
	}
	for cut := uint64(0); err == nil && (w.packets() < packets || cut < cuts); {
		if w.packets() >= (cut+1)*packets/(cuts+1) && cut < cuts {
			cut++
			wait := time.Duration(w.rng.IntN(int(3 * time.Millisecond)))
			time.AfterFunc(wait, r.Cut)
			begun := time.Now().Add(wait)
			for err == nil && time.Since(begun) < 10*time.Second {
				err = w.do()
			}
			if !errors.Is(err, bus.ErrLinkDown) {
				return lost, fmt.Errorf("%w: the link survives a cut: %w", errWrong, err)
			}
			lost += time.Since(begun)
		} else if err = errors.Join(w.do(), w.ledger.fault(), w.back.fault()); !errors.Is(err, bus.ErrLinkDown) {
			continue
		}
		begun := time.Now()
		if err = w.named(err); err == nil {
			err = w.resume()
		}
		lost += time.Since(begun)
	}
	return lost, err
}

// packets returns the number of transaction-layer packets in both directions so far.
func (w *work) packets() uint64 {
	c := w.counters()
	return c["tlps_to_device"] + c["tlps_from_device"]
}

// TestLateDatagrams: copies of datagrams that arrive 10,000 datagrams late, in both
// directions, change nothing. Both ends refuse each of their frames.
func TestLateDatagrams(t *testing.T) {
	l, err := serve.Listen("udp:127.0.0.1:0")
	require.NoError(t, err)
	dev := bustest.NewDevice(bustest.DeviceOptions{})
	board := serveBoard(t, l, dev, fault.Config{}, serve.Options{Silence: uncut})
	r, err := relay.UDP(l.Selector(), relay.Plan{Seed: 1, Late: 1, Oldest: true})
	require.NoError(t, err)
	defer r.Close()
	w := &work{rng: rand.New(rand.NewPCG(1, 1)), model: make([]byte, modelBytes), ends: map[string]int{}}
	limited(t, "the session", limit, func() error {
		if err := w.open(patient(r.Selector(), false)); err != nil {
			return err
		}
		if err := w.check(); err != nil {
			return err
		}
		for i := range uint32(12_000) {
			p := []byte{byte(i), byte(i >> 8), 1, 2}
			if err := w.link.Write(0, bustest.RegScratch, p); err != nil {
				return err
			}
			got := make([]byte, 4)
			if err := w.link.Read(0, bustest.RegScratch, got); err != nil {
				return err
			}
			if err := same("scratch", got, p); err != nil {
				return err
			}
		}
		return w.job()
	})
	for _, tt := range []struct {
		end     string
		refused func() uint64
		late    func() uint64
	}{
		{"the host", func() uint64 { return w.counters()["frames_damaged"] }, func() uint64 { return r.Stats().LateUp }},
		{"the board", func() uint64 { return board.Stats().Channel.Link.BadCheck }, func() uint64 { return r.Stats().LateDown }},
	} {
		late := tt.late()
		assert.Greater(t, late, uint64(2000), "datagrams to %s", tt.end)
		few := late / 20 // dropped by a busy system, or of a hello
		assert.Eventually(t, func() bool { return tt.refused()+few >= late }, patience, 10*time.Millisecond, "%s refuses all frames with an old number", tt.end)
		t.Logf("%d datagrams are late; %s refuses %d frames", late, tt.end, tt.refused())
	}
	require.NoError(t, w.link.Close())
}

// TestCompose: the driver stack makes the frame of the emulator, whatever a relay does
// to the path, if it does not cut it.
func TestCompose(t *testing.T) {
	for _, p := range paths() {
		t.Run(p.name, func(t *testing.T) { p.compose(t) })
	}
}

func (p *path) compose(t *testing.T) {
	sources, err := compose.Samples()
	require.NoError(t, err)
	plan, err := compose.NewPlan(compose.Options{Width: 32, Height: 24, Contexts: 2, Seed: 1, Sources: sources[:1]})
	require.NoError(t, err)
	want, err := frame("emu?vram=8KiB", plan)
	require.NoError(t, err)
	for i := range *framesFlag {
		draw := relay.Draw(*seedFlag + uint64(i))
		draw.Cut = 0
		dev, err := boards.Device("emu?vram=8KiB")
		require.NoError(t, err)
		l := p.listen(t)
		serveBoard(t, l, dev, fault.Config{}, serve.Options{Hz: dev.Hz(), MapHash: regmap.Hash(), Silence: uncut})
		r, err := p.relay(t, l.Selector(), draw)
		require.NoError(t, err)
		limited(t, fmt.Sprintf("%+v", draw), limit, func() error {
			got, err := frame(patient(r.Selector(), false), plan)
			if err == nil {
				assert.Equal(t, want, got)
			}
			return err
		})
		r.Close()
	}
}

// frame returns the frame that a board makes.
func frame(selector string, plan *compose.Plan) (*image.NRGBA, error) {
	sys, err := testbench.Open(selector, testbench.HostDrivers(), testbench.Options{Tdr: time.Minute})
	if err != nil {
		return nil, err
	}
	got, err := compose.Run(sys, plan)
	return got, errors.Join(err, sys.Close())
}
