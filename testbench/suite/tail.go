package suite

// keepBytes is about how much of a trace or a capture is kept for a case that fails. A
// case that polls a device which never answers makes gigabytes.
const keepBytes = 32 << 20

// headWrites is how many writes begin a trace or a capture: they say what follows.
const headWrites = 2

// A tail keeps the first writes and the last ones, each whole: no more than keepBytes
// and the first ones in all.
type tail struct {
	heads        int
	head         []byte
	older, newer []byte // at most half of keepBytes each
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

// Bytes returns what is kept, in order.
func (t *tail) Bytes() []byte {
	all := make([]byte, 0, len(t.head)+len(t.older)+len(t.newer))
	return append(append(append(all, t.head...), t.older...), t.newer...)
}
