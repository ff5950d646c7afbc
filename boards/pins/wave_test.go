package pins

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/boards/colorlighti5"
	"github.com/hilgpu/hilgpu/boards/ulx3s"
	"github.com/hilgpu/hilgpu/rtl/gpu"
	"github.com/hilgpu/hilgpu/rtl/hdl/vcd"
	"github.com/hilgpu/hilgpu/rtl/hdl/vcd/vcdtest"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
	"github.com/hilgpu/hilgpu/rtl/wave"
)

// recordedClocks returns the values of all signals in each clock of a dump.
func recordedClocks(t *testing.T, dump []byte, hz uint64, clocks int) (d *vcdtest.Dump, all []map[string]string) {
	t.Helper()
	d, err := vcdtest.Parse(bytes.NewReader(dump))
	require.NoError(t, err)
	scale := vcd.NewTimescale(hz)
	for i := range uint64(clocks) {
		all = append(all, d.At(scale.Edge(2*i)))
		require.Equal(t, "1", all[i]["top.clk"])
	}
	return d, all
}

// The wave of a board with a UART has its pins: the bits of a byte begin at the clocks of the
// rate, and its receiver has the byte after the middle of the stop bit.
func TestWaveSerial(t *testing.T) {
	tooltest.Long(t)
	const baud, clocks = 115_200, 2700
	c := gpu.Default()
	c.Nodes, c.VRAMBytes = 1, 64<<10
	top, err := ulx3s.New(c, 0)
	require.NoError(t, err)
	var dump bytes.Buffer
	rec, err := wave.New(&dump, wave.Options{To: clocks})
	require.NoError(t, err)
	batch, err := Recorded(top, ulx3s.Hz, rec)
	require.NoError(t, err)
	s := NewBatched(batch, ulx3s.Hz, []int{baud}, 0, Faults{})
	const what = 0xa6
	for i := range clocks + Delay {
		s.Tick(what, i == 0, true)
	}
	require.NoError(t, rec.Close())
	d, at := recordedClocks(t, dump.Bytes(), ulx3s.Hz, clocks)
	for clock := range clocks {
		want := "1"
		if bit := (clock - Delay) * baud / ulx3s.Hz; clock >= Delay && bit < 9 && (bit == 0 || what>>(bit-1)&1 == 0) {
			want = "0"
		}
		require.Equal(t, want, at[clock]["top.rx"], "clock %d", clock)
		require.Equal(t, "1", at[clock]["top.Line"])
		if clock > 0 {
			require.Equal(t, at[clock-1]["top.rx"], at[clock]["top.uart.meta"], "the first register after the pin, in clock %d", clock)
		}
	}
	const stop = Delay + 19*ulx3s.Hz/(2*baud)
	received := 0
	for clock, now := range at {
		if now["top.uart.received"] == "1" {
			received++
			assert.InDelta(t, stop+3.5, clock, 1.5)
		}
	}
	assert.Equal(t, 1, received)
	assert.Equal(t, "1", at[stop+6]["top.LEDs"], "a byte has arrived")
	assert.Equal(t, vcdtest.Var{Kind: "reg", Width: 7}, d.Vars["top.link.link.session_window"])
	assert.Contains(t, d.Vars, "top.gpu.cp0.walk_x0")
	assert.NotContains(t, d.Vars, "top.gpu.cp1.walk_x0")
	_, err = Recorded(top, ulx3s.Hz, rec)
	assert.ErrorIs(t, err, wave.ErrOptions)
}

// The wave of a board on Ethernet has the bytes of its PHY, and the frame that answers.
func TestWaveEther(t *testing.T) {
	top, err := colorlighti5.New(etherAddress, 0)
	require.NoError(t, err)
	var dump bytes.Buffer
	rec, err := wave.New(&dump, wave.Options{})
	require.NoError(t, err)
	batch, err := EtherRecorded(top, colorlighti5.Hz, rec)
	require.NoError(t, err)
	e := NewEther(batch, EtherFaults{})
	ask := append([]byte{255, 255, 255, 255, 255, 255}, hostMAC[:]...)
	ask = append(ask, unhex("0806 0001 0800 06 04 0001")...)
	ask = append(append(ask, hostMAC[:]...), 10, 0, 0, 1, 0, 0, 0, 0, 0, 0, 10, 0, 0, 2)
	e.Send(ask)
	var answer []byte
	for range 512 {
		if f := e.Tick(); f != nil {
			answer = f
		}
	}
	require.NoError(t, rec.Close())
	require.NotNil(t, answer)
	_, at := recordedClocks(t, dump.Bytes(), colorlighti5.Hz, 512)
	var sent []string
	for clock, now := range at {
		require.Equal(t, clock >= Delay && clock < Delay+8+60+4+1, now["top.rx_Valid"] == "1", "clock %d", clock)
		if now["top.Symbol_valid"] == "1" && now["top.Symbol_s_Enable"] == "1" {
			sent = append(sent, now["top.Symbol_s_Data"])
		}
	}
	require.Len(t, sent, 8+len(answer)+4)
	assert.Equal(t, "11010101", sent[7], "the delimiter")
}
