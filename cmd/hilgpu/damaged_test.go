package main

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/boards"
	"github.com/hilgpu/hilgpu/boards/serve"
	"github.com/hilgpu/hilgpu/rtl/abi/regmap"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
	"github.com/hilgpu/hilgpu/testbench/command/exit"
	"github.com/hilgpu/hilgpu/testbench/relay"
)

// TestDamagedBoard: a path that never passes a long frame unchanged, as it loses one
// byte in each 67, is a bad link and no hung GPU. The error has the counters of the link.
func TestDamagedBoard(t *testing.T) {
	tooltest.Long(t)
	dev, err := boards.Device("emu")
	require.NoError(t, err)
	b, err := serve.New(dev, serve.Options{MapHash: regmap.Hash(), Silence: 20 * time.Second})
	require.NoError(t, err)
	l, err := serve.Listen("tcp:127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		l.Serve(ctx, b) // ends with ctx
	}()
	defer func() { cancel(); <-ended }()
	r, err := relay.TCP(l.Selector(), relay.Plan{LoseByte: 67})
	require.NoError(t, err)
	defer r.Close()
	patient := "?timeout=3000&silence=20000" // the machine may be busy
	code, _, stderr := hilgpu("run", "compose", "--size", "64x48", "--board", r.Selector()+patient)
	assert.Equal(t, exit.Link, code, stderr)
	assert.Regexp(t, `the link damages or loses frames: .*\d+ of \d+ frames sent were replays, \d+ of \d+ received were damaged`, stderr)
	assert.NotContains(t, stderr, "time-out")
}
