package pins

import (
	"bytes"
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/bus/bustest"
	"github.com/hilgpu/hilgpu/bus/fault"
	"github.com/hilgpu/hilgpu/bus/rootport"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

// bad returns faults of each kind in 1 % of the frames.
func bad(seed uint64) fault.Config {
	return fault.Config{Loss: 0.01, Dup: 0.01, Flip: 0.01, Truncate: 0.01, Reorder: 0.01, Seed: seed}
}

const memBytes = 4096 // of BAR 2 that the work uses

// work makes random calls and compares them with a model of the device's memory and of
// the host's.
type work struct {
	link *rootport.RootPort
	host *bustest.Host
	rng  *rand.Rand
	mem  []byte
}

func newWork(t *testing.T, link *rootport.RootPort, host *bustest.Host, seed uint64) *work {
	require.NoError(t, bustest.Enumerate(link))
	w := &work{link: link, host: host, rng: rand.New(rand.NewPCG(seed, 1)), mem: make([]byte, memBytes)}
	for i := range w.mem {
		w.mem[i] = byte(w.rng.Uint32())
	}
	require.NoError(t, link.Write(2, 0, w.mem))
	return w
}

func (w *work) do() error {
	off := 4 * w.rng.IntN(memBytes/4)
	n := 4 * (1 + w.rng.IntN(min(200, (memBytes-off)/4)))
	p := make([]byte, n)
	switch w.rng.IntN(4) {
	case 0:
		for i := range p {
			p[i] = byte(w.rng.Uint32())
		}
		copy(w.mem[off:], p)
		return w.link.Write(2, uint64(off), p)
	case 1:
		if err := w.link.Read(2, uint64(off), p); err != nil {
			return err
		}
		if !bytes.Equal(p, w.mem[off:off+n]) {
			return fmt.Errorf("read of %d bytes at %#x is wrong", n, off)
		}
		return nil
	}
	return w.job()
}

// job moves bytes between the two memories, and waits for the message.
func (w *work) job() error {
	n := 1 + w.rng.IntN(700)
	at, off := w.rng.IntN(len(w.host.Mem)-n), w.rng.IntN(memBytes-n)
	kind := uint32(bustest.JobWrite)
	if w.rng.IntN(2) == 0 {
		kind, n, at, off = bustest.JobRead, (n+3)&^3, at&^3, off&^3
	} else {
		copy(w.host.Mem[at:at+n], bytes.Repeat([]byte{0xa5}, n))
	}
	w.host.ForgetMessages()
	if err := bustest.StartJob(w.link, kind, w.host.Base+uint64(at), uint32(off), uint32(n)); err != nil {
		return err
	}
	for range 100 {
		if _, err := w.link.Wait(w.link.Now() + 1e8); err != nil {
			return err
		}
		if len(w.host.Messages()) > 0 {
			break
		}
	}
	if n := len(w.host.Messages()); n != 1 {
		return fmt.Errorf("%d messages, want 1", n)
	}
	if kind == bustest.JobRead {
		copy(w.mem[off:], w.host.Mem[at:at+n])
	} else if !bytes.Equal(w.host.Mem[at:at+n], w.mem[off:off+n]) {
		return fmt.Errorf("job %d of %d bytes from %#x wrote something else", kind, n, off)
	}
	return nil
}

var callsFlag = flag.Int("pins.calls", 60, "calls of TestWork")

// TestWork: random work on a good and on a bad line, with a device that stalls.
func TestWork(t *testing.T) {
	tooltest.Long(t)
	for _, tt := range []struct {
		name   string
		faults fault.Config
		stall  uint64
	}{{"clean", fault.Config{Seed: 1}, 0}, {"stalls", fault.Config{Seed: 2}, 3}, {"faults", bad(3), 0}, {"faults and stalls", bad(4), 5}} {
		t.Run(tt.name, func(t *testing.T) {
			forBoth(t, func(t *testing.T, m made) { m.work(t, Options{Faults: tt.faults}, tt.stall) })
		})
	}
	t.Run("faults, a byte in each clock", func(t *testing.T) {
		both[1].work(t, Options{Clocks: 1, Faults: bad(5)}, 2)
	})
}

// work does random work at the end of a line.
func (m made) work(t *testing.T, o Options, stall uint64) {
	dev := bustest.NewDevice(bustest.DeviceOptions{Stall: stall})
	wire, err := New(m.newDevice(t, dev), o)
	require.NoError(t, err)
	host := bustest.NewHost(8192)
	link, err := rootport.New(wire.Dial, host, rootport.Options{})
	require.NoError(t, err)
	w := newWork(t, link, host, o.Faults.Seed)
	for i := range *callsFlag {
		require.NoError(t, w.do(), "call %d", i)
	}
	st := wire.Stats()
	t.Logf("%d clocks, %d frames sent, %d received, %d replays, %d naks sent, %d received", wire.clock, st.FramesSent, st.FramesReceived, st.Replays, st.NaksSent, st.NaksReceived)
}
