package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/bus/nettlp"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
	"github.com/hilgpu/hilgpu/testbench/command"
	"github.com/hilgpu/hilgpu/testbench/command/exit"
	"github.com/hilgpu/hilgpu/testbench/session"
)

// notice is the first line of a command that uses NetTLP.
const notice = "hilgpu: " + nettlp.Notice + "\n"

// The driver stack produces the emulator's frame over NetTLP, and cases of the suite pass.
// Each command says once what cannot be known. A capture has the packets of the wire.
func TestNetTLPBoard(t *testing.T) {
	tooltest.Long(t)
	board := servedBoards(t, serveFlags{links: new(command.Links), listen: []string{"nettlp:127.0.20.1?local=127.0.20.2"}, pace: "free"}, "emu")[0]
	require.Equal(t, "nettlp:127.0.20.2", board)
	board += "?local=127.0.20.1"
	frame := func(board string, more ...string) (sum, errs string) {
		var out, text bytes.Buffer
		args := append([]string{"run", "compose", "--check", "--json", "--size", "64x48", "--board", board}, more...)
		require.Equal(t, exit.OK, run(args, &out, &text), text.String())
		var s session.Summary
		require.NoError(t, json.Unmarshal(out.Bytes(), &s))
		return s.FrameSHA256, text.String()
	}
	want, _ := frame("emu")
	file := filepath.Join(t.TempDir(), "wire.pcapng")
	for range 3 { // a device keeps its state from one host to the next
		got, errs := frame(board, "--capture", file)
		assert.Equal(t, want, got)
		assert.Equal(t, notice, errs)
	}
	info, err := os.Stat(file)
	require.NoError(t, err)
	assert.Greater(t, info.Size(), int64(10_000))
	var out, errs bytes.Buffer
	assert.Equal(t, exit.OK, run([]string{"test", "--board", board, "--filter", "^(clears|copy-formats|order-flush|order-full)$"}, &out, &errs), out.String())
	assert.Equal(t, notice, errs.String())

	// NetTLP does not carry the function mask, as docs/nettlp.md says. All else is right.
	out.Reset()
	assert.Equal(t, exit.Check, run([]string{"bringup", "--board", board}, &out, &bytes.Buffer{}))
	assert.Contains(t, out.String(), "1 failed, 18 passed, 5 not run")
	assert.Regexp(t, "(?m)^irq.message .* FAIL", out.String())
}

// board serve begins with what cannot be known, and refuses flags that have no meaning.
func TestServeNetTLP(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	r, w := io.Pipe()
	var log bytes.Buffer
	ended := make(chan error, 1)
	go func() {
		ended <- runServe(ctx, w, &log, serveFlags{links: new(command.Links), listen: []string{"nettlp:127.0.20.3?local=127.0.20.4"}, pace: "free"}, []string{"emu"})
	}()
	line := make([]byte, 64)
	n, err := r.Read(line)
	require.NoError(t, err)
	assert.Equal(t, "emu --board nettlp:127.0.20.4\n", string(line[:n]))
	cancel()
	require.NoError(t, <-ended)
	assert.True(t, strings.HasPrefix(log.String(), notice), log.String())
	assert.NotContains(t, log.String(), "--token-file")

	token := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(token, []byte("0123456789abcdef"), 0o600))
	for _, tt := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"nettlp:127.0.20.3", "--token-file", token}, exit.Usage, "NetTLP has no --token-file, --baud, --silence or --link-faults"},
		{[]string{"nettlp:127.0.20.3", "--link-faults", "loss=0.1"}, exit.Usage, "NetTLP has no"},
		{[]string{"nettlp:127.0.20.3", "--baud", "9600"}, exit.Usage, "NetTLP has no"},
		{[]string{"nettlp:127.0.20.3", "--silence", "1000"}, exit.Usage, "NetTLP has no"},
		{[]string{"nettlp:127.0.20.3?bar=0x60000000"}, exit.Usage, "bar=ADDRESS&id=BB:DD.F"},
		{[]string{"nettlp:127.0.20.3?id=01:00.0&bar=0x60000001"}, exit.Usage, "want a multiple of 0x10000000"},
		{[]string{"nettlp:127.0.20.3?id=01:00.1&bar=0x60000000"}, exit.Usage, "bar=ADDRESS&id=BB:DD.F"},
		{[]string{"nettlp:127.0.20.3?local=192.0.2.77"}, exit.Usage, "this machine does not have the address"},
	} {
		var out, errs bytes.Buffer
		assert.Equal(t, tt.code, run(append([]string{"board", "serve", "emu", "--listen"}, tt.args...), &out, &errs), tt.args)
		assert.Contains(t, errs.String(), tt.says)
		assert.Equal(t, 1, strings.Count(errs.String(), "\n"), errs.String())
	}

	// Without a device the link is at fault.
	var out, errs bytes.Buffer
	assert.Equal(t, exit.Link, run([]string{"run", "compose", "--board", "nettlp:127.0.20.5?local=127.0.20.6"}, &out, &errs))
	assert.Contains(t, errs.String(), "no device at the address 127.0.20.5: start the device, or check the address")
}
