package why

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/testbench/eventlog"
)

// line returns an event of a process with a line of the trace.
func line(kind eventlog.Kind, process uint32, text string) *eventlog.Event {
	e := eventlog.New(kind).WithText(text)
	e.Process = process
	return &e
}

// silentRun returns a run of two processes, whose resources have the same names. Allocation 0x10 is of resource 1
// of process 1, 0x11 of its resource 2, and 0x20 of resource 1 of process 2. Resource 1 is copied at events 10 and
// 30, and resource 2 at 20, each without a packet.
func silentRun() *Run {
	r := &Run{emits: true}
	for process, allocations := range map[uint32][]string{1: {"0x10", "0x11"}, 2: {"0x20"}} {
		for i, a := range allocations {
			name := string(rune('1' + i))
			r.made.add(made{process, false, line(eventlog.DDI, process, `{"args":{"arg":{"MipInfoList":[{"TexelWidth":8}],"ResourceDimension":"Buffer"},"res":"resource `+name+`","rt":"rt `+name+`"}}`).Line()})
			r.made.add(made{process, true, line(eventlog.DDIEnd, process, `{"args":{"arg":{"Resource":"rt `+name+`","AllocationInfo":[{"Allocation":"`+a+`"}]}}}`).Line()})
		}
	}
	for event, resource := range []string{"1", "2", "1"} {
		r.silent = append(r.silent, &command{
			frame: frame{Point: Point{Event: uint64(10 * (event + 1))}, name: "pfnResourceCopy", process: 1},
			call:  &call{frame: frame{number: uint64(event + 1), name: "CopyResource"}},
			line:  line(eventlog.DDI, 1, `{"name":"pfnResourceCopy","args":{"dst":"resource `+resource+`"}}`).Line(),
		})
	}
	return r
}

// The last silent command of a resource between two events is found.
func TestSkipped(t *testing.T) {
	for _, tt := range []struct {
		allocation, from, to uint64
		want                 uint64 // event, or 0
	}{
		{0x10, 0, 100, 30}, {0x10, 0, 30, 10}, {0x10, 0, 31, 30}, {0x10, 10, 30, 0}, {0x10, 9, 30, 10}, {0x10, 30, 100, 0},
		{0x11, 0, 100, 20}, {0x20, 0, 100, 0}, {0x12, 0, 100, 0},
	} {
		var got uint64
		if c := silentRun().skipped(tt.allocation, tt.from, tt.to); c != nil {
			got = c.Event
		}
		assert.Equal(t, tt.want, got, "%+v", tt)
	}
	r := silentRun()
	r.emits = false
	assert.Nil(t, r.skipped(0x10, 0, 100), "the log has no packets of command buffers")
	r = silentRun()
	r.silent[2].list = &list{name: "list 1.1", moves: []work{{line: r.silent[1].line}}}
	require.Equal(t, r.silent[2], r.skipped(0x11, 0, 100), "a list that writes it")
	assert.Equal(t, r.silent[0], r.skipped(0x10, 0, 100))
	assert.Equal(t, "call 3, CopyResource, gave the GPU no packet: pfnResourceCopy returned and wrote none, and list 1.1 has 1 function that moves data", r.silent[2].describe())
}

// The INDIRECT of a ring has the bytes of the submission, unless it continues a preempted one.
func TestMisdirected(t *testing.T) {
	for _, tt := range []struct {
		in   pkt.Indirect
		want string
	}{
		{pkt.Indirect{Addr: pkt.Host | 0x1040, Dwords: 16}, ""},
		{pkt.Indirect{Addr: pkt.Host | 0x1000, Dwords: 16}, "the INDIRECT of the ring has 16 dwords at HOST+0x1000, want 16 at HOST+0x1040"},
		{pkt.Indirect{Addr: pkt.Host | 0x1040, Dwords: 15}, "the INDIRECT of the ring has 15 dwords at HOST+0x1040, want 16 at HOST+0x1040"},
		{pkt.Indirect{Addr: pkt.Host | 0x1060, Dwords: 8, Resume: true}, ""},
	} {
		b, err := tt.in.Append(nil)
		require.NoError(t, err)
		s := &submission{buffer: 0x1000, start: 0x40, end: 0x80, ring: []ringPacket{{data: b}}}
		assert.Equal(t, tt.want, s.misdirected())
	}
}

// A function is silent if it has returned in a call of the API, without an error.
func TestEnds(t *testing.T) {
	for name, tt := range map[string]struct {
		call   bool
		result string
		want   int
	}{
		"in a call":                 {true, `{"name":"pfnResourceCopy"}`, 1},
		"with an error":             {true, `{"name":"pfnResourceCopy","results":{"hr":"E_FAIL"}}`, 0},
		"in no call":                {false, `{"name":"pfnResourceCopy"}`, 0},
		"in no call, with an error": {false, `{"name":"pfnResourceCopy","results":{"hr":"E_FAIL"}}`, 0},
	} {
		b := newBuilder(eventlog.Header{}, nil)
		add := func(id, cause uint64, e eventlog.Event) {
			e.ID, e.Cause, e.Process, e.Thread = id, cause, 1, 1
			b.add(&e)
		}
		if tt.call {
			add(1, 0, eventlog.New(eventlog.Call, 7).WithText("CopyResource"))
		}
		add(2, 1, eventlog.New(eventlog.DDI).WithText(`{"name":"pfnResourceCopy","args":{"dst":"resource 1"}}`))
		add(3, 2, eventlog.New(eventlog.DDIEnd).WithText(tt.result))
		assert.Len(t, b.silent, tt.want, name)
	}
}
