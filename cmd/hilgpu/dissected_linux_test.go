package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
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

	"github.com/hilgpu/hilgpu/bus/ether/ethertest"
	"github.com/hilgpu/hilgpu/bus/tlp"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
	"github.com/hilgpu/hilgpu/testbench/command/exit"
)

// dissectedIn names the directory of TestDissectedCaptures for the process in the
// namespace.
const dissectedIn = "HILGPU_TEST_DISSECTED"

// TestDissectedCaptures: Wireshark with the dissector of docs/wireshark decodes each frame
// of a link and each PCIe packet in the captures of sessions over UDP and raw Ethernet.
func TestDissectedCaptures(t *testing.T) {
	tooltest.Long(t)
	if os.Getenv(dissectedIn) == "" {
		t.Setenv(dissectedIn, t.TempDir())
	}
	dir, inside := os.Getenv(dissectedIn), false
	listens := map[string]string{"udp": "udp:" + ethertest.BoardIP + ":4000", "eth": "eth:" + ethertest.BoardInterface}
	ethertest.Run(t, func(t *testing.T, n *ethertest.Net) {
		inside = true
		for name, listen := range listens {
			board := strings.ReplaceAll(startBoard(t, n, "emu --listen "+listen), "IFACE", ethertest.HostInterface)
			var out, errs bytes.Buffer
			// The frame has more than 512 frames of the link: another dissector might take that number for its own.
			args := []string{"run", "compose", "--check", "--size", "320x240", "--board", board, "--capture", filepath.Join(dir, name+".pcapng")}
			require.Equal(t, exit.OK, run(args, &out, &errs), errs.String())
		}
	})
	if inside {
		return
	}
	for name := range listens {
		t.Run(name, func(t *testing.T) {
			tooltest.Need(t, "tshark")
			path := filepath.Join(dir, name+".pcapng")
			want := decoded(t, path)
			kinds := strings.Join(want, "\n")
			assert.True(t, strings.Contains(kinds, "hilgpu\t") && strings.Contains(kinds, "TLP\t"), "frames of the link and PCIe packets")
			got, infos := dissect(t, dir, path)
			require.Len(t, got, len(want))
			for i := range want {
				require.Equal(t, want[i], got[i], "packet %d: %s", i+1, infos[i])
				require.NotRegexp(t, "malformed|damaged", infos[i], "packet %d", i+1)
			}
			list := strings.Join(infos, "\n")
			for _, part := range []string{"Hello ", "Welcome ", "id.magic = ", "ring of node 0: ", "FENCE"} {
				assert.True(t, strings.Contains(list, part), "%s in the list of packets", part)
			}
		})
	}
}

// dissect returns for each packet of a capture what tshark makes of it, in the form of
// decoded, and its line in the list of packets.
func dissect(t *testing.T, home, path string) (all, infos []string) {
	t.Helper()
	c := exec.Command("tshark", "-X", "lua_script:"+filepath.Join("..", "..", "docs", "wireshark", "hilgpu.lua"), "-r", path, "-T", "fields", "-E", "separator=/t",
		"-e", "_ws.col.Protocol", "-e", "hilgpu_link.check", "-e", "hilgpu.kind", "-e", "hilgpu.len", "-e", "hilgpu.malformed", "-e", "_ws.malformed", "-e", "_ws.col.Info")
	c.Env = append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME="+home)
	var stderr bytes.Buffer
	c.Stderr = &stderr
	out, err := c.Output()
	require.NoError(t, err, stderr.String())
	assert.NotContains(t, stderr.String(), "Lua")
	for line := range strings.Lines(string(out)) {
		cells := strings.SplitN(strings.TrimRight(line, "\n"), "\t", 7)
		require.Len(t, cells, 7, line)
		all, infos = append(all, strings.Join(cells[:6], "\t")), append(infos, cells[6])
	}
	return all, infos
}

// decoded returns for each packet of a capture its protocol, the checks of the frames of a
// datagram, the first byte and the length in dwords of a PCIe packet, and two empty marks
// of malformed packets, as simple decoders read them.
func decoded(t *testing.T, path string) (all []string) {
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
		switch info.AncillaryData[0] {
		case layers.LinkTypeEthernet:
			frame := gopacket.NewPacket(data, layers.LayerTypeEthernet, gopacket.Default).Layer(layers.LayerTypeEthernet).(*layers.Ethernet)
			end := 2 + int(binary.BigEndian.Uint16(frame.Payload))
			require.LessOrEqual(t, end, len(frame.Payload), "the length before a datagram")
			all = append(all, "hilgpu\t"+checks(t, frame.Payload[2:end])+"\t\t\t\t")
		case layers.LinkTypeRaw, layers.LinkTypeIPv4:
			datagram := gopacket.NewPacket(data, layers.LayerTypeIPv4, gopacket.Default).Layer(layers.LayerTypeUDP).(*layers.UDP)
			all = append(all, "hilgpu\t"+checks(t, datagram.Payload)+"\t\t\t\t")
		default:
			var p tlp.Packet
			require.NoError(t, p.Decode(data))
			all = append(all, fmt.Sprintf("TLP\t\t0x%02x\t%d\t\t", data[0], p.Len))
		}
	}
}

// checks returns the last four bytes of each frame of a datagram.
func checks(t *testing.T, datagram []byte) string {
	t.Helper()
	var all []string
	for len(datagram) > 0 {
		end := 2 + int(binary.BigEndian.Uint16(datagram))
		require.LessOrEqual(t, end, len(datagram), "the length of a frame")
		all = append(all, fmt.Sprintf("0x%x", datagram[end-4:end]))
		datagram = datagram[end:]
	}
	return strings.Join(all, ",")
}
