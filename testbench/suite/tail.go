package suite

// keepBytes is the approximate number of bytes of a trace or capture that are kept
// for a failed case. A case that polls a dead device produces gigabytes.
const keepBytes = 32 << 20

// headWrites is the number of writes at the start of a trace or capture that
// describe its format.
const headWrites = 2

// A tail keeps the first headWrites writes and the last ones, each complete, and at
// most keepBytes of the latter.
type tail struct {
	heads        int
	head         []byte
	older, newer []byte // each at most half of keepBytes
}

// Write implements io.Writer. It does not fail.
func (t *tail) Write(p []byte) (int, error) {
	switch {
	case t.heads < headWrites:
		t.heads++
		t.head = append(t.head, p...)
		return len(p), nil
	case len(t.newer)+len(p) > keepBytes/2:
		t.older, t.newer = t.newer, t.older[:0]
	}
	t.newer = append(t.newer, p...)
	return len(p), nil
}

// Bytes returns the kept writes in order.
func (t *tail) Bytes() []byte {
	all := make([]byte, 0, len(t.head)+len(t.older)+len(t.newer))
	return append(append(append(all, t.head...), t.older...), t.newer...)
}
