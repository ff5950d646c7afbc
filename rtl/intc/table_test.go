package intc

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/intcreg"
	"github.com/hilgpu/hilgpu/rtl/abi/msixreg"
	"github.com/hilgpu/hilgpu/rtl/regbus"
	"github.com/hilgpu/hilgpu/rtl/reset"
)

func TestMessageAddress(t *testing.T) {
	m := ready()
	write(&m, msixreg.Base+msixreg.AddrLo, 0x1003)
	write(&m, msixreg.Base+msixreg.AddrHi, 0x9_0007)
	m.Tick(Events{Done0: true}, true, false, false, false, false, regbus.Req{}, reset.Signals{})
	for range 4 {
		m.Tick(Events{}, true, false, false, false, false, regbus.Req{}, reset.Signals{})
	}
	req, _ := m.Message()
	assert.Equal(t, host|0x7_0000_1000, req.Addr, "bits 1 and 0 are not sent, and none from 48 on")
}

// TestTable writes a word of a vector's entry around its event, with another
// access after it. The message must use the entry's contents at its start.
func TestTable(t *testing.T) {
	const event = 6
	words := [3]uint16{msixreg.AddrLo, msixreg.AddrHi, msixreg.Data}
	for at := range 16 {
		for word, off := range words {
			for other := at + 1; other < 16; other++ {
				m := ready()
				var r receiver
				for clock := range 30 {
					var regs regbus.Req
					switch clock {
					case at:
						regs = regbus.Req{Op: regbus.Write, Off: msixreg.Base + off, Data: 0x20}
					case other:
						regs = regbus.Req{Op: regbus.Read, Off: intcreg.Base}
					}
					reqReady, beatReady := r.offer(t, clock, &m)
					m.Tick(Events{Done0: clock == event}, true, false, reqReady, beatReady, false, regs, reset.Signals{})
				}
				require.Len(t, r.got, 1)
				got := r.got[0]
				entry := [3]uint64{0xfee00000, 0, 0x40}
				from, clocks := event, 1
				if got.start > at {
					entry[word] = 0x20
					from, clocks = max(event, at), 5
				}
				require.Equal(t, host|entry[1]<<32|entry[0], got.header.Addr, "word %d at %d, other access at %d", word, at, other)
				require.Equal(t, entry[2]<<32|entry[2], got.beat.Data, "word %d at %d, other access at %d", word, at, other)
				require.GreaterOrEqual(t, got.start, event+clocks)
				require.LessOrEqual(t, got.start, from+clocks+1)
			}
		}
	}
}
