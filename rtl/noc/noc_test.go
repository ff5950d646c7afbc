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
				m.Tick(v, v != 0 && tt.taken[i] == '1', false)
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
	assert.Equal(t, port.None, noc.ToHost(vram).Kind)
	assert.Equal(t, vram, noc.ToVRAM(vram))
	assert.Equal(t, port.None, noc.ToVRAM(host).Kind)
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
			m := noc.NewInitiator(2, 16)
			for i, s := range tt.steps {
				o := noc.Decide(s.valid, m.State(), s.master, false)
				require.Equal(t, s.offer, o, "clock %d", i)
				taken := noc.Taken(o, s.ready)
				require.Equal(t, s.taken, taken, "clock %d", i)
				m.Tick(o, 0, taken, s.last, port.Completion{}, false)
				require.Equal(t, s.owner, m.Owner(), "clock %d", i)
			}
		})
	}
}

func TestInitiatorRefusesReads(t *testing.T) {
	m := noc.NewInitiator(2, 16)
	refuse := func(valid uint8, tag uint8, cpl port.Completion) bool {
		o := noc.Decide(valid, m.State(), false, false)
		taken := noc.Taken(o, true)
		m.Tick(o, tag, taken, false, cpl, false)
		return taken
	}
	m.Tick(noc.Decide(2, m.State(), true, false), 0x10, true, false, port.Completion{}, false)
	late := port.Completion{Tag: 0x10, Status: port.CplSuccess, Last: true}
	require.True(t, refuse(4, 0x27, port.Completion{}))
	want := port.Completion{Tag: 0x27, Status: port.CplUnsupported, Last: true}
	assert.Equal(t, want, m.Completion())
	assert.Zero(t, m.IdleFor())
	require.False(t, refuse(4, 0x28, port.Completion{Tag: 0x10, Status: port.CplSuccess}), "one answer at a time")
	require.True(t, refuse(4, 0x28, late))
	assert.False(t, m.Pending(), "what was refused is not in flight")
	assert.Equal(t, late, m.Completion(), "what the host sends goes first")
	require.False(t, refuse(4, 0x29, port.Completion{}))
	assert.Equal(t, port.Completion{Tag: 0x28, Status: port.CplUnsupported, Last: true}, m.Completion())
	refuse(0, 0, port.Completion{})
	assert.Equal(t, port.Completion{}, m.Completion())
	assert.Equal(t, uint64(math.MaxUint64), m.IdleFor())
}

func TestInitiatorPending(t *testing.T) {
	m := noc.NewInitiator(2, 16)
	read := func(tag uint8, cpl port.Completion) {
		o := noc.Decide(1, m.State(), true, false)
		m.Tick(o, tag, noc.Taken(o, true), false, cpl, false)
	}
	nothing := func(cpl port.Completion) { m.Tick(noc.Decide(0, m.State(), true, false), 0, false, false, cpl, false) }
	done := port.Completion{Status: port.CplSuccess, Last: true}
	read(0, port.Completion{})
	read(0x23, port.Completion{})
	nothing(port.Completion{Status: port.CplSuccess})
	nothing(done)
	assert.Equal(t, done, m.Completion())
	assert.True(t, m.Pending())
	nothing(port.Completion{Tag: 0x23, Status: port.CplAbort, Last: true})
	assert.False(t, m.Pending())
	for _, tag := range []uint8{0, 0x23, 0x40, 0xff} {
		nothing(port.Completion{Tag: tag, Status: port.CplSuccess, Last: true})
		assert.Equal(t, port.Completion{}, m.Completion(), "tag %#x", tag)
	}
	assert.False(t, m.Pending(), "a stray completion")
	m.Reset()
	assert.Equal(t, noc.State{}, m.State())
}

// The reads that are in flight at a reset are answered to nobody, and keep their
// tags until then; the others go on.
func TestInitiatorReset(t *testing.T) {
	m := noc.NewInitiator(2, 16)
	clock := func(valid uint8, tag uint8, cpl port.Completion, rst bool) {
		o := noc.Decide(valid, m.State(), true, false)
		m.Tick(o, tag, noc.Taken(o, true), false, cpl, rst)
	}
	beat := func(tag uint8, last bool) port.Completion {
		return port.Completion{Tag: tag, Status: port.CplSuccess, Last: last, Data: uint64(tag)}
	}
	clock(1, 0, port.Completion{}, false)
	clock(4, 0x21, port.Completion{}, false)
	clock(4, 0x22, beat(0, false), false)
	clock(4, 0x23, beat(0x21, true), true)
	assert.Equal(t, port.Completion{}, m.Completion(), "of the clock of the reset")
	assert.Equal(t, uint64(1|1<<0x22|1<<0x23), m.Busy())
	read := port.Request{Kind: port.MemRead, Tag: 0x22}
	assert.Equal(t, port.None, noc.Free(read, m.Busy()).Kind)

	clock(4, 0x21, beat(0x22, false), false)
	assert.Equal(t, port.Completion{}, m.Completion())
	clock(0, 0, beat(0x22, true), false)
	assert.Equal(t, port.Completion{}, m.Completion())
	assert.Equal(t, read, noc.Free(read, m.Busy()))
	clock(0, 0, beat(0x21, true), false)
	assert.Equal(t, beat(0x21, true), m.Completion(), "a read from after the reset")
	clock(0, 0, beat(0, true), true)
	clock(0, 0, beat(0x23, true), false)
	assert.False(t, m.Pending())
	assert.Zero(t, m.Busy())
}

// While the engines are closed, only what was offered before is.
func TestClosed(t *testing.T) {
	m := noc.NewInitiator(2, 16)
	assert.Zero(t, noc.Decide(5, m.State(), true, true).Sources)
	assert.Zero(t, noc.Decide(5, m.State(), false, true).Sources, "nor refused")
	m.Tick(noc.Decide(4, m.State(), true, false), 0x20, false, false, port.Completion{}, false)
	assert.True(t, m.Owed())
	o := noc.Decide(5, m.State(), true, true)
	assert.Equal(t, noc.Offer{Sources: 4, Source: 2}, o)
	m.Tick(o, 0x20, true, false, port.Completion{}, false)
	assert.False(t, m.Owed())
	m.Tick(noc.Decide(1<<noc.HostWriteDMA, m.State(), true, false), 0, true, false, port.Completion{}, false)
	assert.True(t, m.Owed(), "beats")

	assert.Equal(t, uint8(8), noc.Open(0b1110, noc.Turn{}, true, 8))
	assert.Equal(t, uint8(0b1010), noc.Open(0b1110, noc.Turn{At: 1, Hold: true}, true, 8))
	assert.Equal(t, uint8(0b1110), noc.Open(0b1110, noc.Turn{}, false, 8))
}

func TestWritesOwe(t *testing.T) {
	const target = noc.VRAMWriteTarget
	var m noc.Writes
	m.Tick(1<<target, false, false)
	assert.False(t, m.Owed())
	m.Tick(1<<target, true, false)
	assert.False(t, m.Owed())
	m.Tick(1<<noc.VRAMWriteDMA, false, false)
	assert.True(t, m.Owed(), "a header is held")
	m.Tick(1<<noc.VRAMWriteDMA, true, false)
	assert.True(t, m.Owed(), "behind the target's")
	m.Tick(0, false, true)
	assert.True(t, m.Owed())
	m.Tick(0, false, true)
	assert.False(t, m.Owed())
}
