package d3d11

import "slices"

// AddStorageFilterEntries adds the entries of f to the storage filter, the top one of its
// stack. If the stack is empty, it pushes a filter. The storage filter rejects messages before they are stored.
func (q *InfoQueue) AddStorageFilterEntries(f InfoQueueFilter) { q.storage.add(f) }

// PushStorageFilter pushes a copy of f onto the stack of storage filters.
func (q *InfoQueue) PushStorageFilter(f InfoQueueFilter) { q.storage.push(f) }

// PushEmptyStorageFilter pushes a storage filter that accepts every message.
func (q *InfoQueue) PushEmptyStorageFilter() { q.PushStorageFilter(InfoQueueFilter{}) }

// PushCopyOfStorageFilter pushes a copy of the current storage filter.
func (q *InfoQueue) PushCopyOfStorageFilter() { q.storage.pushTop() }

// PopStorageFilter removes the top storage filter. It does nothing if the stack is
// empty.
func (q *InfoQueue) PopStorageFilter() { q.storage.pop() }

// ClearStorageFilter removes all entries of the top storage filter.
func (q *InfoQueue) ClearStorageFilter() { q.storage.clear() }

// StorageFilter returns a copy of the current storage filter.
func (q *InfoQueue) StorageFilter() InfoQueueFilter { return q.storage.top() }

// StorageFilterStackSize returns the number of storage filters.
func (q *InfoQueue) StorageFilterStackSize() uint32 { return q.storage.size() }

// AddRetrievalFilterEntries adds the entries of f to the retrieval filter, the top one of its
// stack. If the stack is empty, it pushes a filter. The retrieval filter hides stored messages from GetMessage.
func (q *InfoQueue) AddRetrievalFilterEntries(f InfoQueueFilter) { q.retrieval.add(f) }

// PushRetrievalFilter pushes a copy of f onto the stack of retrieval filters.
func (q *InfoQueue) PushRetrievalFilter(f InfoQueueFilter) { q.retrieval.push(f) }

// PushEmptyRetrievalFilter pushes a retrieval filter that accepts every message.
func (q *InfoQueue) PushEmptyRetrievalFilter() { q.PushRetrievalFilter(InfoQueueFilter{}) }

// PushCopyOfRetrievalFilter pushes a copy of the current retrieval filter.
func (q *InfoQueue) PushCopyOfRetrievalFilter() { q.retrieval.pushTop() }

// PopRetrievalFilter removes the top retrieval filter. It does nothing if the stack is
// empty.
func (q *InfoQueue) PopRetrievalFilter() { q.retrieval.pop() }

// ClearRetrievalFilter removes all entries of the top retrieval filter.
func (q *InfoQueue) ClearRetrievalFilter() { q.retrieval.clear() }

// RetrievalFilter returns a copy of the current retrieval filter.
func (q *InfoQueue) RetrievalFilter() InfoQueueFilter { return q.retrieval.top() }

// RetrievalFilterStackSize returns the number of retrieval filters.
func (q *InfoQueue) RetrievalFilterStackSize() uint32 { return q.retrieval.size() }

// SetBreakOnCategory makes each message of a category that passes the storage filter call
// Config.Break, or not. Without Config.Break it has no effect.
func (q *InfoQueue) SetBreakOnCategory(v MessageCategory, on bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.breakCause.categories = include(q.breakCause.categories, v, on)
}

// BreakOnCategory reports the setting of SetBreakOnCategory.
func (q *InfoQueue) BreakOnCategory(v MessageCategory) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return slices.Contains(q.breakCause.categories, v)
}

// SetBreakOnSeverity makes each message of a severity that passes the storage filter call
// Config.Break, or not. Without Config.Break it has no effect.
func (q *InfoQueue) SetBreakOnSeverity(v MessageSeverity, on bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.breakCause.severities = include(q.breakCause.severities, v, on)
}

// BreakOnSeverity reports the setting of SetBreakOnSeverity.
func (q *InfoQueue) BreakOnSeverity(v MessageSeverity) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return slices.Contains(q.breakCause.severities, v)
}

// SetBreakOnID makes each message of an ID that passes the storage filter call
// Config.Break, or not. Without Config.Break it has no effect.
func (q *InfoQueue) SetBreakOnID(v MessageID, on bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.breakCause.ids = include(q.breakCause.ids, v, on)
}

// BreakOnID reports the setting of SetBreakOnID.
func (q *InfoQueue) BreakOnID(v MessageID) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return slices.Contains(q.breakCause.ids, v)
}
