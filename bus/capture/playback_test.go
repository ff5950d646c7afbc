package capture_test

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/bus/bustest"
	"github.com/hilgpu/hilgpu/bus/capture"
	"github.com/hilgpu/hilgpu/bus/inproc"
	"github.com/hilgpu/hilgpu/bus/tlp"
	"github.com/hilgpu/hilgpu/rtl/abi/pcicfg"
	"github.com/hilgpu/hilgpu/rtl/abi/port"
)

func TestFromTransaction(t *testing.T) {
	data := []byte{1, 2, 3, 4, 5, 6, 7, 8}
	read := port.Request{Kind: port.MemRead, Tag: 7, Len: 2, Addr: 0xe0000010}
	far := port.Request{Kind: port.MemRead, Tag: 9, Len: 2, Addr: 0x100000040}
	for _, tt := range []struct {
		name string
		x    inproc.Transaction
		want string // from PCIe 3.0 §2.2, byte by byte
	}{
		{"configuration read", inproc.Transaction{Req: port.Request{Kind: port.CfgRead, Tag: 3, Len: 1, Addr: 0x10}, First: 15},
			"04000001 0000030f 01000010"},
		{"its answer", inproc.Transaction{Dir: inproc.Up, Status: port.CplSuccess, Data: data[:4], Req: port.Request{Kind: port.CfgRead, Tag: 3, Len: 1, Addr: 0x10}, First: 15},
			"4a000001 01000004 00000300 01020304"},
		{"configuration write", inproc.Transaction{Data: data[:4], Req: port.Request{Kind: port.CfgWrite, Tag: 3, Len: 1, Addr: 4}, First: 15},
			"44000001 0000030f 01000004 01020304"},
		{"its answer", inproc.Transaction{Dir: inproc.Up, Status: port.CplSuccess, Req: port.Request{Kind: port.CfgWrite, Tag: 3, Len: 1, Addr: 4}, First: 15},
			"0a000000 01000004 00000300"},
		{"read", inproc.Transaction{Req: read, First: 15, Last: 15}, "00000002 000007ff e0000010"},
		{"its answer", inproc.Transaction{Dir: inproc.Up, Status: port.CplSuccess, Data: data, Req: read, First: 15, Last: 15},
			"4a000002 01000008 00000710 0102030405060708"},
		{"its refusal", inproc.Transaction{Dir: inproc.Up, Status: port.CplAbort, Req: read, First: 15, Last: 15},
			"0a000000 01008008 00000710"},
		{"device's read above 4 GiB", inproc.Transaction{Dir: inproc.Up, Req: far, First: 15, Last: 15},
			"20000002 010009ff 00000001 00000040"},
		{"its answer", inproc.Transaction{Dir: inproc.Down, Status: port.CplSuccess, Data: data, Req: far, First: 15, Last: 15},
			"4a000002 00000008 01000940 0102030405060708"},
		{"its refusal", inproc.Transaction{Dir: inproc.Down, Status: port.CplUnsupported, Req: far, First: 15, Last: 15},
			"0a000000 00002008 01000940"},
		{"device's write of six bytes", inproc.Transaction{Dir: inproc.Up, Data: data, Req: port.Request{Kind: port.MemWrite, Len: 2, Addr: 0x1000}, First: 14, Last: 7},
			"40000002 0100007e 00001000 0102030405060708"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := capture.FromTransaction(nil, tt.x)
			require.NoError(t, err)
			require.Len(t, got, 1)
			b, err := got[0].Append(nil)
			require.NoError(t, err)
			assert.Equal(t, unhex(tt.want), b)
		})
	}
	for name, x := range map[string]inproc.Transaction{
		"nothing":                     {},
		"configuration by the device": {Dir: inproc.Up, Req: port.Request{Kind: port.CfgRead, Len: 1}, First: 15},
		"completion of a write":       {Dir: inproc.Up, Status: port.CplSuccess, Req: port.Request{Kind: port.MemWrite, Len: 1}, First: 15},
		"answer of the wrong length":  {Dir: inproc.Up, Status: port.CplSuccess, Data: data[:4], Req: read, First: 15, Last: 15},
		"gap in the bytes":            {Dir: inproc.Up, Data: data, Req: port.Request{Kind: port.MemWrite, Len: 2, Addr: 0x1004}, First: 5, Last: 15},
		"unknown status":              {Dir: inproc.Up, Status: 9, Req: read, First: 15, Last: 15},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := capture.FromTransaction(nil, x)
			assert.ErrorIs(t, err, capture.ErrPacket)
			assert.Empty(t, got)
		})
	}
}

