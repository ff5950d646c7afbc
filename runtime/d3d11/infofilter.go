package d3d11

import "slices"

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

// A filterStack is a stack of filters, of which the last applies.
type filterStack []InfoQueueFilter

func (s filterStack) top() InfoQueueFilter {
	if len(s) == 0 {
		return InfoQueueFilter{}
	}
	return s[len(s)-1]
}

func (s filterStack) pass(m *Message) bool { return len(s) == 0 || s[len(s)-1].pass(m) }

func (s *filterStack) push(f InfoQueueFilter) { *s = append(*s, f.with(InfoQueueFilter{})) }

func (s *filterStack) pop() {
	if n := len(*s); n > 0 {
		*s = (*s)[:n-1]
	}
}

// add adds entries to the top filter, or to a new one if there is none.
func (s *filterStack) add(f InfoQueueFilter) {
	top := s.top().with(f)
	s.pop()
	*s = append(*s, top)
}

// clear removes the entries of the top filter.
func (s filterStack) clear() {
	if n := len(s); n > 0 {
		s[n-1] = InfoQueueFilter{}
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
