package capture_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/gopacket/pcapgo"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hilgpu/hilgpu/bus/capture"
	"github.com/hilgpu/hilgpu/bus/tlp"
)

func unhex(s string) []byte {
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		panic(err)
	}
	return b
}

// A read of one dword at 0xe0000000 by 00:00.0 with tag 5, and its completion,
// from PCIe 3.0 figures 2-17 and 2-29.
var (
	read   = unhex("00000001 0000050f e0000000")
	answer = unhex("4a000001 01000004 00000500 484c5047")
)

func records() []capture.Record {
	return []capture.Record{
		{At: 10, Dir: capture.Down, Packet: read, Comment: "rd id.magic"},
		{At: 3*time.Hour + 7, Dir: capture.Up, Packet: answer},
	}
}

func file(t require.TestingT, opt capture.Options, rs []capture.Record) []byte {
	var b bytes.Buffer
	w, err := capture.NewWriter(&b, opt)
	require.NoError(t, err)
	for _, r := range rs {
		require.NoError(t, w.Write(r))
	}
	return b.Bytes()
}

// packetsAt returns the offset of the first packet of a file.
func packetsAt(b []byte) int {
	at := 0
	for binary.LittleEndian.Uint32(b[at:]) != 6 {
		at += int(binary.LittleEndian.Uint32(b[at+4:]))
	}
	return at
}

func readAll(r *capture.Reader) (all []capture.Record, err error) {
	for {
		rec, err := r.Next()
		if err != nil {
			return all, err
		}
		all = append(all, rec)
	}
}

func TestFileOfAnotherReader(t *testing.T) {
	r, err := pcapgo.NewNgReader(bytes.NewReader(file(t, capture.Options{}, records())), pcapgo.DefaultNgReaderOptions)
	require.NoError(t, err)
	assert.EqualValues(t, 147, r.LinkType())
	for i, want := range records() {
		data, ci, err := r.ReadPacketData()
		require.NoError(t, err)
		assert.Equal(t, want.Packet, data)
		assert.Equal(t, i, ci.InterfaceIndex)
		assert.Equal(t, int64(want.At), ci.Timestamp.UnixNano())
		intf, err := r.Interface(i)
		require.NoError(t, err)
		assert.Equal(t, [...]string{"host->board", "board->host"}[i], intf.Name)
	}
	_, _, err = r.ReadPacketData()
	assert.ErrorIs(t, err, io.EOF)
}

// TestPacketBlock checks a block against draft-ietf-opsawg-pcapng §4.3.
func TestPacketBlock(t *testing.T) {
	got := file(t, capture.Options{}, []capture.Record{{At: 1<<32 + 2, Dir: capture.Up, Packet: read, Comment: "hello"}})
	got = got[packetsAt(got):]
	assert.Equal(t, unhex("06000000 44000000 01000000 01000000 02000000 0c000000 0c000000"+
		"00000001 0000050f e0000000"+
		"01000500 68656c6c 6f000000"+ // comment, padded
		"02000400 01000000"+ // flags: inbound
		"00000000 44000000"), got)
}

// interfaces returns the comments of a file's interfaces and the times of its
// packets, as read by another reader.
func interfaces(t *testing.T, b []byte) (comments []string, times []time.Time) {
	r, err := pcapgo.NewNgReader(bytes.NewReader(b), pcapgo.DefaultNgReaderOptions)
	require.NoError(t, err)
	for {
		_, ci, err := r.ReadPacketData()
		if err == io.EOF {
			break
		}
		require.NoError(t, err)
		i, err := r.Interface(ci.InterfaceIndex)
		require.NoError(t, err)
		comments, times = append(comments, i.Comment), append(times, ci.Timestamp)
	}
	return comments, times
}

