package main

import (
	"bytes"
	"flag"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/bus/ether/ethertest"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
	"github.com/hilgpu/hilgpu/testbench/command/exit"
)

var (
	gatewareSim   = flag.String("gateware.sim", "go", "simulation of TestGateware: go or verilator")
	gatewareWhole = flag.Bool("gateware.whole", false, "TestGateware runs all stages of bring-up and the whole suite")
)

// TestGateware: gateware in a process is a station of a network. In another network
// namespace, the driver stack composes a frame through it over raw Ethernet and over UDP, and
// stages of bring-up and cases of the suite pass. It has the addresses of its selector, and a probe prints them.
func TestGateware(t *testing.T) {
	tooltest.Long(t)
	ethertest.Run(t, func(t *testing.T, n *ethertest.Net) {
		raw := startBoard(t, n, "pins:colorlight-i5?source=../..&mac=02:00:00:00:07:09&ip=10.0.0.9&sim="+*gatewareSim+" --listen eth:"+ethertest.BoardInterface)
		raw = strings.ReplaceAll(raw, "IFACE", ethertest.HostInterface)
		if *gatewareWhole {
			for _, args := range [][]string{{"bringup", "--board", raw}, {"test", "--board", raw}} {
				var out, errs bytes.Buffer
				assert.Equal(t, exit.OK, run(args, &out, &errs), "%q: %s%s", args, out.String(), errs.String())
				t.Logf("%q: %s", args, out.String())
			}
			return
		}
		for _, board := range []string{raw, "udp:10.0.0.9:4000?timeout=10000", "udp:10.0.0.9:4000?timeout=10000&mtu=576"} {
			for _, args := range [][]string{
				{"run", "compose", "--check", "--size", "24x24", "--board", board},
				{"bringup", "--only", "link,ident,config,regs", "--board", board},
			} {
				var out, errs bytes.Buffer
				require.Equal(t, exit.OK, run(args, &out, &errs), "%q: %s%s", args, out.String(), errs.String())
			}
		}
		for _, board := range []string{raw, "udp:10.0.0.9:4000?timeout=10000"} {
			var out, errs bytes.Buffer
			assert.Equal(t, exit.OK, run([]string{"test", "--filter", "^(clears|present)$", "--board", board}, &out, &errs), "%s%s", out.String(), errs.String())
			assert.Contains(t, out.String(), "2 passed, 0 failed, 0 skipped")
		}
		for _, board := range []string{raw, "udp:10.0.0.9:4000"} {
			var out, errs bytes.Buffer
			assert.Equal(t, exit.OK, run([]string{"board", "probe", board}, &out, &errs), errs.String())
			assert.Contains(t, out.String(), "(colorlight-i5), 1 nodes, 32 KiB VRAM")
			assert.Contains(t, out.String(), "MAC 02:00:00:00:07:09, IP 10.0.0.9, port 4000\n")
		}
	})
}