func TestClocks(t *testing.T) {
	for _, tt := range []struct {
		n, hz uint64
		want  time.Duration
	}{
		{0, 1, 0}, {7, 100e6, 70}, {1, 3, 333333333}, {1 << 40, 1e9, 1 << 40}, {1 << 63, 1, 1<<63 - 1}, {1 << 63, 1 << 62, 2e9},
	} {
		assert.Equal(t, tt.want, capture.Clocks(tt.n, tt.hz))
	}
}

// session records the accesses of a host to the reference device.
func session(t *testing.T, do func(link *inproc.Link, host *bustest.Host)) []byte {
	var b bytes.Buffer
	w, err := capture.NewWriter(&b, capture.Options{})
	require.NoError(t, err)
	host := bustest.NewHost(4096)
	opt := inproc.Options{Observer: w.Observer(100e6, func(err error) { t.Error(err) })}
	link, err := inproc.New(bustest.NewDevice(bustest.DeviceOptions{}), host, opt)
	require.NoError(t, err)
	do(link, host)
	require.NoError(t, w.Err())
	return b.Bytes()
}

func TestPlayback(t *testing.T) {
	register := make([]byte, 4)
	data := session(t, func(link *inproc.Link, host *bustest.Host) {
		require.NoError(t, bustest.Enumerate(link))
		require.NoError(t, link.Read(0, bustest.RegDone, register))
		require.NoError(t, link.Write(2, 256, []byte{1, 2, 3, 4, 5, 6, 7, 8}))
		require.NoError(t, link.Write(0, bustest.RegMem, []byte{9, 9, 9, 9}))
		assert.Error(t, link.Read(0, 0xfff0, make([]byte, 4)))
		_, err := link.ReadConfig(pcicfg.ID)
		require.NoError(t, err)
	})
	path := filepath.Join(t.TempDir(), "a.pcapng")
	require.NoError(t, os.WriteFile(path, data, 0o600))
	link, clock, err := capture.Open(path)
	require.NoError(t, err)

	id, err := link.ReadConfig(pcicfg.ID)
	require.NoError(t, err)
	assert.EqualValues(t, 0x48471234, id)
	got := make([]byte, 4)
	require.NoError(t, link.Read(0, bustest.RegDone, got))
	assert.Equal(t, register, got)
	got = make([]byte, 8)
	require.NoError(t, link.Read(2, 256, got), "a prefetchable BAR is memory")
	assert.Equal(t, []byte{1, 2, 3, 4, 5, 6, 7, 8}, got)

	for name, err := range map[string]error{
		"never read":               link.Read(0, 0x40, got[:4]),
		"only written":             link.Read(0, bustest.RegMem, got[:4]),
		"answered with an error":   link.Read(0, 0xfff0, got[:4]),
		"next to recorded data":    link.Read(2, 252, got),
		"another BAR":              link.Read(1, 0, got[:4]),
		"configuration never read": func() error { _, err := link.ReadConfig(0xffc); return err }(),
		"a write":                  link.Write(2, 256, got),
		"a write of configuration": link.WriteConfig(pcicfg.Command, 0),
	} {
		assert.ErrorIs(t, err, bus.ErrUnsupported, name)
		assert.ErrorContains(t, err, path, name)
	}
	assert.ErrorContains(t, link.Read(0, bustest.RegMem, got[:4]), "not read since")
	assert.ErrorIs(t, link.Read(0, 2, got[:4]), bus.ErrArgument)
	assert.ErrorIs(t, link.Read(6, 0, got[:4]), bus.ErrArgument)
	_, err = link.ReadConfig(0x1000)
	assert.ErrorIs(t, err, bus.ErrArgument)

	event, err := clock.Wait(55)
	require.NoError(t, err)
	assert.False(t, event)
	assert.EqualValues(t, 55, clock.Now())
	require.NoError(t, link.Close())
	require.NoError(t, link.Close())
	assert.ErrorIs(t, link.Read(2, 256, got), bus.ErrClosed)
	_, err = clock.Wait(60)
	assert.ErrorIs(t, err, bus.ErrClosed)
}

