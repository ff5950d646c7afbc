package d3d11

import (
	"math"
	"sync"

	"github.com/hilgpu/hilgpu/runtime/ddi"
)

// MessageCategory is D3D11_MESSAGE_CATEGORY.
type MessageCategory uint32

// The categories.
const (
	CategoryApplicationDefined MessageCategory = iota
	CategoryMiscellaneous
	CategoryInitialization
	CategoryCleanup
	CategoryCompilation
	CategoryStateCreation
	CategoryStateSetting
	CategoryStateGetting
	CategoryResourceManipulation
	CategoryExecution
	CategoryShader
)

// MessageSeverity is D3D11_MESSAGE_SEVERITY, the worst first.
type MessageSeverity uint32

// The severities. This runtime uses SeverityError for a call that failed or was
// dropped, and SeverityCorruption for an object that is used after its release.
const (
	SeverityCorruption MessageSeverity = iota
	SeverityError
	SeverityWarning
	SeverityInfo
	SeverityMessage
)

// A Message is D3D11_MESSAGE.
type Message struct {
	Category    MessageCategory
	Severity    MessageSeverity
	ID          MessageID
	Description string // call, result, argument, value and limit, in one line
}

// DefaultMessageCountLimit is D3D11_INFO_QUEUE_DEFAULT_MESSAGE_COUNT_LIMIT.
const DefaultMessageCountLimit = 1024

// An InfoQueue is ID3D11InfoQueue: the messages of a device. Every call that
// fails, and every call without a result that is dropped because it is invalid,
// adds a message that tells why. The answer that a poll is too early, as
// DXGIStillDrawing, is no failure.
//
// Messages of one goroutine are in the order of its calls. All methods may be
// called from any goroutine, and after the device was destroyed. A queue that
// gets no message costs nothing.
//
// Only the filter at the top of each filter stack applies. An empty stack lets
// every message pass.
//
//	Source  learn.microsoft.com, nn-d3d11sdklayers-id3d11infoqueue
type InfoQueue struct {
	onBreak func(Message) // Config.Break
	output  func(Message) // Config.DebugOutput

	storage   filterStack
	retrieval filterStack

	mu         sync.Mutex // guards the fields below
	messages   []Message  // oldest first
	limit      uint64
	discarded  uint64
	allowed    uint64
	denied     uint64
	breakCause breakSettings
	muted      bool
}

// init sets the functions and the limit of a zero queue.
func (q *InfoQueue) init(cfg *Config) {
	q.onBreak, q.output = cfg.Break, cfg.DebugOutput
	q.limit = DefaultMessageCountLimit
}

// InfoQueue returns the messages of the device, always the same object.
func (d *Device) InfoQueue() *InfoQueue { return &d.queue }

// add adds a message, and breaks if the settings ask for it.
func (q *InfoQueue) add(m Message) {
	if q.store(m) {
		q.breakOn(m)
	}
}

// store adds a message. It reports whether the caller must break on it.
func (q *InfoQueue) store(m Message) bool {
	q.mu.Lock()
	if !q.storage.pass(&m) {
		q.denied++
		q.mu.Unlock()
		return false
	}
	q.allowed++
	q.messages = append(q.messages, m)
	q.discard()
	breaks := q.onBreak != nil && q.breakCause.has(&m)
	print := q.output != nil && !q.muted
	q.mu.Unlock()
	if print {
		q.output(m)
	}
	return breaks
}

// discard removes the oldest messages until the limit holds.
func (q *InfoQueue) discard() {
	n := uint64(len(q.messages))
	if n <= q.limit {
		return
	}
	n -= q.limit
	q.discarded += n
	clear(q.messages[:n])
	q.messages = q.messages[n:]
}

// breakOn calls Config.Break.
func (q *InfoQueue) breakOn(m Message) {
	if q.onBreak != nil {
		q.onBreak(m)
	}
}

// AddMessage adds a message.
func (q *InfoQueue) AddMessage(c MessageCategory, s MessageSeverity, id MessageID, text string) {
	q.add(Message{c, s, id, text})
}

// AddApplicationMessage adds a message of the application, with the category
// CategoryApplicationDefined and the ID MessageStringFromApplication.
func (q *InfoQueue) AddApplicationMessage(s MessageSeverity, text string) {
	q.add(Message{CategoryApplicationDefined, s, MessageStringFromApplication, text})
}

// GetMessage returns message i, from 0 for the oldest, of those that pass the
// retrieval filter. The message stays in the queue. If there is no such message,
// the error is EInvalidArg.
func (q *InfoQueue) GetMessage(i uint64) (Message, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	left := i
	for j := range q.messages {
		if !q.retrieval.pass(&q.messages[j]) {
			continue
		}
		if left == 0 {
			return q.messages[j], nil
		}
		left--
	}
	p := problemf(0, "MessageIndex is %d, want less than %d", i, i-left)
	return Message{}, &Error{HRESULT: ddi.EInvalidArg, Call: "GetMessage", Text: p.text}
}

// NumStoredMessages returns the number of messages in the queue.
func (q *InfoQueue) NumStoredMessages() uint64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return uint64(len(q.messages))
}

// NumStoredMessagesAllowedByRetrievalFilter returns the number of messages in
// the queue that pass the retrieval filter.
func (q *InfoQueue) NumStoredMessagesAllowedByRetrievalFilter() uint64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	var n uint64
	for i := range q.messages {
		if q.retrieval.pass(&q.messages[i]) {
			n++
		}
	}
	return n
}

// NumMessagesAllowedByStorageFilter returns the number of messages that passed
// the storage filter so far.
func (q *InfoQueue) NumMessagesAllowedByStorageFilter() uint64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.allowed
}

// NumMessagesDeniedByStorageFilter returns the number of messages that the
// storage filter rejected so far.
func (q *InfoQueue) NumMessagesDeniedByStorageFilter() uint64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.denied
}

// NumMessagesDiscardedByMessageCountLimit returns the number of messages that
// were removed so far because the queue was full.
func (q *InfoQueue) NumMessagesDiscardedByMessageCountLimit() uint64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.discarded
}

// ClearStoredMessages removes all messages. The counts of NumMessages functions
// stay.
func (q *InfoQueue) ClearStoredMessages() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.messages = nil
}

// SetMessageCountLimit sets the largest number of stored messages, at first
// DefaultMessageCountLimit. A new message removes the oldest one from a full
// queue. NoMessageCountLimit means no limit.
func (q *InfoQueue) SetMessageCountLimit(n uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.limit = n
	q.discard()
}

// NoMessageCountLimit is the limit -1 of ID3D11InfoQueue::SetMessageCountLimit.
const NoMessageCountLimit = math.MaxUint64

// MessageCountLimit returns the largest number of stored messages.
func (q *InfoQueue) MessageCountLimit() uint64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.limit
}

// SetMuteDebugOutput turns calls of Config.DebugOutput off or on. At first they
// are on.
func (q *InfoQueue) SetMuteDebugOutput(mute bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.muted = mute
}

// MuteDebugOutput reports whether calls of Config.DebugOutput are off.
func (q *InfoQueue) MuteDebugOutput() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.muted
}
