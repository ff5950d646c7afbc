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
	Unsupported               // type or message that the root port does not support: UR
	Unexpected                // completion without a request, or for another requester: dropped
	Mismatch                  // completion that does not match its request: fails the request
	Poisoned                  // poisoned data: fails the read or drops the write
	TooLong                   // more data than MaxPayload: dropped; or than the port carries: CA
	TagInUse                  // read with the tag of an outstanding one, or beyond the limit: dropped
	NoMemory                  // address that bus.Host refuses: UR, or drops the write
	reasons
)

// String returns the reason in words.
func (r Reason) String() string {
	if r < reasons {
		return [...]string{"malformed", "unsupported", "unexpected", "mismatch", "poisoned", "too long", "tag in use", "no memory"}[r]
	}
	return fmt.Sprintf("reason %d", uint8(r))
}

// Stats counts the traffic of the root port since New, over all sessions.
type Stats struct {
	Sessions uint64
	TLPs     [2]uint64 // by Dir
	Bytes    [2]uint64 // of packets, without lower layers
	Messages uint64    // writes to the message window
	INTx     uint64    // messages that assert or deassert an INTx wire
	Timeouts uint64    // requests that timed out
	Late     uint64    // late completions of requests that timed out, dropped
	Retries  uint64    // configuration requests repeated because the function was not ready

	Refused [reasons]uint64 // by Reason
	Refusal string          // last refused packet and the reason, or ""
}

// Stats returns the counts so far.
func (r *RootPort) Stats() Stats {
	r.enter()
	defer r.leave()
	return r.stats
}

// refuse counts the last received packet and records why it is refused.
func (r *RootPort) refuse(why Reason, format string, args ...any) {
	r.stats.Refused[why]++
	r.stats.Refusal = fmt.Sprintf("%v: %v: %s", why, &r.in, fmt.Sprintf(format, args...))
}
