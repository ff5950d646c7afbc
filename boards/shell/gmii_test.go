package shell

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/eth"
	"github.com/hilgpu/hilgpu/rtl/eth/ip"
	"github.com/hilgpu/hilgpu/rtl/verilog"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

var (
	board = ip.Params{MAC: [6]byte{2, 0, 0, 0, 0, 2}, IP: [4]byte{10, 0, 0, 2}, Port: 30000, EtherType: 0x88b5}
	host  = net.HardwareAddr{2, 0, 0, 0, 0, 1}
	addr  = net.IP{10, 0, 0, 1}
)

// echo returns an echo request, or its answer, from the preamble to the FCS.
func echo(answer bool, seq uint16, data []byte) []byte {
	e := &layers.Ethernet{SrcMAC: host, DstMAC: board.MAC[:], EthernetType: layers.EthernetTypeIPv4}
	n := &layers.IPv4{Version: 4, IHL: 5, TTL: 64, Protocol: layers.IPProtocolICMPv4, SrcIP: addr, DstIP: board.IP[:]}
	i := &layers.ICMPv4{TypeCode: layers.CreateICMPv4TypeCode(layers.ICMPv4TypeEchoRequest, 0), Id: 7, Seq: seq}
	if answer {
		e.SrcMAC, e.DstMAC, n.SrcIP, n.DstIP = e.DstMAC, e.SrcMAC, n.DstIP, n.SrcIP
		n.Flags, i.TypeCode = layers.IPv4DontFragment, layers.CreateICMPv4TypeCode(layers.ICMPv4TypeEchoReply, 0)
	}
	b := gopacket.NewSerializeBuffer()
	if err := gopacket.SerializeLayers(b, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}, e, n, i, gopacket.Payload(data)); err != nil {
		panic(err)
	}
	f := append([]byte(nil), b.Bytes()...)
	for len(f) < 60 {
		f = append(f, 0)
	}
	f = binary.LittleEndian.AppendUint32(f, crc32.ChecksumIEEE(f))
	return append([]byte{0x55, 0x55, 0x55, 0x55, 0x55, 0x55, 0x55, 0xd5}, f...)
}

// A line is what a PHY receives, a word for each clock.
type line []uint16

// frame appends a frame, and a gap.
func (l *line) frame(f []byte, gap int) {
	for _, b := range f {
		*l = append(*l, 1<<8|uint16(b))
	}
	*l = append(*l, make([]uint16, gap)...)
}

// station compiles the station at its PHY, in dir.
func station(t *testing.T, dir string) {
	t.Helper()
	d, err := verilog.TranslateModule("../..", eth.New(board), eth.Outputs...)
	require.NoError(t, err)
	var macros strings.Builder
	for _, p := range d.Manifest.Ports {
		if p.Go != "" {
			fmt.Fprintf(&macros, "`define TOP_%s %s\n", strings.ReplaceAll(p.Go, ".", "_"), p.Name)
		}
	}
	files := append(d.Files, verilog.File{Name: "gmii.v", Text: GMII}, verilog.File{Name: "asyncfifo.v", Text: AsyncFIFO},
		verilog.File{Name: "sync.v", Text: skew(t)}, verilog.File{Name: "ports.vh", Text: []byte(macros.String())})
	bench, err := filepath.Abs("testdata/ping.v")
	require.NoError(t, err)
	args := []string{"-g2005", "-s", "ping", "-o", "ping.vvp", "-I", ".", bench}
	for _, f := range files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, f.Name), f.Text, 0o666))
		if strings.HasSuffix(f.Name, ".v") {
			args = append(args, f.Name)
		}
	}
	c := exec.Command("iverilog", args...)
	c.Dir = dir
	text, err := c.CombinedOutput()
	require.NoError(t, err, "%s", text)
}

// A sent is a frame that the PHY has got, after a number of idle clocks.
type sent struct {
	idle  int
	frame []byte
}

