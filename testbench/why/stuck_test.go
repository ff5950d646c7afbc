package why

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/testbench/eventlog"
)

// A fault names all that is known to be wrong: the INDIRECT, the link and the address of a packet.
func TestFaultedNamesAll(t *testing.T) {
	data, err := pkt.Copy{Src: 0x8000, Dst: 0x9000, Bytes: 16}.Append(nil)
	require.NoError(t, err)
	dwords := uint32(len(data) / 4)
	const (
		indirect  = "; the INDIRECT of the ring has 4 dwords at HOST+0x100040, want 6 at HOST+0x100000"
		link      = "; the link loses or damages frames: the host sent 2 again and refused 1"
		misplaced = "; after DxgkDdiPatch the address at IB+0xc of submission 3 is VRAM+0x9000, want VRAM+0xa000, byte 0x0 of allocation 0x5"
	)
	require.EqualValues(t, 6, dwords)
	for name, tt := range map[string]struct {
		ring            pkt.Indirect
		repeated, place uint64
		cause           uint64
		want            string
	}{
		"all":           {pkt.Indirect{Addr: pkt.Host | 0x100040, Dwords: 4}, 2, 0xa000, cpreg.CauseReadError, indirect + link + misplaced},
		"the INDIRECT":  {pkt.Indirect{Addr: pkt.Host | 0x100040, Dwords: 4}, 0, 0x9000, cpreg.CauseReadError, indirect},
		"the link":      {pkt.Indirect{Addr: pkt.Host | 0x100000, Dwords: 6}, 2, 0x9000, cpreg.CauseReadError, link},
		"the patch":     {pkt.Indirect{Addr: pkt.Host | 0x100000, Dwords: 6}, 0, 0xa000, cpreg.CauseReadError, misplaced},
		"another fault": {pkt.Indirect{Addr: pkt.Host | 0x100040, Dwords: 4}, 2, 0xa000, cpreg.CauseWindow, indirect + misplaced},
		"nothing":       {pkt.Indirect{Addr: pkt.Host | 0x100000, Dwords: 6}, 0, 0x9000, cpreg.CauseReadError, ""},
	} {
		ring, err := tt.ring.Append(nil)
		require.NoError(t, err)
		s := &submission{
			serial: 3, buffer: 0x100000, end: uint64(len(data)), queued: Point{Event: 10},
			packets: []packet{{data: data}}, uses: []use{{offset: 12, allocation: 5}}, ring: []ringPacket{{data: ring}},
		}
		r := &Run{repeated: tt.repeated, refused: tt.repeated / 2, places: []*place{{allocation: 5, address: tt.place, from: Point{Event: 1}}}}
		a := r.faulted(&Answer{}, s, &happening{Event: eventlog.New(eventlog.Fault, 0, 0, tt.cause, pkt.Host|0x100000)})
		_, got, _ := strings.Cut(a.Cause, explainCause(tt.cause))
		assert.Equal(t, tt.want, got, name)
		assert.Equal(t, MissingPacket, a.Missing, name)
	}
}
