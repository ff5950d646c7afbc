package noc_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/port"
	"github.com/hilgpu/hilgpu/rtl/noc"
)

func TestGrant(t *testing.T) {
	for _, tt := range []struct {
		name  string
		valid uint8
		turn  noc.Turn
		want  uint8
	}{
		{"the one whose turn it is", 0b0110, noc.Turn{At: 1}, 1},
		{"the next one", 0b1100, noc.Turn{At: 1}, 2},
		{"round the end", 0b0011, noc.Turn{At: 6}, 0},
		{"the last", 0x80, noc.Turn{At: 0}, 7},
		{"a hold keeps the grant", 0b1010, noc.Turn{At: 3, Hold: true}, 3},
	} {
		t.Run(tt.name, func(t *testing.T) { assert.Equal(t, tt.want, noc.Grant(tt.valid, tt.turn)) })
	}
}

func TestReads(t *testing.T) {
	for _, tt := range []struct {
		name  string
		valid []uint8
		taken string // '1' in a clock in which the granted header is taken
		want  []uint8
	}{
		{"turns among all", []uint8{7, 7, 7, 7}, "1111", []uint8{0, 1, 2, 0}},
		{"a lone source has every clock", []uint8{4, 4, 4}, "111", []uint8{2, 2, 2}},
		{"a stall keeps the grant when others come", []uint8{4, 7, 7}, "001", []uint8{2, 2, 2}},
		{"an idle clock keeps the turn", []uint8{1, 0, 3}, "111", []uint8{0, 0, 1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var m noc.Reads
			for i, v := range tt.valid {
				if v != 0 {
					require.Equal(t, tt.want[i], noc.Grant(v, m.Turn()), "clock %d", i)
				}
				m.Tick(v, v != 0 && tt.taken[i] == '1')
			}
			m.Reset()
			assert.Equal(t, noc.Turn{}, m.Turn())
		})
	}
}

func TestWritesKeepTheOrderOfHeaders(t *testing.T) {
	var m noc.Writes
	require.Equal(t, noc.Owner{}, m.Owner())
	m.Tick(0b1010, true, false)
	assert.Equal(t, noc.Owner{Valid: true, Source: 1}, m.Owner())
	assert.False(t, m.Full())
	m.Tick(0b1000, true, false)
	assert.Equal(t, noc.Owner{Valid: true, Source: 1}, m.Owner())
	assert.True(t, m.Full())
	m.Tick(0, false, true)
	assert.Equal(t, noc.Owner{Valid: true, Source: 3}, m.Owner())
	assert.False(t, m.Full())
	m.Tick(0b0001, true, true)
	assert.Equal(t, noc.Owner{Valid: true, Source: 0}, m.Owner(), "a header with the last beat before it")
	m.Tick(0b0001, false, true)
	assert.Equal(t, noc.Owner{}, m.Owner())
	m.Reset()
	assert.Equal(t, noc.Turn{}, m.Turn())
}

func TestRouting(t *testing.T) {
	host := port.Request{Kind: port.MemRead, Addr: noc.Host | 0x40}
	vram := port.Request{Kind: port.MemRead, Addr: 0x40}
	assert.Equal(t, vram, noc.ToHost(host), "the port sees the host's address")
	assert.Equal(t, port.Request{}, noc.ToHost(vram))
	assert.Equal(t, vram, noc.ToVRAM(vram))
	assert.Equal(t, port.Request{}, noc.ToVRAM(host))
	assert.Equal(t, uint8(0x25), noc.Tagged(port.Request{Tag: 5}, noc.ReadDMA).Tag)
	assert.Equal(t, uint8(8), noc.Valid(vram, 3))
	assert.Zero(t, noc.Valid(port.Request{}, 3))
}

func TestCompletion(t *testing.T) {
	cpl := func(tag uint8) port.Completion {
		return port.Completion{Tag: tag, Status: port.CplSuccess, Data: uint64(tag)}
	}
	own := func(tag uint8) port.Completion {
		return port.Completion{Tag: tag & 15, Status: port.CplSuccess, Data: uint64(tag)}
	}
	none := port.Completion{}
	for _, tt := range []struct {
		name       string
		host, vram port.Completion
		want       [4]port.Completion
		ready      bool
	}{
		{"nothing", none, none, [4]port.Completion{}, true},
		{"both, to different readers", cpl(0x23), cpl(0x31), [4]port.Completion{2: own(0x23), 3: own(0x31)}, true},
		{"both, to one reader: the host's first", cpl(0x23), cpl(0x24), [4]port.Completion{2: own(0x23)}, false},
		{"VRAM's alone", none, cpl(0x10), [4]port.Completion{1: own(0x10)}, true},
		{"a tag that nobody has", cpl(0x43), none, [4]port.Completion{}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for r := range uint8(4) {
				assert.Equal(t, tt.want[r], noc.Completion(tt.host, tt.vram, r), "reader %d", r)
			}
			assert.Equal(t, tt.ready, noc.CompletionReady(tt.host, tt.vram))
		})
	}
}

