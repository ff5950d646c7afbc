package intc

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/intcreg"
	"github.com/hilgpu/hilgpu/rtl/abi/msixreg"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/regbus"
	"github.com/hilgpu/hilgpu/rtl/reset"
)

func TestMessageAddress(t *testing.T) {
	m := ready()
	write(&m, msixreg.Base+msixreg.AddrLo, 0x1003)
	write(&m, msixreg.Base+msixreg.AddrHi, 0x9_0007)
	m.Tick(Events{Done0: true}, true, false, false, false, false, regbus.Req{}, reset.Signals{})
	idle(&m, true, 2)
	req, _ := m.Message()
	assert.Equal(t, host|0x7_0000_1000, req.Addr, "bits 1 and 0 are not sent, and none from 48 on")
}

// TestTable changes an entry around its event as a driver does: it masks the vector,
// reads until that is done, writes the words and unmasks the vector. A message is
// the old entry or the new one.
func TestTable(t *testing.T) {
	words := [3]uint16{msixreg.AddrLo, msixreg.AddrHi, msixreg.Data}
	was, now := [3]uint32{0xfee00000, 0, 0x40}, [3]uint32{0xfee10004, 9, 0x77}
	entry := func(e [3]uint32) message {
		enable := uint8(0x0f) << (e[0] & 4)
		return message{
			header: port.Request{Kind: port.MemWrite, Len: 1, Addr: host | uint64(e[1])<<32 | uint64(e[0])},
			beat:   port.Beat{Valid: true, Last: true, Enable: enable, Data: uint64(e[2])<<32 | uint64(e[2])},
		}
	}
	seen := map[message]int{}
	for phase := range 16 * 16 * 8 {
		event, at := phase%16, phase/16%16
		m := ready()
		r := receiver{header: phase / 256 % 4 * 5, beat: phase / 1024 * 5}
		acts := []regbus.Req{
			{Op: regbus.Write, Off: msixreg.Base + msixreg.Control, Data: 1},
			{Op: regbus.Read, Off: msixreg.Base + msixreg.Control},
		}
		for i, off := range words {
			acts = append(acts, regbus.Req{Op: regbus.Write, Off: msixreg.Base + off, Data: now[i]})
		}
		acts = append(acts, regbus.Req{Op: regbus.Write, Off: msixreg.Base + msixreg.Control})
		masked := 0 // the clock behind which the vector is
		for clock := range 60 {
			var regs regbus.Req
			if clock >= at && (clock-at)%2 == 0 && len(acts) != 0 {
				regs = acts[0]
			}
			reqReady, beatReady := r.offer(t, clock, &m)
			m.Tick(Events{Done0: clock == event}, true, false, reqReady, beatReady, false, regs, reset.Signals{})
			require.False(t, regs.Op == regbus.Write && m.Rsp().Retry, "a write waits for nothing")
			if regs.Op != regbus.None && !m.Rsp().Retry {
				if regs.Op == regbus.Read {
					require.Equal(t, regbus.Rsp{Hit: true, Data: 1}, m.Rsp())
					masked = clock
				}
				acts = acts[1:]
			}
		}
		require.Empty(t, acts)
		require.Len(t, r.got, 1)
		want := entry(was)
		if r.got[0].start > masked {
			want = entry(now)
		}
		got := message{header: r.got[0].header, beat: r.got[0].beat}
		require.Equal(t, want, got, "event at %d, masked at %d", event, at)
		seen[got]++
	}
	require.Len(t, seen, 2)
}

// TestLatency has an access in each of the clocks around a message.
func TestLatency(t *testing.T) {
	const event = 4
	for phase := range 1 << 12 {
		m := ready()
		r := receiver{}
		was, header, beat := false, event+3, 0
		for clock := range 40 {
			var regs regbus.Req
			if phase>>clock&1 != 0 && !was {
				regs = regbus.Req{Op: regbus.Write, Off: intcreg.Base + intcreg.Mask, Data: intcreg.All}
			}
			was = regs.Op != regbus.None
			if was && clock > event && clock < header {
				header++
			}
			if was && clock > header && clock < header+2 {
				beat++
			}
			reqReady, beatReady := r.offer(t, clock, &m)
			if beatReady {
				require.Equal(t, header+2+beat, clock, "phase %#x", phase)
			}
			m.Tick(Events{Done0: clock == event}, true, false, reqReady, beatReady, false, regs, reset.Signals{})
		}
		require.Len(t, r.got, 1)
		require.Equal(t, header, r.got[0].start, "phase %#x", phase)
	}
}
