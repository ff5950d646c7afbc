package eventlog

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The value of a key is the same in an event and in its log, which keeps the numbers of a text
// apart.
func TestValue(t *testing.T) {
	lines := []string{
		`{"seq":7,"name":"pfnCommandListExecute","args":{"h":"context 0x1f","list":"list 12.345"}}`,
		`{"seq":8,"name":"pfnCommandListExecute","args":{"h":"context 0x20","list":"list 0x9.4"}}`,
		`{"seq":9,"name":"pfnDraw11_1","args":{"h":"context 3"}}`,
		`{"list":"none"}`, "words", "12", "",
	}
	want := [][3]string{
		{"pfnCommandListExecute", "context 0x1f", "list 12.345"}, {"pfnCommandListExecute", "context 0x20", "list 0x9.4"},
		{"pfnDraw11_1", "context 3", ""}, {"", "", "none"}, {}, {}, {},
	}
	var log bytes.Buffer
	w, err := NewWriter(&log, Header{})
	require.NoError(t, err)
	values := func(e Event) [3]string { return [3]string{e.Value("name"), e.Value("h"), e.Value("list")} }
	for i, line := range lines {
		e := New(DDI).WithText(line)
		assert.Equal(t, want[i], values(e), line)
		w.Add(e)
	}
	require.NoError(t, w.Flush())
	l, err := NewReader(&log)
	require.NoError(t, err)
	for i, line := range lines {
		var e Event
		require.NoError(t, l.Next(&e))
		assert.Equal(t, line, e.Text())
		assert.Equal(t, want[i], values(e), line)
	}
}
