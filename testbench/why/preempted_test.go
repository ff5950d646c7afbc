package why_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/runtime/d3d11"
	"github.com/hilgpu/hilgpu/testbench"
	"github.com/hilgpu/hilgpu/testbench/eventlog"
	"github.com/hilgpu/hilgpu/testbench/events"
	"github.com/hilgpu/hilgpu/testbench/why"
)

// preemptedLog records a list on a board: two copies of 64 bytes that D3D11 skips unless keeps is set, and copies of a number of bytes each. Work of a higher
// priority preempts it after the first two, and it continues. The log is that of the real stack.
func preemptedLog(t *testing.T, board string, keeps bool, sizes ...uint32) []eventlog.Event {
	t.Helper()
	return preemptedWith(t, board, testbench.Options{}, keeps, sizes...)
}

// preemptedWith is preemptedLog with options of the system.
func preemptedWith(t *testing.T, board string, o testbench.Options, keeps bool, sizes ...uint32) []eventlog.Event {
	t.Helper()
	ring := eventlog.NewRing(64<<20, eventlog.Header{})
	o.Record = func(eventlog.Header) (events.Sink, error) { return ring, nil }
	s, err := testbench.Open(board, testbench.HostDrivers(), o)
	require.NoError(t, err)
	low, ctx, err := s.CreateDevice()
	require.NoError(t, err)
	high, urgent, err := s.CreateDevice()
	require.NoError(t, err)
	require.NoError(t, high.SetGPUThreadPriority(7))
	buffer := func(d *d3d11.Device, size uint32) *d3d11.Buffer {
		b, err := d.CreateBuffer(d3d11.BufferDesc{ByteWidth: size, BindFlags: d3d11.BindVertexBuffer}, &d3d11.SubresourceData{SysMem: make([]byte, size)})
		require.NoError(t, err)
		return b
	}
	other, another := buffer(high, 64), buffer(high, 64)
	var from, to []*d3d11.Buffer
	for i, n := range append([]uint32{64, 64}, sizes...) {
		from, to = append(from, buffer(low, n)), append(to, buffer(low, n))
		ctx.CopyResource(to[i], from[i]) // each has its content
	}
	ctx.Flush()
	require.NoError(t, s.WaitForIdle())
	q, err := low.CreatePredicate(&d3d11.QueryDesc{Query: d3d11.QueryOcclusionPredicate})
	require.NoError(t, err)
	ctx.Begin(q)
	ctx.End(q)
	def, err := low.CreateDeferredContext(0)
	require.NoError(t, err)
	def.SetPredication(q, keeps)
	for i := range to {
		if i == 2 {
			def.SetPredication(nil, false)
		}
		def.CopyResource(to[i], from[i])
	}
	list, err := def.FinishCommandList(false)
	require.NoError(t, err)
	ctx.ExecuteCommandList(list, false)
	ctx.Flush()
	urgent.CopyResource(another, other)
	urgent.Flush()
	require.NoError(t, s.WaitForIdle())
	require.NoError(t, s.Close())
	return eventsOf(t, ring)
}

// A preemption is what a log has of a submission that was preempted, and of the one that continues it.
type preemption struct {
	all         []eventlog.Event
	first, next eventlog.Event      // queue
	packets     map[uint64][]string // of each submission
	copies      []pkt.Copy          // of the first one
	offsets     []uint64            // of these
	by          map[uint64]uint64   // submission that has executed the packet at an offset, if the board tells it
	ring        []eventlog.Event    // packets with which the driver continues it
}

