package record

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/testbench/eventlog"
)

// The timeline is written at the end, with the log or without it, and no other file is left.
func TestTimeline(t *testing.T) {
	for _, logs := range []bool{true, false} {
		dir := t.TempDir()
		t.Setenv("TMPDIR", dir)
		r := &Recorder{Program: "mine", Tracks: filepath.Join(dir, "t.json")}
		want := []string{"t.json"}
		if logs {
			r.Record = filepath.Join(dir, "r.log")
			want = []string{"r.log", "t.json"}
		}
		begin := r.Events()
		require.NotNil(t, begin)
		sink, err := begin(eventlog.Header{Hz: 1e9})
		require.NoError(t, err)
		sink.Add(eventlog.New(eventlog.Message, 1))
		again, err := begin(eventlog.Header{})
		require.NoError(t, err)
		assert.Same(t, sink, again, "a second board")
		require.NoError(t, r.Commit(nil))
		require.NoError(t, r.Commit(nil), "again")

		text, err := os.ReadFile(r.Tracks)
		require.NoError(t, err)
		assert.True(t, json.Valid(text))
		assert.Contains(t, string(text), `"program":"mine"`)
		assert.Contains(t, string(text), `"name":"message 1"`)
		files, err := os.ReadDir(dir)
		require.NoError(t, err)
		var got []string
		for _, f := range files {
			got = append(got, f.Name())
		}
		assert.Equal(t, want, got)
	}
	assert.Nil(t, (&Recorder{}).Events())
}
