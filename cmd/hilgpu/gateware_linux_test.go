package main

import (
	"bytes"
	"flag"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/bus/ether/ethertest"
	"github.com/hilgpu/hilgpu/testbench/command/exit"
)

var gatewareSim = flag.String("gateware.sim", "go", "simulation of TestGateware: go or verilator")

// TestGateware: gateware in a process is a station of a network. In another network
// namespace, the driver stack composes a frame through it over raw Ethernet and over UDP, and
// stages of bring-up pass.
func TestGateware(t *testing.T) {
	ethertest.Run(t, func(t *testing.T, n *ethertest.Net) {
		raw := startBoard(t, n, "pins:colorlight-i5?source=../..&sim="+*gatewareSim+" --listen eth:"+ethertest.BoardInterface)
		raw = strings.ReplaceAll(raw, "IFACE", ethertest.HostInterface)
		for _, board := range []string{raw, "udp:10.0.0.5:4000"} {
			for _, args := range [][]string{
				{"run", "compose", "--check", "--size", "24x24", "--board", board + "?timeout=10000"},
				{"bringup", "--only", "link,ident,config,regs", "--board", board + "?timeout=10000"},
			} {
				var out, errs bytes.Buffer
				require.Equal(t, exit.OK, run(args, &out, &errs), "%q: %s%s", args, out.String(), errs.String())
			}
		}
		var out, errs bytes.Buffer
		assert.Equal(t, exit.OK, run([]string{"board", "probe", raw}, &out, &errs), errs.String())
		assert.Contains(t, out.String(), "(colorlight-i5), 1 nodes, 32 KiB VRAM")
	})
}
