package boards

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/boards/gateware"
	"github.com/hilgpu/hilgpu/boards/regs"
	"github.com/hilgpu/hilgpu/boards/serve"
	"github.com/hilgpu/hilgpu/rtl/eth/ip"
)

// TestPinsServed: hosts reach gateware at its pins over TCP, one after another, also after
// one that sends nothing. It answers with its own end of the link.
func TestPinsServed(t *testing.T) {
	g, err := OpenGateware("pins:ice40-hx8k")
	require.NoError(t, err)
	l, err := serve.Listen("tcp:127.0.0.1:0")
	require.NoError(t, err)
	raw, err := serve.Raw(l, g.Bridge, g.Rates())
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- raw.Serve(ctx, nil) }()
	want, err := gateware.Find("ice40-hx8k")
	require.NoError(t, err)
	for range 2 {
		link, _, err := Open(raw.Selector()+"?timeout=20000&silence=10000", regs.NoMemory{})
		require.NoError(t, err)
		f, err := regs.Open(link, regs.Options{})
		require.NoError(t, err)
		assert.Equal(t, fmt.Sprintf("%08x", want.Build()), f.Identity().Build)
		assert.EqualValues(t, 4096, f.Identity().VRAMBytes)
		require.NoError(t, f.Close())
		require.NoError(t, link.Close())
	}
	idle, err := net.Dial("tcp", strings.TrimPrefix(raw.Selector(), "tcp:"))
	require.NoError(t, err)
	defer idle.Close()
	time.Sleep(200 * time.Millisecond) // it has the board
	began := time.Now()
	require.Eventually(t, func() bool {
		link, _, err := Open(raw.Selector()+"?timeout=20000&silence=10000", regs.NoMemory{})
		return err == nil && link.Close() == nil
	}, 30*time.Second, 100*time.Millisecond, "a host that sends nothing loses the board")
	assert.Greater(t, time.Since(began), time.Second, "it had the board")
	stop()
	require.ErrorIs(t, <-ended, context.Canceled)
	require.NoError(t, g.Close())
}

// TestPinsServedRefuses: what served gateware cannot have is an error that names it.
func TestPinsServedRefuses(t *testing.T) {
	for selector, says := range map[string]string{
		"pins:none":                                `unknown board: "none"`,
		"pins:ice40-hx8k?timeout=5":                "timeout=5",
		"pins:ice40-hx8k?faults=loss=0.1":          "faults of frames",
		"pins:ice40-hx8k?faults=glitch=2":          `bad option: faults=glitch=2: glitch is "2", want a probability from 0 to 1`,
		"pins:ice40-hx8k?sim=icarus":               "sim=icarus, want go or verilator",
		"pins:ice40-hx8k?faults=bit=0.1,bit=0.1":   "given twice",
		"pins:ice40-hx8k?faults=wobble=0.1":        "bit, glitch, break, unplug, reset",
		"pins:ice40-hx8k?hostclock=900":            "hostclock=900",
		"pins:ice40-hx8k?sim=verilator&source=/-":  "source",
		"pins:ice40-hx8k?faults=fcs=0.1":           "fcs needs a board on Ethernet, want one of bit, glitch, break, unplug, reset",
		"pins:colorlight-i5?faults=bit=0.1":        "bit needs a board with a UART, want one of fcs, runt, oversize, carrier, unplug, reset",
		"pins:colorlight-i5?hostclock=1000":        "a board with a UART",
		"pins:colorlight-i5?mac=ff:ff:ff:ff:ff:ff": "mac=ff:ff:ff:ff:ff:ff, want that of one station",
		"pins:colorlight-i5?ip=127.0.0.1":          "ip=127.0.0.1, want an IPv4 address",
		"pins:colorlight-i5?port=65536":            "port=65536, want a number from 1 to 65535",
		"pins:ice40-hx8k?mac=02:00:00:00:00:09":    "mac=02:00:00:00:00:09, want a board on Ethernet",
	} {
		_, err := OpenGateware(selector)
		require.ErrorContains(t, err, says)
	}
	l, err := serve.Listen("udp:127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	_, err = serve.Raw(l, nil, nil)
	require.ErrorIs(t, err, serve.ErrOptions)
	_, err = serve.ListenFrames("tcp:127.0.0.1:0", ip.Params{}, nil)
	require.ErrorIs(t, err, serve.ErrOptions)
}
