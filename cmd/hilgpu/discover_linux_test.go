package main

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/boards"
	"github.com/hilgpu/hilgpu/boards/probe"
	"github.com/hilgpu/hilgpu/bus/bustest"
	"github.com/hilgpu/hilgpu/bus/ether/ethertest"
	"github.com/hilgpu/hilgpu/testbench/command/exit"
)

// TestDiscover: board list finds the boards of a network, and who holds them. Boards of
// another machine's loopback interface are not found, and an interface has one board.
func TestDiscover(t *testing.T) {
	ethertest.Run(t, func(t *testing.T, n *ethertest.Net) {
		found := func() (all networkJSON) {
			var out, errs bytes.Buffer
			require.Equal(t, exit.OK, run([]string{"board", "list", "--discover", "--json"}, &out, &errs), errs.String())
			require.NoError(t, json.Unmarshal(out.Bytes(), &all))
			assert.Empty(t, errs.String())
			return all
		}
		assert.Empty(t, found().Boards)
		startBoard(t, n, "emu emu?config=small emu emu --listen eth:board0 --listen udp:10.0.0.2:4000 --listen tcp:10.0.0.2:4001 --listen udp:127.0.0.1:4002")
		require.Len(t, found().Boards, 3)
		link, _, err := boards.Open("udp:10.0.0.2:4000", bustest.NewHost(4096))
		require.NoError(t, err)
		defer link.Close()
		all := found().Boards
		require.Len(t, all, 3)
		hash := all[0].MapHash
		assert.Regexp(t, "^10.0.0.1:[0-9]+$", all[2].Holder)
		all[2].Holder = "host"
		assert.Equal(t, []probe.Network{
			{Selector: "eth:host0/" + ethertest.BoardMAC, Kind: "emulator", Name: "emu", MapHash: hash},
			{Selector: "tcp:10.0.0.2:4001", Kind: "emulator", Name: "emu", MapHash: hash},
			{Selector: "udp:10.0.0.2:4000", Kind: "emulator", Name: "emu?config=small", MapHash: hash, Holder: "host"},
		}, all)
		var code int
		var stderr string
		n.Board(t, func() { code, _, stderr = hilgpu("board", "serve", "emu", "--listen", "eth:board0") })
		assert.Equal(t, exit.Link, code)
		assert.Contains(t, stderr, "another program uses board0 as a board")
	})
}
