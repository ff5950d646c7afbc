package main

import (
	"bytes"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/bus/capture"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

// A dissected is one packet and tshark's output for it.
type dissected struct {
	dir    capture.Dir
	packet string            // hexadecimal
	info   string            // column Info
	fields map[string]string // by filter name; "" means the field is absent
}

// dissections are packets of PCIe 3.0 §2.2 with their fields decoded by hand.
var dissections = []dissected{
	{capture.Down, "44000001 0000010f 01000010 000000e0", "wr config.bar0 = 0xe0000000",
		map[string]string{"hilgpu.dir": "host->board", "hilgpu.kind": "0x44", "hilgpu.cfg": "0x0010", "hilgpu.register": "config.bar0", "hilgpu.value": "0xe0000000", "hilgpu.completer": "01:00.0", "hilgpu.requester": "00:00.0", "hilgpu.tag": "0x0001"}},
	{capture.Up, "0a000000 01000004 00000100", "completion of wr config.bar0",
		map[string]string{"hilgpu.dir": "board->host", "hilgpu.status": "0", "hilgpu.byte_count": "4", "hilgpu.request": "1"}},
	{capture.Down, "00000001 0000020f e0001004", "rd cp0.status",
		map[string]string{"hilgpu.register": "cp0.status", "hilgpu.bar": "0", "hilgpu.offset": "0x0000000000001004", "hilgpu.addr": "0x00000000e0001004", "hilgpu.first_be": "0x0f", "hilgpu.len": "1", "hilgpu.cp0.status": ""}},
	{capture.Up, "4a000001 01000004 00000204 13000000", "completion of rd cp0.status = 0x13",
		map[string]string{"hilgpu.register": "cp0.status", "hilgpu.cp0.status": "0x00000013", "hilgpu.cp0.status.idle": "1", "hilgpu.cp0.status.fault": "1", "hilgpu.cp0.status.state": "1", "hilgpu.cp0.status.in_ib": "0", "hilgpu.lower": "0x04", "hilgpu.request": "3"}},
	{capture.Down, "40000001 0000000f e0001018 40000000", "wr cp0.wptr = 0x40",
		map[string]string{"hilgpu.register": "cp0.wptr", "hilgpu.cp0.wptr": "0x00000040", "hilgpu.cp1.wptr": ""}},
	{capture.Down, "00000001 0000030f e0001020", "rd cp0.fault_info", nil},
	{capture.Up, "4a000001 01000004 00000320 0c000000", "completion of rd cp0.fault_info = 0xc",
		map[string]string{"hilgpu.cp0.fault_info.cause": "12"}},
	{capture.Down, "40000003 000000ff e0008010 00f0eefe 00000000 01000000", "wr msix.addr_lo1 = 0xfeeef000, msix.addr_hi1 = 0x0, msix.data1 = 0x1",
		map[string]string{"hilgpu.register": "msix.addr_lo1,msix.addr_hi1,msix.data1", "hilgpu.last_be": "0x0f"}},
	{capture.Up, "40000001 0100000f feeef000 01000000", "MSI-X vector 1", map[string]string{"hilgpu.vector": "1"}},
	{capture.Up, "40000001 0100000f feeef000 02000000", "DMA wr 0xfeeef000, 4 bytes", map[string]string{"hilgpu.vector": ""}},
	{capture.Up, "20000002 010002ff 00000001 00000040", "DMA rd 0x100000040, 8 bytes",
		map[string]string{"hilgpu.addr": "0x0000000100000040", "hilgpu.requester": "01:00.0"}},
	{capture.Down, "4a000002 00000008 01000240 0102030405060708", "completion of DMA rd 0x100000040, 8 bytes",
		map[string]string{"hilgpu.data": "0102030405060708", "hilgpu.request": "11"}},
	{capture.Down, "00000002 000005ff e0001008", "rd cp0.ring_base_lo, 8 bytes",
		map[string]string{"hilgpu.register": "cp0.ring_base_lo,cp0.ring_base_hi"}},
	{capture.Up, "4a000001 01000008 00000508 00100000", "completion of rd cp0.ring_base_lo = 0x1000", map[string]string{"hilgpu.request": "13"}},
	{capture.Up, "4a000001 01000004 0000050c 00000080", "completion of rd cp0.ring_base_hi = 0x80000000",
		map[string]string{"hilgpu.request": "13", "hilgpu.register": "cp0.ring_base_hi", "hilgpu.cp0.ring_base_hi": "0x80000000"}},
	{capture.Down, "00000001 0000040f e00000fc", "rd bar0+0xfc", map[string]string{"hilgpu.register": ""}},
	{capture.Up, "0a000000 01008004 0000047c", "completion of rd bar0+0xfc: CA", map[string]string{"hilgpu.status": "4", "hilgpu.failed": "1"}},
	{capture.Up, "4a000001 01000004 00000704 13000000", "CplD without a request", map[string]string{"hilgpu.register": "", "hilgpu.request": ""}},
	// A ring of 64 dwords at 0x1000, from which the node fetches an INDIRECT of
	// the 6 dwords at 0x2000 and a FENCE; a completion splits the first. RPTR
	// gives the start of a packet; one packet wraps around the end of the ring.
	{capture.Down, "40000001 0000000f e0001000 02000000", "wr cp0.ctl = 0x2", nil},
	{capture.Down, "40000003 000000ff e0001008 00100000 00000080 08000000",
		"wr cp0.ring_base_lo = 0x1000, cp0.ring_base_hi = 0x80000000, cp0.ring_size = 0x8", nil},
	{capture.Up, "00000009 010003ff 00001000", "DMA rd 0x1000, 36 bytes, ring of node 0", map[string]string{"hilgpu.packet": ""}},
	{capture.Down, "4a000003 00000024 01000300 03000002 00200000 00000080", "completion of DMA rd 0x1000, 12 bytes, ring of node 0: INDIRECT...",
		map[string]string{"hilgpu.packet": "INDIRECT", "hilgpu.packet.indirect.addr": ""}},
	{capture.Down, "4a000006 00000018 0100030c 06000000 04000010 08300000 00000080 07000000 01000000",
		"completion of DMA rd 0x100c, 24 bytes, ring of node 0: INDIRECT, FENCE",
		map[string]string{
			"hilgpu.packet": "INDIRECT,FENCE", "hilgpu.packet.node": "0,0", "hilgpu.packet.from": "ring,ring", "hilgpu.packet.addr": "0x0000000000001000,0x0000000000001010",
			"hilgpu.packet.indirect.addr": "0x8000000000002000", "hilgpu.packet.indirect.dwords": "6", "hilgpu.packet.indirect.resume": "0",
			"hilgpu.packet.fence.addr": "0x8000000000003008", "hilgpu.packet.fence.id": "7", "hilgpu.packet.fence.irq": "1",
		}},
	{capture.Up, "00000009 010003ff 00001000", "DMA rd 0x1000, 36 bytes, ring of node 0", nil},
	{capture.Down, "4a000009 00000024 01000300 03000002 00200000 00000080 06000000 04000010 08300000 00000080 07000000 01000000",
		"completion of DMA rd 0x1000, 36 bytes, ring of node 0: INDIRECT, FENCE", map[string]string{"hilgpu.packet.indirect.dwords": "6"}},
	{capture.Up, "00000006 010004ff 00002000", "DMA rd 0x2000, 24 bytes, indirect buffer of node 0", nil},
	{capture.Down, "4a000006 00000018 01000400 05000004 00400000 00000080 00010000 00000000 40000000",
		"completion of DMA rd 0x2000, 24 bytes, indirect buffer of node 0: COPY",
		map[string]string{
			"hilgpu.packet.from": "indirect buffer", "hilgpu.packet.copy.src": "0x8000000000004000", "hilgpu.packet.copy.dst": "0x0000000000000100",
			"hilgpu.packet.copy.bytes": "64", "hilgpu.request": "26",
		}},
	{capture.Up, "00000006 010004ff 00002000", "DMA rd 0x2000, 24 bytes", nil},
	{capture.Down, "00000001 0000060f e0001014", "rd cp0.rptr", nil},
	{capture.Up, "4a000001 01000004 00000614 3c000000", "completion of rd cp0.rptr = 0x3c", nil},
	{capture.Up, "00000004 010005ff 000010f0", "DMA rd 0x10f0, 16 bytes, ring of node 0", nil},
	{capture.Down, "4a000004 00000010 01000570 02000009 10300000 00000080 02000008",
		"completion of DMA rd 0x10f0, 16 bytes, ring of node 0: TIMESTAMP, WRITE_REG...",
		map[string]string{"hilgpu.packet.timestamp.addr": "0x8000000000003010", "hilgpu.packet.write_reg.off": ""}},
	{capture.Up, "00000003 010006ff 00001000", "DMA rd 0x1000, 12 bytes, ring of node 0", nil},
	{capture.Down, "4a000003 0000000c 01000600 24000000 efbeadde 000000ff",
		"completion of DMA rd 0x1000, 12 bytes, ring of node 0: WRITE_REG, opcode 0xff",
		map[string]string{"hilgpu.packet.write_reg.off": "0x00000024", "hilgpu.packet.write_reg.value": "0xdeadbeef", "hilgpu.packet.addr": "0x00000000000010fc,0x0000000000001008"}},
	{capture.Up, "00000001 0100070f 00001030", "DMA rd 0x1030, 4 bytes, ring of node 0", nil},
	{capture.Down, "4a000001 00000004 01000730 02000009", "completion of DMA rd 0x1030, 4 bytes, ring of node 0",
		map[string]string{"hilgpu.packet": "", "hilgpu.data": "02000009"}},
	{capture.Down, "00000001 0000020f e0001004 00000000", "malformed: 16 bytes, want 12", map[string]string{"hilgpu.malformed": "1"}},
}

// TestDissector runs Wireshark with the dissector on a capture.
func TestDissector(t *testing.T) {
	tooltest.Need(t, "tshark")
	dir := t.TempDir()
	script, err := dissector()
	require.NoError(t, err)
	lua := filepath.Join(dir, "hilgpu.lua")
	require.NoError(t, os.WriteFile(lua, script, 0o600))
	file := filepath.Join(dir, "a.pcapng")
	require.NoError(t, os.WriteFile(file, dissectionFile(t), 0o600))

	names := []string{"_ws.col.Info", "frame.comment"}
	seen := map[string]int{names[0]: 0, names[1]: 1}
	for _, d := range dissections {
		for n := range d.fields {
			if _, ok := seen[n]; !ok {
				seen[n] = len(names)
				names = append(names, n)
			}
		}
	}
	// The second run dissects every packet twice.
	for _, passes := range [][]string{nil, {"-2"}} {
		args := append([]string{"-X", "lua_script:" + lua, "-r", file, "-T", "fields", "-E", "separator=/t"}, passes...)
		for _, n := range names {
			args = append(args, "-e", n)
		}
		c := exec.Command("tshark", args...)
		c.Env = append(os.Environ(), "HOME="+dir, "XDG_CONFIG_HOME="+dir)
		var stderr bytes.Buffer
		c.Stderr = &stderr
		out, err := c.Output()
		require.NoError(t, err, stderr.String())
		assert.NotContains(t, stderr.String(), "Lua")
		lines := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
		require.Len(t, lines, len(dissections), stderr.String())
		for i, d := range dissections {
			cells := strings.Split(lines[i], "\t")
			require.Len(t, cells, len(names), lines[i])
			assert.Equal(t, d.info, cells[0], "packet %d", i+1)
			assert.Equal(t, "comment of "+d.packet, cells[1], "packet %d", i+1)
			for n, want := range d.fields {
				got := cells[seen[n]]
				if n == "hilgpu.failed" || n == "hilgpu.malformed" {
					got = map[bool]string{true: "1"}[got != ""]
				}
				assert.Equal(t, want, got, "packet %d, %s", i+1, n)
			}
		}
	}
}

func dissectionFile(t *testing.T) []byte {
	var b bytes.Buffer
	w, err := capture.NewWriter(&b, capture.Options{})
	require.NoError(t, err)
	for _, d := range dissections {
		p, err := hex.DecodeString(strings.ReplaceAll(d.packet, " ", ""))
		require.NoError(t, err)
		require.NoError(t, w.Write(capture.Record{Dir: d.dir, Packet: p, Comment: "comment of " + d.packet}))
	}
	return b.Bytes()
}

// TestLinkDissector runs Wireshark on frames of the data link in an Ethernet frame and
// in a UDP datagram. The frames are those of TestGoldenFrames and TestGoldenBundle in
// bus/datalink, and damaged ones.
func TestLinkDissector(t *testing.T) {
	tooltest.Need(t, "tshark")
	dir := t.TempDir()
	script, err := dissector()
	require.NoError(t, err)
	lua := filepath.Join(dir, "hilgpu.lua")
	require.NoError(t, os.WriteFile(lua, script, 0o600))
	unhex := func(text string) []byte {
		b, err := hex.DecodeString(strings.ReplaceAll(text, " ", ""))
		require.NoError(t, err)
		return b
	}
	const ethernet = "020000000002 020000000001 88b5"
	const udp = "4500 0037 0000 0000 40 11 7cb4 7f000001 7f000001 8000 0fa0 0023 0000"
	var file bytes.Buffer
	w, err := capture.NewWriter(&file, capture.Options{})
	require.NoError(t, err)
	for _, f := range []struct {
		wire capture.Wire
		hex  string
	}{
		{capture.Ethernet, ethernet + "0008 0006 3000 30419fd1" + strings.Repeat("00", 36)},
		{capture.IP, udp + "000b 9001 d4 05 fe 10 10 b4a2b47e 000c d001 0002 00 000000 b4a2b47e"},
		{capture.Ethernet, ethernet + "0008 0007 3000 30419fd1" + strings.Repeat("00", 36)},
		{capture.Ethernet, ethernet + "002a 0028 c000 8000 0010 40000001 0000000f fe001014 01020304 000c 00000001 0000050f fe001010 0b6d93dc"},
		{capture.Ethernet, ethernet + "002a 0028 c000 8000 0010 40000001 0000000f fe001014 01020304 000d 00000001 0000050f fe001010 0b6d93dc"},
	} {
		require.NoError(t, w.WriteFrame(f.wire, capture.Down, time.Unix(1, 0), unhex(f.hex)))
	}
	path := filepath.Join(dir, "a.pcapng")
	require.NoError(t, os.WriteFile(path, file.Bytes(), 0o600))
	c := exec.Command("tshark", "-X", "lua_script:"+lua, "-r", path, "-T", "fields", "-E", "separator=/t",
		"-e", "_ws.col.Info", "-e", "hilgpu_link.seq", "-e", "hilgpu_link.ack", "-e", "hilgpu_link.check", "-e", "hilgpu_link.length", "-e", "hilgpu_link.packet")
	c.Env = append(os.Environ(), "HOME="+dir, "XDG_CONFIG_HOME="+dir)
	out, err := c.Output()
	require.NoError(t, err)
	assert.Equal(t, []string{
		"Ping 0\t\t0\t0x30419fd1\t\t", "short read 1; short read 1, ack 2\t1,1\t2\t0xb4a2b47e,0xb4a2b47e\t\t", "damaged datagram\t\t\t\t\t",
		"2 TLPs 0, ack 0\t0\t0\t0x0b6d93dc\t16,12\t400000010000000ffe00101401020304,000000010000050ffe001010",
		"damaged frame, TLP 0, ack 0\t0\t0\t0x0b6d93dc\t16\t400000010000000ffe00101401020304", "",
	}, strings.Split(string(out), "\n"))
}
