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
		{"the source whose turn it is", 0b0110, noc.Turn{At: 1}, 1},
		{"the next one", 0b1100, noc.Turn{At: 1}, 2},
		{"wraps around", 0b0011, noc.Turn{At: 6}, 0},
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
				m.Tick(v, noc.Grant(v, m.Turn()), v != 0 && tt.taken[i] == '1', false)
			}
			m.Reset()
			assert.Equal(t, noc.Turn{}, m.Turn())
		})
	}
}

func TestWritesTakeOneAtATime(t *testing.T) {
	var m noc.Writes
	clock := func(valid uint8, last bool) (taken bool) {
		taken = valid != 0 && noc.Vacant(m.Owner(), last)
		m.Tick(valid, noc.Grant(valid, m.Turn()), taken, last)
		return taken
	}
	require.Equal(t, noc.Owner{}, m.Owner())
	require.True(t, clock(0b0110, false))
	assert.Equal(t, noc.Owner{Valid: true, Source: 1}, m.Owner())
	require.False(t, clock(0b0100, false), "beats are due")
	require.True(t, clock(0b0101, true), "a header with the last beat before it")
	assert.Equal(t, noc.Owner{Valid: true, Source: 2}, m.Owner(), "an offered header keeps the grant")
	require.True(t, clock(0b0001, true))
	assert.Equal(t, noc.Owner{Valid: true}, m.Owner())
	require.False(t, clock(0, true))
	assert.False(t, m.Owner().Valid)
	m.Reset()
	assert.Equal(t, noc.Turn{}, m.Turn())
}

func TestRouting(t *testing.T) {
	host := port.Request{Kind: port.MemRead, Tag: 5, Addr: noc.Host | 0x40}
	vram := port.Request{Kind: port.MemWrite, Addr: 0x40}
	for _, tt := range []struct {
		name            string
		r               port.Request
		outward, inward bool
	}{
		{"to host memory", host, true, false},
		{"to VRAM", vram, false, true},
		{"nowhere, in host memory", port.Request{Addr: noc.Host}, false, false},
		{"nowhere", port.Request{}, false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			assert.Equal(t, tt.outward, noc.Outward(tt.r))
			assert.Equal(t, tt.inward, noc.Inward(tt.r))
		})
	}
	assert.Equal(t, uint8(0x25), noc.Tag(host, noc.ReadDMA))
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
		{"only VRAM's", none, cpl(0x10), [4]port.Completion{1: own(0x10)}, true},
		{"an unused tag", cpl(0x43), none, [4]port.Completion{}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for r := range uint8(4) {
				got := noc.Completion(tt.host, tt.vram, r)
				if got.Status == port.CplNone {
					got = none
				}
				assert.Equal(t, tt.want[r], got, "reader %d", r)
			}
			assert.Equal(t, tt.ready, noc.CompletionReady(tt.host, tt.vram))
		})
	}
}

// With a shared channel the host's completion goes first, whichever reader it is for. VRAM's
// waits unless it is for the target.
func TestFirst(t *testing.T) {
	host := port.Completion{Tag: 0x23, Status: port.CplSuccess, Data: 1}
	vram := port.Completion{Tag: 0x01, Status: port.CplSuccess, Data: 2}
	target := port.Completion{Tag: noc.ReadTarget << 4, Status: port.CplSuccess, Data: 3}
	assert.Equal(t, host, noc.First(host, vram))
	assert.Equal(t, vram, noc.First(port.Completion{}, vram))
	assert.False(t, noc.FirstReady(host, vram))
	assert.True(t, noc.FirstReady(port.Completion{}, vram))
	assert.True(t, noc.FirstReady(host, target))
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
			{valid: dmaWr, master: true, ready: true, offer: noc.Offer{Sources: dmaWr, Source: 4}, taken: true, owner: noc.Owner{Valid: true, Source: noc.WriteDMA}},
			{valid: msg, master: true, ready: true, offer: noc.Offer{Sources: msg, Source: 7}, taken: true, owner: noc.Owner{Valid: true, Source: noc.WriteDMA}},
			{valid: msg | 2, master: true, ready: true, offer: noc.Offer{Sources: 2, Source: 1}, taken: true, owner: noc.Owner{Valid: true, Source: noc.WriteDMA}},
			{valid: msg, master: true, ready: true, last: true, offer: noc.Offer{Source: 2}, owner: noc.Owner{Valid: true, Source: noc.WriteMessage}},
		}},
		{"without bus mastering a write is taken and dropped", []step{
			{valid: msg, offer: noc.Offer{Sources: msg, Source: 7, Refuse: true}, taken: true, owner: noc.Owner{Valid: true, Drop: true, Source: noc.WriteMessage}},
			{last: true, offer: noc.Offer{Refuse: true}},
		}},
		{"an offered header stays when bus mastering ends, and its beats follow", []step{
			{valid: msg, master: true, offer: noc.Offer{Sources: msg, Source: 7}},
			{valid: msg, offer: noc.Offer{Sources: msg, Source: 7}},
			{valid: msg, ready: true, offer: noc.Offer{Sources: msg, Source: 7}, taken: true, owner: noc.Owner{Valid: true, Source: noc.WriteMessage}},
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := noc.NewInitiator(2, 16, false)
			for i, s := range tt.steps {
				o := noc.Decide(s.valid, 0, m.State(), s.master, false, false)
				require.Equal(t, s.offer, o, "clock %d", i)
				taken := noc.Taken(o, s.ready)
				require.Equal(t, s.taken, taken, "clock %d", i)
				m.Tick(o, 0, 0, taken, s.last, port.Completion{}, noc.Sweep{}, false)
				require.Equal(t, s.owner, m.Owner(), "clock %d", i)
			}
		})
	}
}

