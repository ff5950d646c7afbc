package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/boards"
	"github.com/hilgpu/hilgpu/boards/serve"
	"github.com/hilgpu/hilgpu/rtl/abi/regmap"
	"github.com/hilgpu/hilgpu/testbench/command"
	"github.com/hilgpu/hilgpu/testbench/command/exit"
	"github.com/hilgpu/hilgpu/testbench/command/record"
)

// A board that is lost during a run is a link failure, early and late in the
// run.
func TestLostBoard(t *testing.T) {
	l, err := serve.ListenTCP("127.0.0.1:0")
	require.NoError(t, err)
	dev, err := boards.Device("emu")
	require.NoError(t, err)
	seen := 0
	ctx, cancel := context.WithCancel(t.Context())
	b, err := serve.New(dev, serve.Options{MapHash: regmap.Hash(), Observer: func(bool, time.Duration, []byte) {
		if seen++; seen == 400 { // the GPU is working
			cancel()
		}
	}})
	require.NoError(t, err)
	ended := make(chan error, 1)
	go func() { ended <- l.Serve(ctx, b) }()
	var out, errs bytes.Buffer
	assert.Equal(t, exit.Link, run([]string{"run", "compose", "--board", l.Selector()}, &out, &errs), errs.String())
	assert.Contains(t, errs.String(), "link")
	assert.ErrorIs(t, <-ended, context.Canceled)
	assert.GreaterOrEqual(t, seen, 400)
}

// A board lost during the suite ends it: the remaining cases are not run.
func TestTestOnALostBoard(t *testing.T) {
	l, err := serve.ListenTCP("127.0.0.1:0")
	require.NoError(t, err)
	dev, err := boards.Device("emu")
	require.NoError(t, err)
	seen := 0
	ctx, cancel := context.WithCancel(t.Context())
	b, err := serve.New(dev, serve.Options{MapHash: regmap.Hash(), Observer: func(bool, time.Duration, []byte) {
		if seen++; seen == 1000 { // the board was checked and the first case is running
			cancel()
			l.Close()
		}
	}})
	require.NoError(t, err)
	ended := make(chan error, 1)
	go func() { ended <- l.Serve(ctx, b) }()
	code, stdout, stderr := hilgpu("test", "--json", "--filter", "^(copy-formats|present|clears)$", "--board", l.Selector())
	assert.Equal(t, exit.Link, code, stderr)
	<-ended
	doc := document(t, stdout)
	wantError(t, doc, exit.Link, "link", stderr)
	assert.EqualValues(t, 1, doc["failed"])
	assert.NotZero(t, doc["skipped"])
	assert.Contains(t, stdout, "the board is lost: ")
}

// The packets of a served board are recorded on request.
func TestCaptureOfAServedBoard(t *testing.T) {
	path := filepath.Join(t.TempDir(), "board.pcapng")
	l := &command.Links{Recorder: record.Recorder{Capture: path, Log: io.Discard}}
	t.Run("served", func(t *testing.T) {
		board := servedBoards(t, serveFlags{links: l, listen: []string{"tcp:127.0.0.1:0"}, pace: "free"}, "emu")[0]
		var out, errs bytes.Buffer
		require.Equal(t, exit.OK, run([]string{"reg", "read", "id.magic", "--board", board}, &out, &errs), errs.String())
	})
	require.NoError(t, l.Commit(nil))
	assert.Contains(t, strings.Join(comments(t, path), "\n"), "completion of rd id.magic = 0x47504c48")
}

// The clocks of a board at the end of a wire are unknown and not made up. Time
// in a capture of several links continues.
func TestFiguresOfAServedBoard(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.pcapng")
	board := servedBoards(t, serveFlags{links: new(command.Links), listen: []string{"tcp:127.0.0.1:0"}, pace: "free"}, "emu")[0]
	var out, errs bytes.Buffer
	require.Equal(t, exit.OK, run([]string{"run", "compose", "--size", "16x16", "--json", "--board", board}, &out, &errs), errs.String())
	var sum map[string]any
	require.NoError(t, json.Unmarshal(out.Bytes(), &sum))
	for _, name := range []string{"cycles", "packets", "bytes_moved", "cycles_per_second"} {
		assert.NotContains(t, sum, name)
	}
	assert.NotZero(t, sum["fences"])
	out.Reset()
	require.Equal(t, exit.OK, run([]string{"run", "compose", "--size", "16x16", "--board", board}, &out, &errs), errs.String())
	assert.NotContains(t, out.String(), "cycles")

	require.Equal(t, exit.OK, run([]string{"test", "--filter", "^(present|clears)$", "--board", board, "--capture", path}, &out, &errs), errs.String())
	last, n := time.Duration(0), 0
	for _, r := range records(t, path) {
		require.GreaterOrEqual(t, r.At, last)
		last, n = r.At, n+1
	}
	assert.Greater(t, n, 100)
}