// TestPlaybackOrder plays packets to a BAR0 at 0xe0000000.
func TestPlaybackOrder(t *testing.T) {
	const bar0, bar0Is = "04000001 0000010f 01000010", "4a000001 01000004 00000100 000000e0"
	const ask, say5, say6 = "00000001 0000020f e0000020", "4a000001 01000004 00000220 05000000", "4a000001 01000004 00000220 06000000"
	const write, poison = "40000001 0000000f e0000020 09000000", "4a004001 01000004 00000220 06000000"
	for _, tt := range []struct {
		name    string
		packets []string
		want    byte // 0: not in the capture
	}{
		{"read", []string{bar0, bar0Is, ask, say5}, 5},
		{"the last answer counts", []string{bar0, bar0Is, ask, say5, ask, say6}, 6},
		{"written since", []string{bar0, bar0Is, ask, say5, write}, 0},
		{"read after the write", []string{bar0, bar0Is, write, ask, say5}, 5},
		{"no answer", []string{bar0, bar0Is, ask}, 0},
		{"an unsolicited completion", []string{bar0, bar0Is, say5}, 0},
		{"answered once", []string{bar0, bar0Is, ask, say5, say6}, 5},
		{"poisoned", []string{bar0, bar0Is, ask, poison}, 0},
		{"before the BAR is placed", []string{ask, say5, bar0, bar0Is}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var rs []capture.Record
			for _, p := range tt.packets {
				r := capture.Record{Packet: unhex(p)}
				if tlp.KindOf(r.Packet[0]) == tlp.CplD {
					r.Dir = capture.Up
				}
				rs = append(rs, r)
			}
			p, err := capture.NewPlayback(bytes.NewReader(file(t, capture.Options{}, rs)), "x")
			require.NoError(t, err)
			got := make([]byte, 4)
			err = p.Read(0, 0x20, got)
			if tt.want == 0 {
				assert.ErrorIs(t, err, bus.ErrUnsupported)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, []byte{tt.want, 0, 0, 0}, got)
		})
	}
}

func TestOpenFails(t *testing.T) {
	dir := t.TempDir()
	_, _, err := capture.Open(filepath.Join(dir, "none"))
	assert.ErrorIs(t, err, os.ErrNotExist)
	bad := filepath.Join(dir, "bad")
	require.NoError(t, os.WriteFile(bad, []byte("not a capture at all"), 0o600))
	_, _, err = capture.Open(bad)
	assert.ErrorIs(t, err, capture.ErrFormat)
	assert.ErrorContains(t, err, bad)
	garbage := []capture.Record{{Packet: make([]byte, 13)}}
	require.NoError(t, os.WriteFile(bad, file(t, capture.Options{}, garbage), 0o600))
	_, _, err = capture.Open(bad)
	assert.ErrorIs(t, err, tlp.ErrMalformed)
	assert.ErrorContains(t, err, "packet 1")
}

// TestFollower follows a read with two completions and the placement of a
// 64-bit BAR.
func TestFollower(t *testing.T) {
	var f capture.Follower
	for _, tt := range []struct {
		name   string
		dir    capture.Dir
		packet string
		space  capture.Space
		bar    int
		off    uint64
		known  bool // a completion whose request is known
	}{
		{"nowhere yet", capture.Down, "20000020 000002ff 00000002 00000040", capture.Elsewhere, 0, 0x200000040, false},
		{"size of BAR2", capture.Down, "44000001 0000010f 01000018 ffffffff", capture.Config, 0, 0x18, false},
		{"written", capture.Up, "0a000000 01000004 00000100", capture.Config, 0, 0x18, true},
		{"read it", capture.Down, "04000001 0000010f 01000018", capture.Config, 0, 0x18, false},
		{"64-bit, 16 MiB", capture.Up, "4a000001 01000004 00000100 0c0000ff", capture.Config, 0, 0x18, true},
		{"size of BAR3", capture.Down, "44000001 0000010f 0100001c ffffffff", capture.Config, 0, 0x1c, false},
		{"read it", capture.Down, "04000001 0000010f 0100001c", capture.Config, 0, 0x1c, false},
		{"none", capture.Up, "4a000001 01000004 00000100 ffffffff", capture.Config, 0, 0x1c, true},
		{"address", capture.Down, "44000001 0000010f 01000018 00000000", capture.Config, 0, 0x18, false},
		{"still nowhere", capture.Down, "20000020 000003ff 00000002 00000040", capture.Elsewhere, 0, 0x200000040, false},
		{"upper half", capture.Down, "44000001 0000010f 0100001c 02000000", capture.Config, 0, 0x1c, false},
		{"read in BAR2", capture.Down, "20000002 000004ff 00000002 0000003c", capture.BAR, 2, 0x3c, false},
		{"first dword", capture.Up, "4a000001 01000008 0000043c 01020304", capture.BAR, 2, 0x3c, true},
		{"second dword", capture.Up, "4a000001 01000004 00000440 01020304", capture.BAR, 2, 0x40, true},
		{"third", capture.Up, "4a000001 01000004 00000440 01020304", capture.Elsewhere, 0, 0, false},
		{"after its end", capture.Down, "20000001 0000050f 00000002 01000000", capture.Elsewhere, 0, 0x201000000, false},
		{"write of the device", capture.Up, "40000001 0100000f fee00000 00000000", capture.HostMemory, 0, 0xfee00000, false},
		{"read of the device, with a tag the host uses", capture.Up, "00000001 0100050f 00001000", capture.HostMemory, 0, 0x1000, false},
		{"its answer", capture.Down, "4a000001 00000004 01000500 00000000", capture.HostMemory, 0, 0x1000, true},
	} {
		e, err := f.Follow(tt.dir, unhex(tt.packet))
		require.NoError(t, err, tt.name)
		assert.Equal(t, tt.space, e.Space, tt.name)
		assert.Equal(t, tt.bar, e.BAR, tt.name)
		assert.Equal(t, tt.off, e.Off, tt.name)
		assert.Equal(t, tt.known, e.Request != nil, tt.name)
	}
	_, err := f.Follow(capture.Down, make([]byte, 5))
	assert.ErrorIs(t, err, capture.ErrPacket)
	assert.ErrorIs(t, err, tlp.ErrMalformed)
}