// answers returns what the station sends for a line. Periods are in ps.
func answers(t *testing.T, dir string, l line, cps, rps, tps int) []sent {
	t.Helper()
	var words strings.Builder
	for _, v := range l {
		fmt.Fprintf(&words, "%x\n", v)
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "in.hex"), []byte(words.String()), 0o666))
	c := exec.Command("vvp", "-n", "ping.vvp", fmt.Sprintf("+cps=%d", cps), fmt.Sprintf("+rps=%d", rps), fmt.Sprintf("+tps=%d", tps),
		fmt.Sprintf("+items=%d", len(l)), "+clocks=6000")
	c.Dir = dir
	text, err := c.CombinedOutput()
	require.NoError(t, err, "%s", text)
	var out []sent
	for row := range strings.Lines(string(text)) {
		var s sent
		var digits string
		_, err := fmt.Sscanf(row, "%d %s", &s.idle, &digits)
		require.NoError(t, err, row)
		s.frame, err = hex.DecodeString(digits)
		require.NoError(t, err)
		out = append(out, s)
	}
	return out
}

func payload(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i * 7)
	}
	return b
}

// testClocks pings a station in Verilog through the queues of its shell, with clocks of many
// ratios. Each answer is complete, without a pause, after a gap of 12 bytes at least.
func testClocks(t *testing.T, dir string) {
	var l line
	var want [][]byte
	for i, n := range []int{56, 0, 1472, 1, 200} {
		l.frame(echo(false, uint16(i), payload(n)), 12+2000*(i/3))
		want = append(want, echo(true, uint16(i), payload(n)))
	}
	for _, tt := range []struct {
		name          string
		cps, rps, tps int
	}{
		{"125 MHz", 8000, 8001, 7999},
		{"150 MHz", 6667, 8000, 8001},
		{"100 MHz", 10000, 8000, 8000},
		{"25 MHz, and a PHY of 100 Mb/s", 40000, 80000, 80003},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := answers(t, dir, l, tt.cps, tt.rps, tt.tps)
			require.Len(t, got, len(want))
			for i, s := range got {
				require.Equal(t, hex.EncodeToString(want[i]), hex.EncodeToString(s.frame), "frame %d", i)
				assert.GreaterOrEqual(t, s.idle, 12, "frame %d", i)
			}
		})
	}
}

// testSlowStation: a station of a fifth of the rate loses frames that come without pauses, and
// answers those that it can. It never answers a part of one.
func testSlowStation(t *testing.T, dir string) {
	var l line
	want := map[string]bool{}
	for i := range 12 {
		l.frame(echo(false, uint16(i), payload(1000+i)), 12)
		want[string(echo(true, uint16(i), payload(1000+i)))] = true
	}
	l.frame(nil, 15000)
	l.frame(echo(false, 99, payload(9)), 12)
	got := answers(t, dir, l, 40000, 8000, 8000)
	require.Greater(t, len(got), 2)
	require.Less(t, len(got), 13)
	for _, s := range got[:len(got)-1] {
		require.True(t, want[string(s.frame)], "%x", s.frame)
	}
	require.Equal(t, echo(true, 99, payload(9)), got[len(got)-1].frame)
}

// testPHYError: a byte with rx_er makes its frame wrong.
func testPHYError(t *testing.T, dir string) {
	var l line
	l.frame(echo(false, 1, payload(9)), 12)
	l[50] |= 1 << 9
	l.frame(echo(false, 2, payload(9)), 12)
	got := answers(t, dir, l, 8000, 8000, 8000)
	require.Len(t, got, 1)
	require.Equal(t, echo(true, 2, payload(9)), got[0].frame)
}

// TestGMII has a station in Verilog at a PHY.
func TestGMII(t *testing.T) {
	tooltest.Need(t, "iverilog", "vvp")
	dir := t.TempDir()
	station(t, dir)
	t.Run("clocks", func(t *testing.T) { testClocks(t, dir) })
	t.Run("slow station", func(t *testing.T) { testSlowStation(t, dir) })
	t.Run("error of the PHY", func(t *testing.T) { testPHYError(t, dir) })
}
