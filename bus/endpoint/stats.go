package endpoint

// Stats counts events of an endpoint since New. Bytes are payload, without
// headers.
type Stats struct {
	HostReads    uint64 // packets: memory and configuration reads
	HostWrites   uint64 // packets: memory and configuration writes
	DeviceReads  uint64 // requests of the device
	DeviceWrites uint64 // requests of the device, messages included
	BytesDown    uint64 // host writes, and completions of device reads
	BytesUp      uint64 // device writes, and completions of host reads
	Malformed    uint64 // packets that break a rule, dropped
	Unsupported  uint64 // requests and messages refused
	Poisoned     uint64 // requests and completions refused for poisoned data
	Unexpected   uint64 // completions without a request, dropped
	Failed       uint64 // device reads that the host refused or aborted
	Timeouts     uint64 // device reads without a completion
	Aborted      uint64 // device reads ended by a new session
	Resets       uint64
}

// Stats returns the counts so far.
func (e *Endpoint) Stats() Stats { return e.stats }