// A link with its own clock has wall-clock time, others have the time since
// they were opened, and the interface says which. Virtual time continues after
// wall-clock time.
func TestWhoseTime(t *testing.T) {
	var b bytes.Buffer
	w, err := capture.NewWriter(&b, capture.Options{})
	require.NoError(t, err)
	epoch := time.Date(2026, 11, 22, 17, 0, 0, 5, time.UTC)
	at := func(d time.Duration) {
		require.NoError(t, w.Write(capture.Record{At: d, Packet: read}))
	}
	w.Begin()
	at(30)
	w.BeginAt(epoch)
	at(time.Second)
	w.Begin()
	at(12)
	w.BeginAt(epoch.Add(time.Hour))
	at(1)
	comments, times := interfaces(t, b.Bytes())
	const virtual, wall = "time is virtual: since the board was opened, in clocks of the board or of its line", "time is the host's wall-clock time"
	assert.Equal(t, []string{virtual, wall, virtual, wall}, comments)
	for i, want := range []time.Time{time.Unix(0, 30), epoch.Add(time.Second), time.Unix(0, 42), epoch.Add(time.Hour + 1)} {
		assert.Equal(t, want.UnixNano(), times[i].UnixNano())
	}
	r, err := capture.NewReader(&b)
	require.NoError(t, err)
	all, err := readAll(r)
	require.ErrorIs(t, err, io.EOF)
	assert.EqualValues(t, epoch.UnixNano()+1e9, all[1].At)
}

// A packet of an observer with wall-clock time has the time of its call,
// whatever the time of the board.
func TestWallObserver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b bytes.Buffer
		w, err := capture.NewWriter(&b, capture.Options{})
		require.NoError(t, err)
		epoch := time.Now()
		observe := w.WallObserver()
		time.Sleep(3 * time.Second)
		observe(false, 7, read)
		time.Sleep(time.Millisecond)
		observe(true, 9*time.Hour, answer)
		require.NoError(t, w.Err())
		r, err := capture.NewReader(&b)
		require.NoError(t, err)
		got, err := readAll(r)
		require.ErrorIs(t, err, io.EOF)
		at := time.Duration(epoch.UnixNano()) + 3*time.Second
		assert.Equal(t, []capture.Record{
			{At: at, Dir: capture.Down, Packet: read}, {At: at + time.Millisecond, Dir: capture.Up, Packet: answer},
		}, got)
	})
}

func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var want []capture.Record
		for range rapid.IntRange(0, 5).Draw(t, "n") {
			want = append(want, capture.Record{
				At:      time.Duration(rapid.Int64Min(0).Draw(t, "at")),
				Dir:     capture.Dir(rapid.IntRange(0, 1).Draw(t, "dir")),
				Packet:  rapid.SliceOfN(rapid.Byte(), 12, tlp.MaxSize).Draw(t, "packet"),
				Comment: rapid.StringN(0, 40, 200).Draw(t, "comment"),
			})
		}
		r, err := capture.NewReader(bytes.NewReader(file(t, capture.Options{}, want)))
		require.NoError(t, err)
		got, err := readAll(r)
		assert.ErrorIs(t, err, io.EOF)
		assert.Equal(t, want, got)
	})
}

func TestComments(t *testing.T) {
	opt := capture.Options{Comment: func(d capture.Dir, p []byte) string { return d.String() + " " + hex.EncodeToString(p[:4]) }}
	rs := append(records(), capture.Record{Packet: read, Comment: strings.Repeat("x", 70000)})
	r, err := capture.NewReader(bytes.NewReader(file(t, opt, rs)))
	require.NoError(t, err)
	got, err := readAll(r)
	require.ErrorIs(t, err, io.EOF)
	assert.Equal(t, "rd id.magic", got[0].Comment)
	assert.Equal(t, "board->host 4a000001", got[1].Comment)
	assert.Len(t, got[2].Comment, 4096)
}

func TestWriterRefuses(t *testing.T) {
	for name, r := range map[string]capture.Record{
		"time before the beginning": {At: -1, Packet: read},
		"unknown direction":         {Dir: 2, Packet: read},
		"short packet":              {Packet: read[:11]},
		"long packet":               {Packet: make([]byte, tlp.MaxSize+1)},
	} {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			w, err := capture.NewWriter(&b, capture.Options{})
			require.NoError(t, err)
			n := b.Len()
			assert.ErrorIs(t, w.Write(r), capture.ErrPacket)
			assert.Equal(t, n, b.Len())
			assert.NoError(t, w.Err())
		})
	}
}

// full accepts n writes.
type full struct{ n int }

var errFull = errors.New("full")

func (f *full) Write(p []byte) (int, error) {
	if f.n--; f.n < 0 {
		return 0, errFull
	}
	return len(p), nil
}

func TestFirstErrorStays(t *testing.T) {
	_, err := capture.NewWriter(&full{0}, capture.Options{})
	assert.ErrorIs(t, err, errFull)
	sink := &full{1}
	w, err := capture.NewWriter(sink, capture.Options{})
	require.NoError(t, err)
	assert.ErrorIs(t, w.Write(records()[0]), errFull)
	sink.n = 9
	assert.ErrorIs(t, w.Write(records()[0]), errFull)
	assert.ErrorIs(t, w.Err(), errFull)
}