// arrival returns the completion that the readers get for a completion at the
// port.
func arrival(m *noc.Initiator, cpl port.Completion) port.Completion {
	got := noc.Arrival(cpl, noc.Awaits(cpl, m.Awaited()), m.Refusal(), m.Spares())
	if got.Status == port.CplNone {
		return port.Completion{}
	}
	return got
}

func TestInitiatorRefusesReads(t *testing.T) {
	m := noc.NewInitiator(2, 16, false)
	refuse := func(valid uint8, tag uint8, cpl port.Completion) bool {
		o := noc.Decide(valid, 0, m.State(), false, false, false)
		taken := noc.Taken(o, true)
		m.Tick(o, tag, tag, taken, false, cpl, noc.Sweep{}, false)
		return taken
	}
	none := port.Completion{}
	m.Tick(noc.Decide(2, 0, m.State(), true, false, false), 0x10, 0x10, true, false, none, noc.Sweep{}, false)
	late := port.Completion{Tag: 0x10, Status: port.CplSuccess, Last: true}
	require.True(t, refuse(4, 0x27, none))
	want := port.Completion{Tag: 0x27, Status: port.CplUnsupported, Last: true}
	assert.Equal(t, want, arrival(&m, none))
	assert.Zero(t, m.IdleFor(math.MaxUint64))
	assert.Equal(t, late, arrival(&m, late), "the host's completion goes first")
	require.False(t, refuse(4, 0x28, late), "one answer at a time")
	assert.False(t, m.Pending(), "a refused read is not in flight")
	assert.Equal(t, want, arrival(&m, none))
	require.False(t, refuse(4, 0x28, late), "a stray completion does not delay an answer")
	assert.Equal(t, none, arrival(&m, none))
	assert.Equal(t, uint64(math.MaxUint64), m.IdleFor(math.MaxUint64))
	require.True(t, refuse(4, 0x29, none))
	assert.Equal(t, port.Completion{Tag: 0x29, Status: port.CplUnsupported, Last: true}, arrival(&m, none))
}

func TestInitiatorPending(t *testing.T) {
	m := noc.NewInitiator(2, 16, false)
	read := func(tag uint8) {
		o := noc.Decide(1, 0, m.State(), true, false, false)
		m.Tick(o, tag, tag, noc.Taken(o, true), false, port.Completion{}, noc.Sweep{}, false)
	}
	clock := func(cpl port.Completion) (got port.Completion) {
		got = arrival(&m, cpl)
		m.Tick(noc.Decide(0, 0, m.State(), true, false, false), 0, 0, false, false, cpl, noc.Sweep{}, false)
		return got
	}
	done := port.Completion{Status: port.CplSuccess, Last: true}
	read(0)
	read(0x23)
	clock(port.Completion{Status: port.CplSuccess})
	assert.Equal(t, done, clock(done))
	assert.True(t, m.Pending())
	clock(port.Completion{Tag: 0x23, Status: port.CplAbort, Last: true})
	assert.False(t, m.Pending())
	for _, tag := range []uint8{0, 0x23, 0x40, 0xff} {
		got := clock(port.Completion{Tag: tag, Status: port.CplSuccess, Last: true})
		assert.Equal(t, port.Completion{}, got, "tag %#x", tag)
	}
	assert.False(t, m.Pending(), "a stray completion")
	m.Reset()
	assert.Equal(t, noc.State{}, m.State())
}