// TestDeviceWrites rebuilds host memory from a device's writes, which begin and
// end at any byte: the enabled bytes are the written ones.
func TestDeviceWrites(t *testing.T) {
	for _, n := range []int{1, 2, 5, 8, 130} {
		for at := range 9 {
			var host *bustest.Host
			data := session(t, func(link *inproc.Link, h *bustest.Host) {
				host = h
				copy(h.Mem, bytes.Repeat([]byte{0x11}, len(h.Mem)))
				require.NoError(t, bustest.Enumerate(link))
				require.NoError(t, link.Write(2, 0, bytes.Repeat([]byte{0xa5}, 256)))
				require.NoError(t, bustest.StartJob(link, bustest.JobWrite, h.Base+uint64(at), 0, uint32(n)))
				for deadline := link.Now() + 3000; link.Now() < deadline; {
					_, err := link.Wait(deadline)
					require.NoError(t, err)
				}
			})
			want := append(bytes.Repeat([]byte{0x11}, at), bytes.Repeat([]byte{0xa5}, n)...)
			require.Equal(t, want, host.Mem[:at+n])
			got := bytes.Repeat([]byte{0x11}, len(host.Mem))
			r, err := capture.NewReader(bytes.NewReader(data))
			require.NoError(t, err)
			all, err := readAll(r)
			require.ErrorIs(t, err, io.EOF)
			for _, rec := range all {
				var p tlp.Packet
				require.NoError(t, p.Decode(rec.Packet))
				if rec.Dir == capture.Up && p.Kind == tlp.MWr32 && p.Addr < bustest.MessageBase {
					from := int(p.Addr-host.Base) + tlp.Offset(p.First)
					copy(got[from:], p.Data[tlp.Offset(p.First):][:tlp.ByteCount(p.Len, p.First, p.Last)])
				}
			}
			assert.Equal(t, host.Mem, got, "%d bytes at %d", n, at)
		}
	}
}

// TestFollowerForgets: a BAR has no address while it is sized, and after a
// partial write.
func TestFollowerForgets(t *testing.T) {
	const placed, sizing, part = "44000001 0000010f 01000010 000000e0", "44000001 0000010f 01000010 ffffffff", "44000001 00000108 01000010 000000e0"
	for _, tt := range []struct {
		packets []string
		want    capture.Space
	}{
		{[]string{placed}, capture.BAR},
		{[]string{placed, sizing}, capture.Elsewhere},
		{[]string{placed, sizing, placed}, capture.BAR},
		{[]string{placed, part}, capture.Elsewhere},
	} {
		var f capture.Follower
		for _, p := range tt.packets {
			_, err := f.Follow(capture.Down, unhex(p))
			require.NoError(t, err)
		}
		e, err := f.Follow(capture.Down, read)
		require.NoError(t, err)
		assert.Equal(t, tt.want, e.Space, tt.packets)
	}
}

// TestPlaybackIsBounded plays a capture that writes more pages than a board
// has.
func TestPlaybackIsBounded(t *testing.T) {
	rs := []capture.Record{
		{Packet: unhex("44000001 0000010f 0100001c 10000000")},
		{Packet: unhex("44000001 0000010f 01000018 00000000")},
	}
	for i := range 1<<16 + 300 {
		p := unhex("60000001 0000000f 00000010 00000000 00000000")
		p[8+4], p[8+5], p[8+6] = byte(i>>12), byte(i>>4), byte(i<<4)
		rs = append(rs, capture.Record{Packet: p})
	}
	_, err := capture.NewPlayback(bytes.NewReader(file(t, capture.Options{}, rs)), "x")
	assert.ErrorIs(t, err, capture.ErrPacket)
	assert.ErrorContains(t, err, "pages")
}
