package testbench

import (
	"encoding/binary"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/rtl/abi/gartreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/dxgkrnl"
	"github.com/hilgpu/hilgpu/runtime/hal"
	"github.com/hilgpu/hilgpu/runtime/verifier"
	"github.com/hilgpu/hilgpu/testbench/sanitize"
)

// The sanitizer knows what the GPU has of the table of the aperture from the accesses of the host: nothing after one
// that found the link down, the values before and after a write, and one value after a read that was answered. A word
// whose write failed in another way is not known until it is written again.
func TestPostedWritesOfATable(t *testing.T) {
	const page, high = 0x107000, 1 << 32
	failed := func(err error) hal.Access {
		return hal.Access{Write: true, BAR: vramBAR, Offset: 4, Err: err, Data: make([]byte, 4)}
	}
	bad := func(err error) hal.Access { // another page 4 GiB above
		return hal.Access{Write: true, BAR: vramBAR, Offset: 4, Err: err, Data: []byte{2, 0, 0, 0}}
	}
	elsewhere := func(err error) hal.Access {
		return hal.Access{Write: true, BAR: vramBAR, Offset: 8, Err: err, Data: make([]byte, 4)}
	}
	for name, tt := range map[string]struct {
		then []hal.Access // after the low half of the entry
		want bool         // a finding
	}{
		"half an entry and an answer":       {[]hal.Access{{}}, true},
		"the link is down at the high half": {[]hal.Access{failed(nil), failed(fmt.Errorf("%w: cut", bus.ErrLinkDown))}, false},
		"the link is down at the answer":    {[]hal.Access{{Err: bus.ErrLinkDown}}, false},
		"no answer, and the high half":      {[]hal.Access{failed(nil), {Err: bus.ErrTimeout}}, false},
		"a read failed, and an answer":      {[]hal.Access{{Err: bus.ErrTimeout}, {}}, true},
		"the write failed, and an answer":   {[]hal.Access{bad(nil), bad(bus.ErrTimeout), {}}, false},
		"the same, and the write again":     {[]hal.Access{bad(nil), bad(bus.ErrTimeout), bad(nil), {}}, true},
		"another write failed":              {[]hal.Access{elsewhere(nil), elsewhere(bus.ErrTimeout), {}}, true},
		"a write of a register failed":      {[]hal.Access{{Write: true, Offset: 4, Data: make([]byte, 4), Err: bus.ErrTimeout}, {}}, true},
	} {
		var found []string
		s := sanitize.New(func(r verifier.Report) { found = append(found, r.Rule) }, func(uint64, []byte) error { return nil })
		thread := new(ddi.Thread)
		access := registers{nil, s}.Accessed
		write := func(bar int, off uint64, v uint32) {
			access(thread, hal.Access{Write: true, BAR: bar, Offset: off, Data: binary.LittleEndian.AppendUint32(nil, v)})
		}
		for _, r := range [...][2]uint32{{gartreg.Ctl, gartreg.CtlEnable}, {gartreg.TableLo, 0}, {gartreg.Pages, 1}} {
			write(0, uint64(gartreg.Base+r[0]), r[1])
		}
		s.Kernel(thread, dxgkrnl.Event{Kind: dxgkrnl.EventAllocate, Allocation: 1, Device: 1, Bytes: 256, Pages: []uint64{page}})
		s.Kernel(thread, dxgkrnl.Event{Kind: dxgkrnl.EventPlace, Allocation: 1, Segment: 2, Address: gartreg.Start, Bytes: 256, Aperture: true})
		write(vramBAR, 0, page|uint32(gartreg.EntryValid))
		write(vramBAR, 4, high>>32)
		access(thread, hal.Access{}) // the page 4 GiB above is mapped
		write(vramBAR, 0, page|uint32(gartreg.EntryValid))
		for _, a := range tt.then {
			access(thread, a)
		}
		b, err := pkt.Fill{Dst: gartreg.Start, Bytes: 8}.Append(nil)
		require.NoError(t, err)
		s.Kernel(thread, dxgkrnl.Event{
			Kind: dxgkrnl.EventQueue, Submission: 1, Device: 1, Address: 0x9000, Text: "DxgkDdiRender", Commands: b, End: uint32(len(b)),
			Uses: []dxgkrnl.Use{{At: 4, Allocation: 1, Write: true}},
		})
		assert.Equal(t, tt.want, slices.Contains(found, "access-pinned"), "%s: %q", name, found)
	}
}