// preemptionOf returns the preemption of a log, which has one.
func preemptionOf(t *testing.T, all []eventlog.Event) (p preemption) {
	t.Helper()
	p = preemption{all: all, packets: map[uint64][]string{}, by: map[uint64]uint64{}}
	queues, at := map[uint64]eventlog.Event{}, map[uint64][2]uint64{}
	for _, e := range all {
		switch e.Kind {
		case eventlog.Queue:
			queues[e.Fields[0]] = e
		case eventlog.Packet:
			p.packets[e.Fields[0]] = append(p.packets[e.Fields[0]], fmt.Sprintf("%#x: %x", e.Fields[1], e.Data))
			at[e.ID] = [2]uint64{e.Fields[0], e.Fields[1]}
		case eventlog.Continue:
			require.Zero(t, p.next.ID, "one preemption")
			p.next, p.first = queues[e.Fields[0]], queues[e.Fields[1]]
		}
	}
	require.NotZero(t, p.next.ID, "it is preempted")
	var doorbell uint64
	for _, e := range all {
		switch of := at[e.Cause]; {
		case e.Kind == eventlog.Executed && (of[0] == p.first.Fields[0] || of[0] == p.next.Fields[0]):
			require.Zero(t, p.by[of[1]], "each packet is executed once")
			p.by[of[1]] = of[0]
		case e.Kind == eventlog.Packet && e.Fields[0] == p.first.Fields[0]:
			if c, _, err := pkt.DecodeCopy(e.Data); err == nil {
				p.copies, p.offsets = append(p.copies, c), append(p.offsets, e.Fields[1])
			}
		case e.Kind == eventlog.RingPacket && e.ID > p.next.ID && (doorbell == 0 || e.Cause == doorbell):
			doorbell, p.ring = e.Cause, append(p.ring, e)
		}
	}
	return p
}

// place returns the offset at which the driver continues: that of its INDIRECT, or the end.
func (p *preemption) place() uint64 {
	for _, e := range p.ring {
		if in, _, err := pkt.DecodeIndirect(e.Data); err == nil {
			return in.Addr&^pkt.Host - p.next.Fields[4]
		}
	}
	return p.next.Fields[6]
}

// unfenced returns the run of the log up to the end of what preempted the submission, as if the fence of the one that continues had not been executed.
func (p *preemption) unfenced(t *testing.T) *why.Run {
	t.Helper()
	var some []eventlog.Event
	fence := p.ring[len(p.ring)-1]
	for _, e := range p.all {
		end := e.Kind == eventlog.Retire && e.ID > fence.ID
		switch {
		case e.Kind == eventlog.Executed && e.Cause == fence.ID,
			e.Kind == eventlog.Memory && e.ID > fence.ID && e.Fields[2]&0xffffffff == p.next.Fields[2],
			e.Kind == eventlog.Report && e.Fields[0] == p.next.Fields[0]:
			e = eventlog.New(eventlog.Text).WithText("a line")
		}
		if some = append(some, e); end {
			break
		}
	}
	return runOfEvents(t, some)
}

// The kernel gives the same part of the buffer to the hardware again, with the same packets, and the driver continues it at the packet in which its node
// stopped, or has only the fence left. The tests of parts of the log use this.
func TestPreemptedLog(t *testing.T) {
	for _, board := range []string{"emu", "emu?trace=0"} {
		p := preemptionOf(t, preemptedLog(t, board, true, 8<<10, 8<<10))
		assert.Equal(t, p.first.Fields[4:7], p.next.Fields[4:7], "buffer, start and end")
		assert.Equal(t, p.packets[p.first.Fields[0]], p.packets[p.next.Fields[0]])
		require.Len(t, p.offsets, 4)
		require.NotEmpty(t, p.ring)
		assert.Equal(t, p.offsets[2], p.place(), "it is stopped in the first long copy")
		if board == "emu" {
			want := []uint64{p.first.Fields[0], p.first.Fields[0], p.next.Fields[0], p.next.Fields[0]}
			assert.Equal(t, want, []uint64{p.by[p.offsets[0]], p.by[p.offsets[1]], p.by[p.offsets[2]], p.by[p.offsets[3]]})
		}
		p = preemptionOf(t, preemptedLog(t, board, true, 4<<10))
		assert.Equal(t, p.next.Fields[6], p.place(), "only the fence is left")
		assert.Equal(t, p.first.Fields[4:7], p.next.Fields[4:7])
	}
}

