package d3d11

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// stored returns the texts of the messages that pass the retrieval filter.
func stored(q *InfoQueue) string {
	var all []string
	for i := range q.NumStoredMessagesAllowedByRetrievalFilter() {
		m, _ := q.GetMessage(i)
		all = append(all, m.Description)
	}
	return strings.Join(all, " ")
}

func newQueue() *InfoQueue {
	q := new(InfoQueue)
	q.init(&Config{})
	return q
}

func TestMessageCountLimit(t *testing.T) {
	q := newQueue()
	assert.EqualValues(t, 1024, q.MessageCountLimit())
	for i := range 1026 {
		q.AddApplicationMessage(SeverityInfo, fmt.Sprint(i))
	}
	assert.EqualValues(t, 1024, q.NumStoredMessages())
	assert.EqualValues(t, 2, q.NumMessagesDiscardedByMessageCountLimit())
	m, err := q.GetMessage(0)
	require.NoError(t, err)
	assert.Equal(t, Message{CategoryApplicationDefined, SeverityInfo, 11, "2"}, m, "a new message removes the oldest")
	q.SetMessageCountLimit(3)
	assert.Equal(t, "1023 1024 1025", stored(q))
	assert.EqualValues(t, 1023, q.NumMessagesDiscardedByMessageCountLimit())
	q.SetMessageCountLimit(NoMessageCountLimit)
	for range 2000 {
		q.AddApplicationMessage(SeverityInfo, "")
	}
	assert.EqualValues(t, 2003, q.NumStoredMessages())
	q.ClearStoredMessages()
	assert.Zero(t, q.NumStoredMessages())
	assert.EqualValues(t, 3026, q.NumMessagesAllowedByStorageFilter())
	q.SetMessageCountLimit(0)
	q.AddApplicationMessage(SeverityInfo, "")
	assert.Zero(t, q.NumStoredMessages())
}

func TestGetMessage(t *testing.T) {
	q := newQueue()
	q.AddMessage(CategoryShader, SeverityWarning, 7, "text")
	m, err := q.GetMessage(0)
	require.NoError(t, err)
	assert.Equal(t, Message{10, 2, 7, "text"}, m)
	assert.EqualValues(t, 1, q.NumStoredMessages(), "the message stays")
	_, err = q.GetMessage(1)
	assert.EqualError(t, err, "GetMessage: E_INVALIDARG: MessageIndex is 1, want less than 1")
	assert.ErrorIs(t, err, ddi.EInvalidArg)
}

// fill adds a message for each of two categories, severities and IDs.
func fill(q *InfoQueue) {
	for i := range 8 {
		c, s, id := MessageCategory(i/4), MessageSeverity(i/2%2), MessageID(i%2)
		q.AddMessage(c, s, id, fmt.Sprintf("%d%d%d", c, s, id))
	}
}

func TestFilters(t *testing.T) {
	category := func(c MessageCategory) InfoQueueFilterDesc {
		return InfoQueueFilterDesc{Categories: []MessageCategory{c}}
	}
	both := InfoQueueFilterDesc{Severities: []MessageSeverity{1}, IDs: []MessageID{1}}
	for _, tt := range []struct {
		name   string
		filter InfoQueueFilter
		want   string
	}{
		{"empty", InfoQueueFilter{}, "000 001 010 011 100 101 110 111"},
		{"allow a category", InfoQueueFilter{AllowList: category(1)}, "100 101 110 111"},
		{"allow a combination", InfoQueueFilter{AllowList: both}, "011 111"},
		{"deny a category", InfoQueueFilter{DenyList: category(1)}, "000 001 010 011"},
		{"deny severity and ID", InfoQueueFilter{DenyList: both}, "000 100"},
		{"deny wins", InfoQueueFilter{AllowList: category(1), DenyList: both}, "100"},
	} {
		q := newQueue()
		fill(q)
		q.PushRetrievalFilter(tt.filter)
		assert.Equal(t, tt.want, stored(q), "%s: retrieval", tt.name)
		assert.EqualValues(t, 8, q.NumStoredMessages())
		q = newQueue()
		q.PushStorageFilter(tt.filter)
		fill(q)
		assert.Equal(t, tt.want, stored(q), "%s: storage", tt.name)
		n := uint64(len(strings.Fields(tt.want)))
		assert.Equal(t, []uint64{n, 8 - n}, []uint64{q.NumMessagesAllowedByStorageFilter(), q.NumMessagesDeniedByStorageFilter()})
	}
}

