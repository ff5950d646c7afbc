package lockstep

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/verilog/sim"
)

// A reader offers a read with a tag.
type reader uint8

func (r reader) Initiator() (port.Request, port.Beat) {
	return port.Request{Kind: port.MemRead, Tag: uint8(r), Len: 1}, port.Beat{}
}

func TestHostHeader(t *testing.T) {
	for _, tt := range []struct {
		name string
		req  port.Request
		bad  bool
	}{
		{"none", port.Request{Len: 77}, false},
		{"longest", port.Request{Kind: port.MemWrite, Len: 32, Addr: 128}, false},
		{"too long", port.Request{Kind: port.MemWrite, Len: 33, Addr: 128}, true},
		{"no dword", port.Request{Kind: port.MemRead}, true},
		{"to the end of a block", port.Request{Kind: port.MemRead, Len: 31, Addr: 4}, false},
		{"across blocks", port.Request{Kind: port.MemRead, Len: 32, Addr: 4}, true},
		{"unaligned", port.Request{Kind: port.MemRead, Len: 1, Addr: 2}, true},
		{"kind", port.Request{Kind: port.CfgWrite + 1, Len: 1}, true},
		{"configuration", port.Request{Kind: port.CfgWrite, Len: 1, Addr: 0xffc}, false},
		{"outside configuration", port.Request{Kind: port.CfgRead, Len: 1, Addr: 0x1000}, true},
		{"long configuration", port.Request{Kind: port.CfgRead, Len: 2}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := new(hostRules).check(false, sim.Inputs{Req: tt.req}, reader(0))
			if tt.bad {
				assert.ErrorIs(t, err, ErrHost)
			} else {
				assert.NoError(t, err)
			}
		})
	}
}

// A host answers each read once, and none that it did not accept.
func TestHostAnswers(t *testing.T) {
	var h hostRules
	beat := port.Completion{Tag: 9, Status: port.CplSuccess}
	last := port.Completion{Tag: 9, Status: port.CplSuccess, Last: true}
	for _, tt := range []struct {
		in  sim.Inputs
		rst bool
		bad bool
	}{
		{in: sim.Inputs{}},
		{in: sim.Inputs{Cpl: beat}, bad: true}, // offered, not accepted
		{in: sim.Inputs{ReqReady: true}},
		{in: sim.Inputs{Cpl: beat}},
		{in: sim.Inputs{Cpl: last}},
		{in: sim.Inputs{Cpl: last}, bad: true},
		{in: sim.Inputs{ReqReady: true}},
		{in: sim.Inputs{Cpl: last}, rst: true},
		{in: sim.Inputs{Cpl: last}, bad: true},
	} {
		if err := h.check(tt.rst, tt.in, reader(9)); tt.bad {
			assert.ErrorIs(t, err, ErrHost)
		} else {
			assert.NoError(t, err)
		}
	}
}