// The completions of reads in flight at a reset are dropped. Their tags stay busy
// until then. Other reads continue.
func TestInitiatorReset(t *testing.T) {
	m := noc.NewInitiator(2, 16, false)
	clock := func(valid uint8, tag uint8, cpl port.Completion, rst bool) (got port.Completion) {
		got = arrival(&m, cpl)
		o := noc.Decide(valid, 0, m.State(), true, false, false)
		m.Tick(o, tag, tag, noc.Taken(o, true), false, cpl, noc.Sweep{}, rst)
		return got
	}
	beat := func(tag uint8, last bool) port.Completion {
		return port.Completion{Tag: tag, Status: port.CplSuccess, Last: last, Data: uint64(tag)}
	}
	none := port.Completion{}
	clock(1, 0, none, false)
	clock(4, 0x21, none, false)
	clock(4, 0x22, beat(0, false), false)
	clock(4, 0x23, beat(0x21, true), true)
	assert.Equal(t, uint64(1|1<<0x22|1<<0x23), m.Busy())
	assert.False(t, noc.Free(0x22, m.Busy()))

	assert.Equal(t, none, clock(4, 0x21, beat(0x22, false), false))
	assert.Equal(t, none, clock(0, 0, beat(0x22, true), false))
	assert.True(t, noc.Free(0x22, m.Busy()))
	assert.Equal(t, beat(0x21, true), clock(0, 0, beat(0x21, true), false), "a read from after the reset")
	clock(0, 0, beat(0, true), true)
	clock(0, 0, beat(0x23, true), false)
	assert.False(t, m.Pending())
	assert.Zero(t, m.Busy())
}

// A reset drops the answer to a refused read.
func TestInitiatorResetForgetsRefusals(t *testing.T) {
	m := noc.NewInitiator(2, 16, false)
	o := noc.Decide(4, 0, m.State(), false, false, false)
	m.Tick(o, 0x21, 0x21, noc.Taken(o, true), false, port.Completion{}, noc.Sweep{}, true)
	assert.Equal(t, port.Completion{}, arrival(&m, port.Completion{}))
	assert.False(t, m.Pending())
}

// While the engines are closed, only a header offered before is granted.
func TestClosed(t *testing.T) {
	m := noc.NewInitiator(2, 16, false)
	assert.Zero(t, noc.Decide(5, 0, m.State(), true, true, false).Sources)
	assert.Zero(t, noc.Decide(5, 0, m.State(), false, true, false).Sources, "nor refused")
	m.Tick(noc.Decide(4, 0, m.State(), true, false, false), 0x20, 0x20, false, false, port.Completion{}, noc.Sweep{}, false)
	assert.True(t, m.Owed())
	o := noc.Decide(5, 0, m.State(), true, true, false)
	assert.Equal(t, noc.Offer{Sources: 4, Source: 2}, o)
	m.Tick(o, 0x20, 0x20, true, false, port.Completion{}, noc.Sweep{}, false)
	assert.False(t, m.Owed())
	m.Tick(noc.Decide(1<<noc.HostWriteDMA, 0, m.State(), true, false, false), 0, 0, true, false, port.Completion{}, noc.Sweep{}, false)
	assert.True(t, m.Owed(), "beats")

	assert.Equal(t, uint8(8), noc.Open(0b1110, noc.Turn{}, true, 8))
	assert.Equal(t, uint8(0b1010), noc.Open(0b1110, noc.Turn{At: 1, Hold: true}, true, 8))
	assert.Equal(t, uint8(0b1110), noc.Open(0b1110, noc.Turn{}, false, 8))
}

func TestWritesOwe(t *testing.T) {
	var m noc.Writes
	clock := func(valid uint8, taken, last bool) { m.Tick(valid, noc.Grant(valid, m.Turn()), taken, last) }
	assert.False(t, m.Owed())
	clock(1<<noc.WriteDMA, false, false)
	assert.True(t, m.Owed(), "a header is held")
	clock(1<<noc.WriteDMA, true, false)
	assert.True(t, m.Owed(), "beats")
	clock(0, false, true)
	assert.False(t, m.Owed())
}
