package suite

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// A difference of bytes is one message with its place, however many bytes differ.
func TestSame(t *testing.T) {
	var r recording
	same(&r, count(0, 20), count(0, 20), "equal")
	near(&r, []byte{10, 20}, []byte{11, 19}, 1, "close")
	assert.Empty(t, r.messages)
	got := count(0, 20)
	got[3], got[17] = 9, 9
	same(&r, count(0, 20), got, "the copy of %d bytes", 20)
	near(&r, []byte{10, 20}, []byte{11, 18}, 1, "close")
	same(&r, count(0, 2), nil, "all")
	assert.Equal(t, []string{
		"Error:      \t2 of 20 bytes differ, the first at 3: got 09 04 05 06 07 08 09 0a …, want 03 04 05 06 07 08 09 0a …\nMessages:   \tthe copy of 20 bytes",
		"Error:      \t1 of 2 bytes differ, the first at 1: got 12, want 14, with a tolerance of 1\nMessages:   \tclose",
		"Error:      \tgot 0 bytes, want 2\nMessages:   \tall",
	}, r.messages)
}
