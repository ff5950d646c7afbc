package gateware

import (
	"encoding/binary"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/boards/pins"
	"github.com/hilgpu/hilgpu/bus/bustest"
	"github.com/hilgpu/hilgpu/bus/rootport"
	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
)

// lit is a board that keeps the lights that were on.
type lit struct {
	Top
	seen uint8
}

func (l *lit) LEDs() uint8 { return l.Top.(interface{ LEDs() uint8 }).LEDs() }

func (l *lit) Tick(rx bool) {
	l.Top.Tick(rx)
	l.seen |= l.LEDs()
}

// A lightHost is a host with a board at its pins.
type lightHost struct {
	*bustest.Host
	link *rootport.RootPort
}

// set writes registers of node 0, and lets time pass in which the host answers the board.
func (h lightHost) set(t *testing.T, values ...[2]uint32) {
	t.Helper()
	for _, v := range values {
		require.NoError(t, h.link.Write(0, cpreg.Base+uint64(v[0]), binary.LittleEndian.AppendUint32(nil, v[1])))
	}
	for end := h.link.Now() + 2_000_000; h.link.Now() < end; {
		_, err := h.link.Wait(end)
		require.NoError(t, err)
	}
}

// resets resets node 0.
func (h lightHost) resets(t *testing.T) { h.set(t, [2]uint32{cpreg.Ctl, cpreg.CtlReset}) }

// runs makes node 0 execute a ring of one packet.
func (h lightHost) runs(t *testing.T, packet []byte) {
	t.Helper()
	require.NoError(t, bustest.Enumerate(h.link))
	copy(h.Mem, packet)
	h.resets(t)
	h.set(t, [2]uint32{cpreg.RingLo, uint32(h.Base)}, [2]uint32{cpreg.RingHi, 1 << 31}, [2]uint32{cpreg.RingSize, 12},
		[2]uint32{cpreg.Ctl, cpreg.CtlRun}, [2]uint32{cpreg.Wptr, uint32(len(packet) / 4)})
}

// TestLights: on each shell with a UART, a light is on while its condition holds, and the
// table names it.
func TestLights(t *testing.T) {
	const arrives, session, busy, fault = 1, 2, 4, 8
	nop, err := pkt.NOP{}.Append(nil)
	require.NoError(t, err)
	unknown := []byte{0, 0, 0, 0xff}
	for _, name := range []string{"ice40-hx8k", "ulx3s"} {
		b, err := Find(name)
		require.NoError(t, err)
		for i, use := range lights() {
			assert.Regexp(t, `^LED D\d: `+use+"$", useOf(b, fmt.Sprintf("led[%d]", i)))
		}
		top, err := b.New(0)
		require.NoError(t, err)
		board := &lit{Top: top}
		w, err := pins.New(pins.NewSerial(board, b.Hz, b.Rates, 0), pins.Options{Hz: b.Hz})
		require.NoError(t, err)
		h := lightHost{Host: bustest.NewHost(8192)}
		for _, tt := range []struct {
			name      string
			do        func()
			seen, end uint8
		}{
			{"no host", func() { w.Run(b.Hz / 1000) }, 0, 0},
			{"a session", func() {
				h.link, err = rootport.New(w.Dial, h, rootport.Options{})
				require.NoError(t, err)
				require.NoError(t, bustest.Enumerate(h.link))
			}, arrives | session, arrives | session},
			{"a packet", func() { h.runs(t, nop) }, arrives | session | busy, arrives | session},
			{"a packet of no kind", func() { h.runs(t, unknown) }, arrives | session | busy | fault, arrives | session | fault},
			{"a reset of the node", func() { h.resets(t) }, arrives | session | busy | fault, arrives | session | fault},
			{"another session", func() {
				require.NoError(t, h.link.Reopen())
				h.runs(t, nop)
			}, arrives | session | busy | fault, arrives | session},
			{"a fault in it", func() { h.runs(t, unknown) }, arrives | session | busy | fault, arrives | session | fault},
			{"a reset of the board", top.(interface{ Reset() }).Reset, 0, 0},
		} {
			board.seen = 0
			tt.do()
			assert.Equal(t, fmt.Sprintf("%08b, %08b", tt.seen, tt.end), fmt.Sprintf("%08b, %08b", board.seen, board.LEDs()), "%s: %s", name, tt.name)
		}
	}
}

// useOf returns the use of the pin at a port of the shell.
func useOf(b *Board, port string) string {
	i := slices.IndexFunc(b.Pins, func(p Pin) bool { return p.Port == port })
	return b.Pins[i].Use
}
