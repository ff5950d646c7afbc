package endpoint

// Stats counts what an endpoint has done since New. Bytes are those of data,
// without headers.
type Stats struct {
	HostReads    uint64 // packets: memory and configuration reads
	HostWrites   uint64 // packets: memory and configuration writes
	DeviceReads  uint64 // requests of the device
	DeviceWrites uint64 // the same, messages included
	BytesDown    uint64 // host writes, and answers to device reads
	BytesUp      uint64 // device writes, and answers to host reads
	Malformed    uint64 // packets that break a rule, dropped
	Unsupported  uint64 // requests and messages refused
	Poisoned     uint64 // requests and completions refused for their data
	Unasked      uint64 // completions nobody asked for, dropped
	Failed       uint64 // device reads that the host refused or aborted
	Timeouts     uint64 // device reads that went unanswered
	Aborted      uint64 // device reads that a new session ended
	Resets       uint64
}

// Stats returns the counts so far.
func (e *Endpoint) Stats() Stats { return e.stats }