// A filterSide are the methods of one of the two stacks.
type filterSide struct {
	add, push               func(InfoQueueFilter)
	empty, same, pop, clear func()
	get                     func() InfoQueueFilter
	size                    func() uint32
}

func TestFilterStacks(t *testing.T) {
	q := newQueue()
	for _, s := range []filterSide{
		{q.AddStorageFilterEntries, q.PushStorageFilter, q.PushEmptyStorageFilter, q.PushCopyOfStorageFilter, q.PopStorageFilter,
			q.ClearStorageFilter, q.StorageFilter, q.StorageFilterStackSize},
		{q.AddRetrievalFilterEntries, q.PushRetrievalFilter, q.PushEmptyRetrievalFilter, q.PushCopyOfRetrievalFilter, q.PopRetrievalFilter,
			q.ClearRetrievalFilter, q.RetrievalFilter, q.RetrievalFilterStackSize},
	} {
		ids := []MessageID{1}
		one := InfoQueueFilter{DenyList: InfoQueueFilterDesc{IDs: ids}}
		assert.Zero(t, s.size())
		s.pop()
		s.clear()
		s.add(one)
		ids[0] = 9
		assert.EqualValues(t, 1, s.size(), "added to a new filter")
		assert.Equal(t, []MessageID{1}, s.get().DenyList.IDs, "a copy")
		s.same()
		s.add(InfoQueueFilter{DenyList: InfoQueueFilterDesc{IDs: []MessageID{2}}})
		assert.Equal(t, []MessageID{1, 2}, s.get().DenyList.IDs)
		s.empty()
		assert.Equal(t, InfoQueueFilter{}, s.get(), "only the top filter applies")
		s.pop()
		s.clear()
		assert.Equal(t, InfoQueueFilter{}, s.get())
		assert.EqualValues(t, 2, s.size(), "a cleared filter stays on the stack")
		s.pop()
		assert.Equal(t, []MessageID{1}, s.get().DenyList.IDs)
		s.pop()
		assert.Zero(t, s.size())
	}
}

func TestBreaks(t *testing.T) {
	var broke []string
	q := new(InfoQueue)
	q.init(&Config{Break: func(m Message) { broke = append(broke, m.Description) }})
	fill(q)
	assert.Empty(t, broke, "nothing is set")
	q.SetBreakOnCategory(1, true)
	q.SetBreakOnSeverity(1, true)
	q.SetBreakOnID(1, true)
	assert.True(t, q.BreakOnCategory(1) && q.BreakOnSeverity(1) && q.BreakOnID(1))
	assert.False(t, q.BreakOnCategory(0) || q.BreakOnSeverity(0) || q.BreakOnID(0))
	fill(q)
	assert.Equal(t, "001 010 011 100 101 110 111", strings.Join(broke, " "))
	q.SetBreakOnSeverity(1, false)
	q.SetBreakOnID(1, false)
	q.PushStorageFilter(InfoQueueFilter{DenyList: InfoQueueFilterDesc{IDs: []MessageID{0}}})
	broke = nil
	fill(q)
	assert.Equal(t, "101 111", strings.Join(broke, " "), "a denied message does not break")
	q = newQueue()
	q.SetBreakOnID(1, true)
	fill(q)
}

func TestDebugOutput(t *testing.T) {
	var out []string
	q := new(InfoQueue)
	q.init(&Config{DebugOutput: func(m Message) { out = append(out, m.Description) }})
	q.AddApplicationMessage(SeverityInfo, "a")
	q.SetMuteDebugOutput(true)
	assert.True(t, q.MuteDebugOutput())
	q.AddApplicationMessage(SeverityInfo, "b")
	q.SetMuteDebugOutput(false)
	q.AddApplicationMessage(SeverityInfo, "c")
	assert.Equal(t, []string{"a", "c"}, out)
	assert.EqualValues(t, 3, q.NumStoredMessages())
}

