package endpoint

// Quiet reports whether nothing of the host is at the device, and no write of the device is in the middle of
// its data. A copy of the device then answers requests of its own.
func (e *Endpoint) Quiet() bool {
	return !e.target.busy() && e.target.queue.empty() && e.target.used == 0 && e.master.owed == 0
}
