package d3d11

import (
	"slices"
	"sync"
)

// An InfoQueueFilterDesc is D3D11_INFO_QUEUE_FILTER_DESC: kinds of messages.
type InfoQueueFilterDesc struct {
	Categories []MessageCategory
	Severities []MessageSeverity
	IDs        []MessageID
}

// An InfoQueueFilter is D3D11_INFO_QUEUE_FILTER. A message passes if each
// non-empty list of AllowList contains it and no list of DenyList does.
//
//	Source  learn.microsoft.com, ns-d3d10sdklayers-d3d10_info_queue_filter, for AllowList
type InfoQueueFilter struct {
	AllowList InfoQueueFilterDesc
	DenyList  InfoQueueFilterDesc
}

// pass reports whether m passes the filter.
func (f *InfoQueueFilter) pass(m *Message) bool {
	a, d := &f.AllowList, &f.DenyList
	if len(a.Categories) > 0 && !slices.Contains(a.Categories, m.Category) ||
		len(a.Severities) > 0 && !slices.Contains(a.Severities, m.Severity) ||
		len(a.IDs) > 0 && !slices.Contains(a.IDs, m.ID) {
		return false
	}
	return !slices.Contains(d.Categories, m.Category) && !slices.Contains(d.Severities, m.Severity) &&
		!slices.Contains(d.IDs, m.ID)
}

// with returns a desc with the kinds of both. It shares no memory with them.
func (d InfoQueueFilterDesc) with(more InfoQueueFilterDesc) InfoQueueFilterDesc {
	return InfoQueueFilterDesc{
		slices.Concat(d.Categories, more.Categories),
		slices.Concat(d.Severities, more.Severities),
		slices.Concat(d.IDs, more.IDs),
	}
}

// with returns a filter with the entries of both. It shares no memory with them.
func (f InfoQueueFilter) with(more InfoQueueFilter) InfoQueueFilter {
	return InfoQueueFilter{f.AllowList.with(more.AllowList), f.DenyList.with(more.DenyList)}
}

// A filterStack is a stack of filters, of which the last applies. It is safe for
// concurrent use.
type filterStack struct {
	mu  sync.Mutex
	all []InfoQueueFilter
}

// top returns a copy of the current filter.
func (s *filterStack) top() InfoQueueFilter {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.current().with(InfoQueueFilter{})
}

// current returns the current filter. s.mu is held.
func (s *filterStack) current() InfoQueueFilter {
	if n := len(s.all); n > 0 {
		return s.all[n-1]
	}
	return InfoQueueFilter{}
}

// size returns the number of filters.
func (s *filterStack) size() uint32 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return uint32(len(s.all))
}

// pass reports whether the current filter accepts a message.
func (s *filterStack) pass(m *Message) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.all) == 0 || s.all[len(s.all)-1].pass(m)
}

// push pushes a copy of f.
func (s *filterStack) push(f InfoQueueFilter) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, f.with(InfoQueueFilter{}))
}

// pushTop pushes a copy of the current filter.
func (s *filterStack) pushTop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, s.current().with(InfoQueueFilter{}))
}

// pop removes the current filter, if there is one.
func (s *filterStack) pop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = s.all[:max(len(s.all)-1, 0)]
}

// add adds entries to the current filter, or to a new one if there is none.
func (s *filterStack) add(f InfoQueueFilter) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all[:max(len(s.all)-1, 0)], s.current().with(f))
}

// clear removes the entries of the current filter.
func (s *filterStack) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.all); n > 0 {
		s.all[n-1] = InfoQueueFilter{}
	}
}

// breakSettings are the kinds of messages to break on.
type breakSettings struct {
	categories []MessageCategory
	severities []MessageSeverity
	ids        []MessageID
}

func (b *breakSettings) has(m *Message) bool {
	return slices.Contains(b.categories, m.Category) || slices.Contains(b.severities, m.Severity) ||
		slices.Contains(b.ids, m.ID)
}

// include returns all with v, or without v if not on.
func include[T comparable](all []T, v T, on bool) []T {
	i := slices.Index(all, v)
	switch {
	case on && i < 0:
		return append(all, v)
	case !on && i >= 0:
		return slices.Delete(all, i, i+1)
	}
	return all
}
