package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/bus/ether/ethertest"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
	"github.com/hilgpu/hilgpu/testbench/command/exit"
	"github.com/hilgpu/hilgpu/testbench/session"
)

var networkAll = flag.Bool("network.all", false, "TestNetwork runs all of bring-up and of the suite")

// boardProcess makes this test binary run a command line, for startBoard.
const boardProcess = "HILGPU_TEST_BOARD"

// TestBoardProcess is not a test: it is the process of a board that startBoard starts.
func TestBoardProcess(t *testing.T) {
	if args := os.Getenv(boardProcess); args != "" {
		os.Exit(run(strings.Fields(args), os.Stdout, os.Stderr))
	}
}

// startBoard runs board serve in a process in the namespace of the board, until the
// test ends. It returns what the process prints for --board.
func startBoard(t *testing.T, n *ethertest.Net, args string) string {
	t.Helper()
	c := exec.Command(os.Args[0], "-test.run=^TestBoardProcess$")
	c.Env = append(os.Environ(), boardProcess+"=board serve "+args)
	c.Stderr = os.Stderr // part of the output of a test that fails
	out, err := c.StdoutPipe()
	require.NoError(t, err)
	n.Board(t, func() { err = c.Start() })
	require.NoError(t, err)
	t.Cleanup(func() {
		c.Process.Signal(syscall.SIGTERM)
		c.Wait() // ends with the signal
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	_, selector, ok := strings.Cut(strings.TrimSpace(line), " --board ")
	require.True(t, ok, line)
	return strings.Trim(selector, "'")
}

// TestNetwork: in two processes and two network namespaces, the driver stack produces
// the emulator's frame over UDP and Ethernet, with frames of 1500 and 9000 bytes,
// without and with faults of the frames. Bring-up and cases of the suite pass.
func TestNetwork(t *testing.T) {
	tooltest.Long(t)
	ethertest.Run(t, func(t *testing.T, n *ethertest.Net) {
		want := frameOf(t, "emu")
		for i, tt := range []struct{ listen, faults string }{
			{"udp:" + ethertest.BoardIP + ":4000", ""},
			{"eth:" + ethertest.BoardInterface, ""},
			{"udp:" + ethertest.BoardIP + ":4000", "loss=0.03,dup=0.03,flip=0.02,truncate=0.01,reorder=0.02"},
			{"eth:" + ethertest.BoardInterface, "loss=0.03,dup=0.03,flip=0.02,truncate=0.01,reorder=0.02"},
		} {
			for _, mtu := range []int{1500, 9000} {
				t.Run(fmt.Sprintf("%s mtu %d %s", tt.listen[:3], mtu, tt.faults), func(t *testing.T) {
					n.SetMTU(t, mtu)
					args, options := "emu --listen "+tt.listen, fmt.Sprintf("?mtu=%d", mtu)
					if tt.faults != "" {
						args += fmt.Sprintf(" --link-faults %s,seed=%d", tt.faults, i+mtu)
						options += "&timeout=10000"
					}
					board := strings.ReplaceAll(startBoard(t, n, args), "IFACE", ethertest.HostInterface) + options
					assert.Equal(t, want, frameOf(t, board))
					bringup, cases := []string{"bringup", "--board", board}, "^(clears|order-flush)$"
					if *networkAll {
						cases = "."
					} else if tt.faults != "" {
						bringup = append(bringup, "--only", "ident,mem.addr,ring.wrap")
					}
					for _, args := range [][]string{bringup, {"test", "--board", board, "--filter", cases, "--runs", "1"}} {
						var out, errs bytes.Buffer
						assert.Equal(t, exit.OK, run(args, &out, &errs), "%q: %s%s", args, out.String(), errs.String())
					}
				})
			}
		}
	})
}

// frameOf returns the digest of the frame that compose makes on a board.
func frameOf(t *testing.T, board string) string {
	t.Helper()
	var out, errs bytes.Buffer
	require.Equal(t, exit.OK, run([]string{"run", "compose", "--check", "--json", "--size", "64x48", "--board", board}, &out, &errs), errs.String())
	var s session.Summary
	require.NoError(t, json.Unmarshal(out.Bytes(), &s))
	return s.FrameSHA256
}
