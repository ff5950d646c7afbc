package pins

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/bus/bustest"
	"github.com/hilgpu/hilgpu/bus/rootport"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/link/linkport"
	"github.com/hilgpu/hilgpu/rtl/uart"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

// A serialBoard is a device with a link at a UART of 8 clocks a bit.
type serialBoard struct {
	uart uart.Module
	link boardLink
	dev  port.Device
}

const (
	serialHz   = 25_000_000
	serialBaud = serialHz / 8
)

func (b *serialBoard) Line() bool { return b.uart.Line() }

func (b *serialBoard) Tick(rx bool) {
	valid, data := b.uart.Received()
	framing, _ := b.uart.Errors()
	sends, what := b.link.Byte()
	ready := b.uart.Ready()
	req, beat := b.link.Target()
	takesCpl, takesReq, takesBeat := b.link.Takes()
	complete := b.link.Complete()
	cpl, reqReady, dataReady := b.dev.Target()
	up, upBeat := b.dev.Initiator()
	b.uart.Tick(rx, uart.MinPeriod, sends, what)
	b.link.Tick(linkport.Byte{Valid: valid, Broken: framing, Data: data}, ready, linkport.GPU{Cpl: cpl, Req: up, Beat: upBeat}, reqReady, dataReady)
	b.dev.Tick(req, beat, takesCpl, complete, takesReq, takesBeat)
}

// Reset is one of the board's pins.
func (b *serialBoard) Reset() {
	b.uart.Reset()
	b.link.Reset()
}

// openSerial returns a board at its pins. The host's clock is fast by the given parts per
// million.
func openSerial(t *testing.T, fast int, f Faults) (*Serial, *Wire, *rootport.RootPort) {
	t.Helper()
	b := &serialBoard{uart: uart.New(), link: newHard(t), dev: newSixBits(bustest.NewDevice(bustest.DeviceOptions{}))}
	s := NewBatched(Clocked(b), serialHz, []int{serialBaud}, fast, f)
	w, err := New(s, Options{Hz: serialHz})
	require.NoError(t, err)
	link, err := rootport.New(w.Dial, bustest.NewHost(64<<10), rootport.Options{})
	require.NoError(t, err)
	require.NoError(t, bustest.Enumerate(link))
	return s, w, link
}

// TestHardSerial bounds the payload of bulk transfers of the hardwired link at the pins of a
// UART, as a fraction of a tenth of the baud rate.
func TestHardSerial(t *testing.T) {
	_, w, link := openSerial(t, 0, Faults{})
	data := make([]byte, 8<<10)
	share := func(what string, f func() error) {
		at := w.clock
		require.NoError(t, f())
		got := float64(len(data)*80) / float64(w.clock-at)
		t.Logf("%s: %.3f", what, got)
		require.GreaterOrEqual(t, got, 0.83, what)
	}
	share("BAR reads", func() error { return link.Read(2, 0, data) })
	share("device writes", func() error { return w.jobOf(link, bustest.JobWrite, len(data)) })
	share("device reads", func() error { return w.jobOf(link, bustest.JobRead, len(data)) })
	share("BAR writes", func() error {
		if err := link.Write(2, 0, data); err != nil {
			return err
		}
		return link.Read(2, 0, data[:4])
	})
}

// TestHardPins: with a clock that is off by 2 %, and under each fault at the pins, what the
// host writes it reads back.
func TestHardPins(t *testing.T) {
	tooltest.Long(t)
	for _, tt := range []struct {
		name string
		fast int
		f    Faults
	}{
		{"fast", 20_000, Faults{}}, {"slow", -20_000, Faults{}},
		{"bit", 0, Faults{Bit: 0.002, Seed: 1}}, {"glitch", 0, Faults{Glitch: 0.01, Seed: 2}},
		{"break", 0, Faults{Break: 0.002, Seed: 3}}, {"unplug", 0, Faults{Unplug: 0.001, Seed: 4}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, _, link := openSerial(t, tt.fast, tt.f)
			r := rand.New(rand.NewPCG(1, 2))
			want, got := make([]byte, 256), make([]byte, 256)
			for i := range 12 {
				for j := range want {
					want[j] = byte(r.Uint32())
				}
				require.NoError(t, link.Write(2, uint64(64*i), want))
				require.NoError(t, link.Read(2, uint64(64*i), got))
				require.Equal(t, want, got)
			}
			require.Equal(t, tt.f != Faults{}, s.Faulty().All() > 0)
		})
	}
}