// A packet that a PREDICATE does not skip, and that was executed before the preemption, is not called skipped in the submission that continues. One that it
// skips is skipped in both.
func TestPredicateBeforeAPreemption(t *testing.T) {
	for _, board := range []string{"emu", "emu?trace=0"} {
		for _, keeps := range []bool{true, false} {
			p := preemptionOf(t, preemptedLog(t, board, keeps, 8<<10, 8<<10))
			r := runOfEvents(t, p.all)
			for i, number := range slices.DeleteFunc(copyCalls(p.all), func(n uint64) bool {
				a, err := r.Call(n)
				return err != nil || !strings.Contains(a.Verdict, "recorded")
			}) {
				a, err := r.Call(number)
				require.NoError(t, err)
				text, skips := a.Text(), 0
				if !keeps && i < 2 {
					skips = 2
				}
				for _, s := range []eventlog.Event{p.first, p.next} {
					assert.Regexp(t, fmt.Sprintf(`its packet is COPY .* at IB\+%#x of submission %d`, p.offsets[i], s.Fields[0]), text)
				}
				assert.Equal(t, skips, strings.Count(text, "which a PREDICATE skips"), "%s, copy %d, keeps %v\n%s", board, i, keeps, text)
				assert.NotContains(t, text, "may skip", board)
			}
			for i := range 2 {
				a, err := r.Address(p.copies[i].Dst + 63)
				require.NoError(t, err)
				by := fmt.Sprintf("at IB+%#x of submission %d", p.offsets[i], p.first.Fields[0])
				assert.Equal(t, keeps, strings.Contains(a.Text(), by), "%s, copy %d\n%s", board, i, a.Text())
				assert.NotContains(t, a.Text(), fmt.Sprintf("at IB+%#x of submission %d", p.offsets[i], p.next.Fields[0]), board)
			}
		}
	}
}

// copyCalls returns the numbers of the calls of CopyResource.
func copyCalls(all []eventlog.Event) (numbers []uint64) {
	for _, e := range all {
		if e.Kind == eventlog.Call && e.Text() == "CopyResource" {
			numbers = append(numbers, e.Fields[0])
		}
	}
	return numbers
}

// On a board that does not tell its packets a move is that of the submission in which the node came to it. An emulator that tells them says which.
func TestMovesOfAPreemptedSubmission(t *testing.T) {
	told := preemptionOf(t, preemptedLog(t, "emu", true, 8<<10, 8<<10))
	p := preemptionOf(t, preemptedLog(t, "emu?trace=0", true, 8<<10, 8<<10))
	require.Equal(t, told.offsets, p.offsets)
	require.Equal(t, told.place(), p.place())
	r := runOfEvents(t, p.all)
	for i, c := range p.copies {
		a, err := r.Address(c.Dst + 63)
		require.NoError(t, err)
		for _, s := range []eventlog.Event{p.first, p.next} {
			by := fmt.Sprintf("written by COPY src=%s dst=%s bytes=%d at IB+%#x of submission %d", pkt.FormatAddr(c.Src), pkt.FormatAddr(c.Dst), c.Bytes, p.offsets[i], s.Fields[0])
			assert.Equal(t, told.by[p.offsets[i]] == s.Fields[0], strings.Contains(a.Text(), " "+by) && !strings.Contains(a.Text(), "perhaps "+by), "copy %d, submission %d\n%s", i, s.Fields[0], a.Text())
			stopped := p.offsets[i] == p.place() && s.ID == p.first.ID
			assert.Equal(t, stopped, strings.Contains(a.Text(), "perhaps "+by), "copy %d, submission %d\n%s", i, s.Fields[0], a.Text())
		}
	}
}

// Bytes before the place at which a submission continues are not read again. The bytes from there on are.
func TestFetchOfAPreemptedSubmission(t *testing.T) {
	for _, board := range []string{"emu", "emu?trace=0"} {
		p := preemptionOf(t, preemptedLog(t, board, true, 8<<10, 8<<10))
		r := runOfEvents(t, p.all)
		for i, offset := range p.offsets {
			a, err := r.Address(pkt.Host | p.first.Fields[4] + offset)
			require.NoError(t, err)
			reads := strings.Contains(a.Text(), fmt.Sprintf("fetched by node 0 for submission %d", p.next.Fields[0]))
			assert.Equal(t, i >= 2, reads, "%s, copy %d\n%s", board, i, a.Text())
		}
		p = preemptionOf(t, preemptedLog(t, board, true, 4<<10))
		a, err := runOfEvents(t, p.all).Address(pkt.Host | p.first.Fields[4] + p.offsets[2])
		require.NoError(t, err)
		assert.NotContains(t, a.Text(), fmt.Sprintf("for submission %d", p.next.Fields[0]), "%s: only the fence is left", board)
	}
}

