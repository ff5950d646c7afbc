package colorlighti5

import (
	"encoding/binary"
	"hash/crc32"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/boards/linkstat"
	"github.com/hilgpu/hilgpu/boards/pins"
	"github.com/hilgpu/hilgpu/bus/bustest"
	"github.com/hilgpu/hilgpu/bus/rootport"
	"github.com/hilgpu/hilgpu/rtl/abi/pcicfg"
	"github.com/hilgpu/hilgpu/rtl/eth/mac"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

// A watched is the board with a count of what its PHY receives, by IEEE 802.3.
type watched struct {
	*Module
	line  []byte
	count linkstat.MAC
}

func (w *watched) Tick(rx mac.Byte, ready bool) {
	w.Module.Tick(rx, ready)
	switch {
	case !rx.Valid:
	case !rx.End:
		w.line = append(w.line, rx.Data)
	default:
		w.frame(w.line[min(8, len(w.line)):])
		w.line = nil
	}
}

// frame counts a frame with its FCS.
func (w *watched) frame(f []byte) {
	n := len(f) - 4
	switch {
	case len(f) < 64:
		w.count.Runts++
	case len(f) > 1518:
		w.count.Oversized++
	case binary.LittleEndian.Uint32(f[n:]) != crc32.ChecksumIEEE(f[:n]):
		w.count.Bad++
	default:
		w.count.Good++
	}
}

// TestRegisters: the counters of the MAC are what the PHY has received, under each fault. A
// frame that the link refuses is one that it has received.
func TestRegisters(t *testing.T) {
	tooltest.Long(t)
	for name, f := range map[string]pins.EtherFaults{
		"none": {}, "fcs": {FCS: .1, Seed: 1}, "runt": {Runt: .1, Seed: 2}, "oversize": {Oversize: .1, Seed: 3}, "carrier": {Carrier: .1, Seed: 4}, "unplug": {Unplug: .1, Seed: 5},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := New(Address(), 0)
			require.NoError(t, err)
			board := &watched{Module: m}
			e := pins.NewEther(pins.EtherClocked(board), f)
			w, err := pins.NewEtherWire(e, Address(), pins.Options{Hz: Hz})
			require.NoError(t, err)
			link, err := rootport.New(w.Dial, bustest.NewHost(8192), rootport.Options{})
			require.NoError(t, err)
			for range 300 {
				_, err := link.ReadConfig(pcicfg.ID)
				require.NoError(t, err)
			}
			st, err := linkstat.Read(link)
			require.NoError(t, err)
			assert.Nil(t, st.UART)
			assert.Equal(t, uint32(25_000_000), st.ClockHz)
			assert.Zero(t, st.Period)
			faults, want := e.Faulty(), board.count
			assert.Equal(t, faults.FCS+faults.Runts+faults.Oversizes+faults.Carriers, uint64(want.Runts+want.Bad+want.Oversized))
			if f != (pins.EtherFaults{}) {
				assert.Greater(t, faults.All(), uint64(20))
			}
			// The frames after that with the read of the counter are not in it yet.
			for _, v := range []struct{ got, want uint32 }{{st.MAC.Runts, want.Runts}, {st.MAC.Oversized, want.Oversized}, {st.MAC.Bad, want.Bad}, {st.MAC.Good, want.Good}} {
				assert.LessOrEqual(t, v.got, v.want)
				assert.GreaterOrEqual(t, v.got+8, v.want)
			}
			assert.Zero(t, st.MAC.Filtered+st.MAC.Ignored+st.MAC.Invalid+st.MAC.NoRoom)
			assert.Equal(t, uint32(1), st.Counters.Sessions)
			assert.Zero(t, st.Counters.Packets)
		})
	}
}
