package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
	"github.com/google/gopacket/pcapgo"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/bus/ether"
	"github.com/hilgpu/hilgpu/bus/ether/ethertest"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
	"github.com/hilgpu/hilgpu/testbench/command/exit"
)

// captured names the file of TestEthernetCapture for the process in the namespace.
const captured = "HILGPU_TEST_CAPTURE"

// TestEthernetCapture: the capture of a session over raw Ethernet has the frames of both
// directions with their addresses and the EtherType of a link, as independent decoders
// read them.
func TestEthernetCapture(t *testing.T) {
	tooltest.Long(t)
	if os.Getenv(captured) == "" {
		t.Setenv(captured, filepath.Join(t.TempDir(), "eth.pcapng"))
	}
	path, inside := os.Getenv(captured), false
	ethertest.Run(t, func(t *testing.T, n *ethertest.Net) {
		inside = true
		board := strings.ReplaceAll(startBoard(t, n, "emu?config=small --listen eth:"+ethertest.BoardInterface), "IFACE", ethertest.HostInterface)
		var out, errs bytes.Buffer
		require.Equal(t, exit.OK, run([]string{"board", "probe", board, "--capture", path}, &out, &errs), errs.String())
	})
	if inside {
		return
	}
	want := ethernetFrames(t, path)
	for _, line := range []string{ethertest.HostMAC + "\t" + ethertest.BoardMAC, ethertest.BoardMAC + "\t" + ethertest.HostMAC} {
		assert.Contains(t, want, line, "a direction")
	}
	t.Run("tshark", func(t *testing.T) {
		tooltest.Need(t, "tshark")
		out, err := exec.Command("tshark", "-r", path, "-Y", "eth.type == 0x88b5", "-T", "fields", "-e", "eth.src", "-e", "eth.dst").Output()
		require.NoError(t, err)
		assert.Equal(t, want, strings.Split(strings.TrimSpace(string(out)), "\n"))
	})
}

// ethernetFrames returns the source and the destination of each frame of a capture. All
// frames are those of a link.
func ethernetFrames(t *testing.T, path string) (all []string) {
	t.Helper()
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	r, err := pcapgo.NewNgReader(f, pcapgo.NgReaderOptions{WantMixedLinkType: true})
	require.NoError(t, err)
	for {
		data, info, err := r.ReadPacketData()
		if errors.Is(err, io.EOF) {
			return all
		}
		require.NoError(t, err)
		if info.AncillaryData[0] != layers.LinkTypeEthernet {
			continue
		}
		p := gopacket.NewPacket(data, layers.LayerTypeEthernet, gopacket.Default)
		frame, ok := p.Layer(layers.LayerTypeEthernet).(*layers.Ethernet)
		require.True(t, ok)
		assert.Equal(t, layers.EthernetType(ether.Link), frame.EthernetType)
		require.GreaterOrEqual(t, len(data), 60, "the shortest frame of IEEE 802.3, without its check")
		all = append(all, frame.SrcMAC.String()+"\t"+frame.DstMAC.String())
	}
}