// If the fence of a submission that continues is missing, and only that is left, its buffer need not be fetched. If more is left, the packet at the place
// is missing, and none that was executed before.
func TestMissingOfAPreemptedSubmission(t *testing.T) {
	for _, board := range []string{"emu", "emu?trace=0"} {
		p := preemptionOf(t, preemptedLog(t, board, true, 4<<10))
		a, err := p.unfenced(t).Fence(int(p.next.Fields[1]), uint32(p.next.Fields[2]))
		require.NoError(t, err)
		want := map[string]string{"emu": why.MissingFence, "emu?trace=0": why.MissingUnknown}[board]
		assert.Equal(t, want, a.Missing, "%s\n%s", board, a.Text())
		if want == why.MissingUnknown {
			assert.Contains(t, a.Cause, "only the packet of its fence is left")
		}
	}
	p := preemptionOf(t, preemptedLog(t, "emu", true, 8<<10, 8<<10))
	i := slices.IndexFunc(p.all, func(e eventlog.Event) bool { return e.Kind == eventlog.Executed && e.Cause == p.ring[1].ID })
	require.Positive(t, i, "its INDIRECT is executed")
	a, err := runOfEvents(t, p.all[:i+1]).Fence(int(p.next.Fields[1]), uint32(p.next.Fields[2]))
	require.NoError(t, err)
	assert.Equal(t, why.MissingPacket, a.Missing, a.Text())
	assert.Regexp(t, fmt.Sprintf(`^COPY .* at IB\+%#x of submission %d, .* has not ended;`, p.place(), p.next.Fields[0]), a.Cause)
}

// The log has no ring of a queue of the firmware. The first packet that it executes, or the first read of the buffer, tells the place at which it continues a
// submission. Without these it is not known which of the two submissions has executed a packet.
func TestPreemptedInAQueue(t *testing.T) {
	queues := testbench.Options{Queues: testbench.Queues{Use: true}}
	told := preemptionOf(t, preemptedWith(t, "emu?config=full&vram=1MiB", queues, true, 32<<10, 32<<10, 32<<10))
	p := preemptionOf(t, preemptedWith(t, "emu?config=full&vram=1MiB&trace=0", queues, true, 32<<10, 32<<10, 32<<10))
	require.Empty(t, append(told.ring, p.ring...))
	require.Equal(t, told.offsets, p.offsets)
	for name, r := range map[string]*why.Run{"packets": runOfEvents(t, told.all), "reads": runOfEvents(t, p.all), "nothing": unwatched(t, p.all)} {
		stopped := 0
		for i, c := range p.copies {
			a, err := r.Address(c.Dst + 63)
			require.NoError(t, err)
			for _, s := range []eventlog.Event{p.first, p.next} {
				by := fmt.Sprintf("COPY src=%s dst=%s bytes=%d at IB+%#x of submission %d", pkt.FormatAddr(c.Src), pkt.FormatAddr(c.Dst), c.Bytes, p.offsets[i], s.Fields[0])
				known := told.by[p.offsets[i]] == s.Fields[0] && name != "nothing"
				assert.Equal(t, known, strings.Contains(a.Text(), "  written by "+by), "%s, copy %d, submission %d\n%s", name, i, s.Fields[0], a.Text())
				perhaps := strings.Contains(a.Text(), "perhaps written by "+by) || strings.Contains(a.Text(), "perhaps written by a part of "+by)
				if perhaps {
					stopped++
				}
				assert.False(t, perhaps && known)
			}
			a, err = r.Address(pkt.Host | p.next.Fields[4] + p.offsets[i])
			require.NoError(t, err)
			read := strings.Contains(a.Text(), fmt.Sprintf("  fetched by node 0 for submission %d", p.next.Fields[0]))
			assert.Equal(t, told.by[p.offsets[i]] == p.next.Fields[0] && name != "nothing", read, "%s, copy %d\n%s", name, i, a.Text())
		}
		assert.Equal(t, map[string]int{"packets": 1, "reads": 1, "nothing": 2 * len(p.copies)}[name], stopped, name)
	}
}