// foreign is a file as another tool may write it: big-endian, in microseconds,
// with an interface of another link type first and an unknown block.
func foreign() []byte {
	return unhex("0a0d0d0a 0000001c 1a2b3c4d 00010000 ffffffff ffffffff 0000001c" +
		"00000001 00000014 00010000 00000000 00000014" + // Ethernet
		"00000001 00000014 00930000 00000000 00000014" + // TLPs, without a name
		"00000bad 00000010 01020304 00000010" +
		"00000006 0000002c 00000000 00000000 00000001 0000000c 0000000c 00000001 0000050f e0000000 0000002c" +
		"00000006 00000038 00000001 00000000 00000003 0000000c 0000000c 00000001 0000050f e0000000 00020004 00000002 00000000 00000038")
}

func TestForeignFile(t *testing.T) {
	r, err := capture.NewReader(bytes.NewReader(foreign()))
	require.NoError(t, err)
	got, err := readAll(r)
	assert.ErrorIs(t, err, io.EOF)
	assert.Equal(t, []capture.Record{{At: 3 * time.Microsecond, Dir: capture.Down, Packet: read}}, got)
}

func TestDamagedFiles(t *testing.T) {
	good := file(t, capture.Options{}, records())
	head := packetsAt(good)
	change := func(at int, v uint32) []byte {
		b := bytes.Clone(good)
		binary.LittleEndian.PutUint32(b[at:], v)
		return b
	}
	noDirection := bytes.Clone(foreign())
	noDirection[len(noDirection)-9] = 0
	for _, tt := range []struct {
		name string
		data []byte
		says string
	}{
		{"empty", nil, "empty"},
		{"text", []byte("#!/bin/sh\necho hello, world\n"), "no pcapng section header"},
		{"packet first", good[head:], "no pcapng section header"},
		{"magic", change(8, 7), "byte-order magic"},
		{"version", change(12, 2), "pcapng version 2"},
		{"block too short", change(head+4, 8), "8 bytes long"},
		{"block too long", change(head+4, 1<<31), "2147483648 bytes long"},
		{"lengths differ", change(head+4, 64), "ends with"},
		{"unknown interface", change(head+8, 2), "interface 2 of 2"},
		{"time out of range", change(head+12, 1<<31), "time stamp"},
		{"packet longer than its block", change(head+20, 4000), "packet of 12 bytes, 4000 of them captured"},
		{"option longer than its block", change(head+40, 1|9999<<16), "option 1 of 9999 bytes"},
		{"no direction", noDirection, "without direction"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, err := capture.NewReader(bytes.NewReader(tt.data))
			if err == nil {
				_, err = readAll(r)
				_, again := r.Next()
				assert.Equal(t, err, again)
			}
			assert.ErrorIs(t, err, capture.ErrFormat)
			assert.ErrorContains(t, err, tt.says)
		})
	}
}

// TestCutFiles cuts a file at every byte: complete records are returned, and
// the rest is an error.
func TestCutFiles(t *testing.T) {
	good := file(t, capture.Options{}, records())
	whole := map[int]int{} // length to records
	for n := range 3 {
		whole[len(file(t, capture.Options{}, records()[:n]))] = n
	}
	for n := range good {
		r, err := capture.NewReader(bytes.NewReader(good[:n]))
		var got []capture.Record
		if err == nil {
			got, err = readAll(r)
		}
		if want, ok := whole[n]; ok {
			assert.ErrorIs(t, err, io.EOF)
			assert.Len(t, got, want)
		} else if !errors.Is(err, io.EOF) { // between the blocks of the file head
			assert.ErrorIs(t, err, capture.ErrFormat, "%d bytes", n)
		}
	}
}

func FuzzReader(f *testing.F) {
	f.Add(file(f, capture.Options{}, records()))
	f.Add(foreign())
	f.Fuzz(func(t *testing.T, data []byte) {
		if r, err := capture.NewReader(bytes.NewReader(data)); err == nil {
			_, err := readAll(r)
			require.Error(t, err)
		}
		if p, err := capture.NewPlayback(bytes.NewReader(data), "f"); err == nil {
			require.NoError(t, p.Close())
		}
	})
}
