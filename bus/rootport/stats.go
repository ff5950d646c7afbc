package rootport

import "fmt"

// Dir is the direction of a packet.
type Dir uint8

// The directions.
const (
	Down Dir = iota // host to device
	Up
)

// String returns down or up.
func (d Dir) String() string { return [...]string{"down", "up"}[min(d, Up)] }

// A Reason is why a packet of the device was refused.
type Reason uint8

// The reasons.
const (
	Malformed   Reason = iota // breaks the rules of its type: dropped
	Unsupported               // a type or message that the root port has not: UR
	Unexpected                // a completion that nothing waits for, or of another requester: dropped
	Mismatch                  // a completion that does not fit its request: fails it
	Poisoned                  // says that its data is damaged: fails the read, drops the write
	TooLong                   // more data than MaxPayload: dropped
	TagInUse                  // a read with the tag of one that is not answered yet, or one too many: dropped
	NoMemory                  // an address that bus.Host refuses: UR, drops the write
	reasons
)

// String returns the reason in words.
func (r Reason) String() string {
	if r < reasons {
		return [...]string{"malformed", "unsupported", "unexpected", "mismatch", "poisoned", "too long", "tag in use", "no memory"}[r]
	}
	return fmt.Sprintf("reason %d", uint8(r))
}

// Stats counts what crossed the root port since New, over all sessions.
type Stats struct {
	Sessions uint64
	TLPs     [2]uint64 // by Dir
	Bytes    [2]uint64 // of packets, without the layers below
	Messages uint64    // writes to the message window
	INTx     uint64    // messages that assert or deassert an INTx wire
	Timeouts uint64    // requests that were not answered in time
	Late     uint64    // completions of requests that had been given up: dropped
	Retries  uint64    // configuration requests sent again, since the function was not ready

	Refused [reasons]uint64 // by Reason
	Refusal string          // the last refused packet and why, or ""
}

// Stats returns the counts so far.
func (r *RootPort) Stats() Stats {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stats
}

// refuse counts the packet that was received last, and says why it is refused.
func (r *RootPort) refuse(why Reason, format string, args ...any) {
	r.stats.Refused[why]++
	r.stats.Refusal = fmt.Sprintf("%v: %v: %s", why, &r.in, fmt.Sprintf(format, args...))
}