// TestBreakOutsideOfTheDriver: a break may panic. It happens when the function
// of the driver has ended, so the device can still be used and closed.
func TestBreakOutsideOfTheDriver(t *testing.T) {
	for _, caps := range []uint32{0, newFakeDriver().caps} { // serialised, free-threaded
		b := newBench(t, func(f *fakeDriver, c *Config) {
			f.caps = caps
			c.Break = func(m Message) { panic(m.Description) }
		})
		b.dev.InfoQueue().SetBreakOnSeverity(SeverityError, true)
		b.drv.fail["Flush"] = ddi.EFail
		assert.PanicsWithValue(t, "GetDeviceRemovedReason: DXGI_ERROR_DRIVER_INTERNAL_ERROR: "+
			"pfnFlush reported E_FAIL, want D3DDDIERR_DEVICEREMOVED", b.ctx.Flush)
		assert.Panics(t, b.ctx.Flush)
		b.dev.InfoQueue().SetBreakOnSeverity(SeverityError, false)
		b.ctx.Flush()
	}
}

// TestQueueOfManyThreads: contexts that record at the same time keep their order.
func TestQueueOfManyThreads(t *testing.T) {
	b := newBench(t)
	b.dev.InfoQueue().SetMessageCountLimit(NoMessageCountLimit)
	const calls = 200
	var all sync.WaitGroup
	for n := range 4 {
		dc := b.deferred()
		all.Go(func() {
			for i := range calls {
				dc.IASetPrimitiveTopology(Topology(1000*n + 100 + i))
			}
		})
	}
	all.Wait()
	next := [4]int{}
	for i := range b.dev.InfoQueue().NumStoredMessages() {
		m, err := b.dev.InfoQueue().GetMessage(i)
		require.NoError(t, err)
		var v int
		_, err = fmt.Sscanf(m.Description, "IASetPrimitiveTopology: dropped: Topology is %d,", &v)
		require.NoError(t, err)
		assert.Equal(t, 100+next[v/1000], v%1000)
		next[v/1000]++
	}
	assert.Equal(t, [4]int{calls, calls, calls, calls}, next)
}

// TestMessageIDs compares the IDs with the numbers of d3d11sdklayers.h.
func TestMessageIDs(t *testing.T) {
	f, err := os.Open("testdata/message_ids.txt")
	require.NoError(t, err)
	defer f.Close()
	documented := map[MessageID]string{}
	for s := bufio.NewScanner(f); s.Scan(); {
		var id MessageID
		var name string
		if _, err := fmt.Sscan(s.Text(), &id, &name); err == nil {
			documented[id] = name
		}
	}
	require.NotEmpty(t, documented)
	for id, name := range messageNames {
		if id >= 0x400000 {
			assert.NotContains(t, documented, id, name)
			continue
		}
		assert.Equal(t, documented[id], name)
	}
	assert.Equal(t, "CREATEBUFFER_INVALIDDIMENSIONS", MessageCreateBufferInvalidDimensions.String())
	assert.Equal(t, "MessageID(5)", MessageID(5).String())
}

// TestMessagesCostNothingWithoutMistakes: a valid call allocates nothing.
func TestMessagesCostNothingWithoutMistakes(t *testing.T) {
	dev, ctx, dst, src := openIdle(t)
	box := &Box{Right: 4, Bottom: 1, Back: 1}
	dev.immediate.funcs.ResourceCopyRegion = func(*ddi.Thread, umddi.HDevice, umddi.HResource, uint32, uint32, uint32, uint32, umddi.HResource, uint32, *umddi.Box) {
	}
	dev.immediate.funcs.IaSetTopology = func(*ddi.Thread, umddi.HDevice, umddi.Topology) {}
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		ctx.CopyResource(dst, src)
		ctx.CopySubresourceRegion(dst, 0, 0, 0, 0, src, 0, box)
		ctx.IASetPrimitiveTopology(TopologyLineList)
	}))
	assert.Zero(t, dev.InfoQueue().NumMessagesAllowedByStorageFilter())
}