// A step is one clock of the initiator.
type step struct {
	valid  uint8
	master bool
	ready  bool // of the port, for the header
	last   bool // the last beat of the owner is taken

	offer noc.Offer
	taken bool
	owner noc.Owner // after the clock
}

func TestInitiator(t *testing.T) {
	const dmaWr, msg = 1 << noc.HostWriteDMA, 1 << noc.HostWriteMessage
	for _, tt := range []struct {
		name  string
		steps []step
	}{
		{"a read has no beats", []step{
			{valid: 1, master: true, ready: true, offer: noc.Offer{Sources: 1}, taken: true},
		}},
		{"reads pass while two writes wait for their beats", []step{
			{valid: dmaWr, master: true, ready: true, offer: noc.Offer{Sources: dmaWr, Source: 3}, taken: true, owner: noc.Owner{Valid: true, Source: 3}},
			{valid: msg, master: true, ready: true, offer: noc.Offer{Sources: msg, Source: 6}, taken: true, owner: noc.Owner{Valid: true, Source: 3}},
			{valid: msg | 2, master: true, ready: true, offer: noc.Offer{Sources: 2, Source: 1}, taken: true, owner: noc.Owner{Valid: true, Source: 3}},
			{valid: msg, master: true, ready: true, last: true, offer: noc.Offer{Source: 2}, owner: noc.Owner{Valid: true, Source: 6}},
		}},
		{"without bus mastering a write is taken and dropped", []step{
			{valid: msg, offer: noc.Offer{Sources: msg, Source: 6, Refuse: true}, taken: true, owner: noc.Owner{Valid: true, Drop: true, Source: 6}},
			{last: true, offer: noc.Offer{Source: 7, Refuse: true}},
		}},
		{"what was offered stays when bus mastering ends, and its beats follow", []step{
			{valid: msg, master: true, offer: noc.Offer{Sources: msg, Source: 6}},
			{valid: msg, offer: noc.Offer{Sources: msg, Source: 6}},
			{valid: msg, ready: true, offer: noc.Offer{Sources: msg, Source: 6}, taken: true, owner: noc.Owner{Valid: true, Source: 6}},
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var m noc.Initiator
			for i, s := range tt.steps {
				o := noc.Decide(s.valid, m.State(), s.master)
				require.Equal(t, s.offer, o, "clock %d", i)
				taken := noc.Taken(o, s.ready)
				require.Equal(t, s.taken, taken, "clock %d", i)
				m.Tick(o, 0, taken, s.last, port.Completion{})
				require.Equal(t, s.owner, m.Owner(), "clock %d", i)
			}
		})
	}
}

func TestInitiatorRefusesReads(t *testing.T) {
	var m noc.Initiator
	refuse := func(valid uint8, tag uint8, cpl port.Completion) bool {
		o := noc.Decide(valid, m.State(), false)
		taken := noc.Taken(o, true)
		m.Tick(o, tag, taken, false, cpl)
		return taken
	}
	late := port.Completion{Tag: 0x10, Status: port.CplSuccess, Last: true}
	require.True(t, refuse(4, 0x27, port.Completion{}))
	want := port.Completion{Tag: 0x27, Status: port.CplUnsupported, Last: true}
	assert.Equal(t, want, m.Completion())
	assert.False(t, m.Pending())
	assert.Zero(t, m.IdleFor())
	require.False(t, refuse(4, 0x28, late), "one answer at a time")
	require.True(t, refuse(4, 0x28, late))
	assert.Equal(t, late, m.Completion(), "what the host sends goes first")
	require.False(t, refuse(4, 0x29, port.Completion{}))
	assert.Equal(t, port.Completion{Tag: 0x28, Status: port.CplUnsupported, Last: true}, m.Completion())
	refuse(0, 0, port.Completion{})
	assert.Equal(t, port.Completion{}, m.Completion())
	assert.Equal(t, uint64(math.MaxUint64), m.IdleFor())
}

func TestInitiatorPending(t *testing.T) {
	var m noc.Initiator
	read := func(cpl port.Completion) {
		o := noc.Decide(1, m.State(), true)
		m.Tick(o, 0, noc.Taken(o, true), false, cpl)
	}
	nothing := func(cpl port.Completion) { m.Tick(noc.Decide(0, m.State(), true), 0, false, false, cpl) }
	done := port.Completion{Status: port.CplSuccess, Last: true}
	read(port.Completion{})
	read(port.Completion{})
	nothing(port.Completion{Status: port.CplSuccess})
	nothing(done)
	assert.True(t, m.Pending())
	nothing(port.Completion{Status: port.CplAbort, Last: true})
	assert.False(t, m.Pending())
	nothing(done)
	assert.False(t, m.Pending(), "a stray completion")
	m.Reset()
	assert.Equal(t, noc.State{}, m.State())
}
