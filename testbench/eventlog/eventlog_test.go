package eventlog

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

// random returns an event of any kind.
func random(r *rand.Rand, id uint64) Event {
	d := Table[r.IntN(len(Table))]
	e := Event{Kind: d.Kind, Time: r.Uint64() >> r.IntN(64)}
	for i := range d.Fields {
		e.Fields[i] = r.Uint64() >> r.IntN(64)
	}
	if r.IntN(2) == 0 {
		e.Process, e.Thread = r.Uint32()>>16, r.Uint32()>>24
	}
	if id > 1 && r.IntN(2) == 0 {
		e.Cause = 1 + r.Uint64N(id-1)
	}
	if r.IntN(3) == 0 {
		e.Data = make([]byte, r.IntN(100))
		for i := range e.Data {
			e.Data[i] = byte(r.Uint32())
		}
	}
	texts := []string{
		"", "plain", "7", "007", "0x0", "0x00ff", "0xabcdef0123456789", "0xabcdef01234567890", "18446744073709551615", "99999999999999999999", "10000000000000000000000",
		"1.50 and -3", "a\x01b", "\x02", "0x", "0xg", "x0x1y2", "0XAB", "héllo 12", strings.Repeat("long ", 2000), fmt.Sprintf("line %d of %#x", r.Uint64(), r.Uint32()),
	}
	return e.WithText(texts[r.IntN(len(texts))])
}

// written returns a log of random events, and the events.
func written(t *testing.T, n int) ([]byte, []Event) {
	t.Helper()
	r := rand.New(rand.NewPCG(1, uint64(n)))
	var out bytes.Buffer
	w, err := NewWriter(&out, Header{Program: "test", Board: "emu", Hz: 7, Map: 9, Observed: true})
	require.NoError(t, err)
	var all []Event
	var newest uint64 // time
	for i := range n {
		e := random(r, uint64(i+1))
		e.ID = uint64(i + 1)
		require.Equal(t, e.ID, w.Add(e))
		if newest = max(newest, e.Time); e.Kind == End && e.Time == 0 {
			e.Time = newest
		}
		all = append(all, e)
	}
	require.NoError(t, w.Flush())
	return out.Bytes(), all
}

// same compares an event with the one that was written.
func same(t *testing.T, want, got Event) {
	t.Helper()
	assert.Equal(t, want.Text(), got.Text())
	assert.Equal(t, want.Text() != "", got.HasText())
	assert.Equal(t, string(want.Data), string(got.Data))
	want.Data, got.Data, want.text, got.text, got.template, got.numbers, got.number = nil, nil, "", "", "", nil, 0
	require.Equal(t, want, got)
}

func TestRoundTrip(t *testing.T) {
	log, want := written(t, 3000)
	l, err := NewReader(bytes.NewReader(log))
	require.NoError(t, err)
	assert.Equal(t, "test emu 7 9 true", fmt.Sprint(l.Header.Program, " ", l.Header.Board, " ", l.Header.Hz, " ", l.Header.Map, " ", l.Header.Observed))
	var e Event
	for _, w := range want {
		require.NoError(t, l.Next(&e))
		same(t, w, e.Clone())
	}
	assert.Equal(t, io.EOF, l.Next(&e))
	assert.False(t, l.Truncated())
}

// A log that ends anywhere gives the events of its whole blocks, and goes on when more is there.
func TestTruncated(t *testing.T) {
	log, _ := written(t, 1200)
	whole := read(t, log)
	for n := 0; n < len(log); n += 1 + n/50 {
		l, err := NewReader(bytes.NewReader(log[:n]))
		if err != nil {
			assert.True(t, errors.Is(err, ErrCorrupt) || errors.Is(err, ErrFormat), "%d: %v", n, err)
			continue
		}
		var e Event
		got := 0
		for err = l.Next(&e); err == nil; err = l.Next(&e) {
			got++
			assert.EqualValues(t, got, e.ID)
		}
		assert.Equal(t, io.EOF, err, n)
		assert.LessOrEqual(t, got, whole)
	}
	grows := &growing{log: log}
	l, err := NewReader(grows)
	require.NoError(t, err)
	var e Event
	got := 0
	for got < whole {
		switch err := l.Next(&e); err {
		case nil:
			got++
		case io.EOF:
			grows.more()
		default:
			t.Fatal(err)
		}
	}
}

// growing is a file that is being written.
type growing struct {
	log []byte
	end int
	at  int
}

func (g *growing) more() { g.end = min(g.end+1000, len(g.log)) }

func (g *growing) Read(p []byte) (int, error) {
	if g.end == 0 {
		g.end = 8000 // the header
	}
	if g.at == g.end {
		return 0, io.EOF
	}
	n := copy(p, g.log[g.at:g.end])
	g.at += n
	return n, nil
}

// read returns the number of events of a log.
func read(t *testing.T, log []byte) (n int) {
	l, err := NewReader(bytes.NewReader(log))
	require.NoError(t, err)
	var e Event
	for err = l.Next(&e); err == nil; err = l.Next(&e) {
		n++
	}
	require.Equal(t, io.EOF, err)
	return n
}

// After a crash of the machine a log may end with zeros. It has the events of its whole blocks. Zeros before something
// else are damage.
func TestZeros(t *testing.T) {
	tooltest.Long(t)
	log, _ := written(t, 3000)
	l, err := NewReader(bytes.NewReader(log))
	require.NoError(t, err)
	first := int(l.at)
	for cut := first; cut < len(log); cut += 1 + len(log)/300 {
		for _, zeros := range []int{16, 4096, 100_000} {
			bad := append(bytes.Clone(log[:cut]), make([]byte, zeros)...)
			l, err := NewReader(bytes.NewReader(bad))
			require.NoError(t, err)
			var e Event
			n := 0
			for err = l.Next(&e); err == nil; err = l.Next(&e) {
				n++
			}
			require.Equal(t, io.EOF, err, "%d bytes, %d zeros", cut, zeros)
			require.Equal(t, read(t, log[:cut]), n)
			require.True(t, l.Truncated())
			require.Equal(t, io.EOF, l.Next(&e))
			require.True(t, l.Truncated())
		}
	}
	bad := append(append(bytes.Clone(log[:first]), make([]byte, 64)...), 1)
	l, err = NewReader(bytes.NewReader(bad))
	require.NoError(t, err)
	assert.ErrorIs(t, l.Next(new(Event)), ErrCorrupt)
}

// A flipped bit anywhere is found.
func TestDamaged(t *testing.T) {
	log, _ := written(t, 100)
	whole := read(t, log)
	for i := 0; i < len(log); i += 1 + i/400 {
		bad := bytes.Clone(log)
		bad[i] ^= 1 << (i % 8)
		l, err := NewReader(bytes.NewReader(bad))
		var e Event
		n := 0
		for err == nil {
			if err = l.Next(&e); err == nil {
				n++
			}
		}
		if err == io.EOF { // a length that is too large looks like the end
			assert.True(t, l.Truncated() && n < whole, "byte %d", i)
			continue
		}
		assert.True(t, errors.Is(err, ErrCorrupt) || errors.Is(err, ErrFormat) || errors.Is(err, ErrVersion), "byte %d: %v", i, err)
	}
}

func TestForeign(t *testing.T) {
	for _, text := range []string{"", "H", "PNG", "HILGPULX12345678", strings.Repeat("x", 100)} {
		_, err := NewReader(strings.NewReader(text))
		assert.Error(t, err)
		assert.True(t, errors.Is(err, ErrFormat) || text == "H" && errors.Is(err, ErrCorrupt), text)
	}
	log, _ := written(t, 1)
	log[len(magic)]++
	_, err := NewReader(bytes.NewReader(log))
	assert.ErrorIs(t, err, ErrVersion)
}

// A log of a newer program with kinds and fields of its own can be read.
func TestUnknownKinds(t *testing.T) {
	saved := Table
	defer func() { Table = saved }()
	Table = append(append([]Description(nil), saved...), Description{Kind: kinds, Name: "later", Fields: dec("a", "b")})
	Table[0].Fields = append(dec("number"), dec("later")...)
	var out bytes.Buffer
	w, err := NewWriter(&out, Header{})
	require.NoError(t, err)
	w.Add(Event{Kind: kinds, Fields: [MaxFields]uint64{5, 6}}.WithText("x"))
	w.Add(New(Call, 3, 4).WithText("Map"))
	require.NoError(t, w.Flush())
	Table = saved
	l, err := NewReader(&out)
	require.NoError(t, err)
	var e Event
	require.NoError(t, l.Next(&e))
	assert.Equal(t, "1 0 later x", e.String())
	require.NoError(t, l.Next(&e))
	assert.Equal(t, "2 0 call number=3 Map", e.String())
}

func TestRing(t *testing.T) {
	r := NewRing(4*blockBytes, Header{Board: "emu"})
	const n = 50_000
	var group sync.WaitGroup
	for range 2 {
		group.Go(func() {
			for i := range n / 2 {
				r.Add(New(Text).WithText(fmt.Sprintf("line %d", i)))
			}
		})
	}
	group.Wait()
	var out bytes.Buffer
	size, err := r.WriteTo(&out)
	require.NoError(t, err)
	assert.EqualValues(t, out.Len(), size)
	assert.Less(t, size, int64(6*blockBytes))
	l, err := NewReader(&out)
	require.NoError(t, err)
	var e Event
	first, last := uint64(0), uint64(0)
	for err = l.Next(&e); err == nil; err = l.Next(&e) {
		if first == 0 {
			first = e.ID
		}
		last = e.ID
		assert.True(t, strings.HasPrefix(e.Text(), "line "))
	}
	assert.Equal(t, io.EOF, err)
	assert.EqualValues(t, n, last)
	assert.Greater(t, first, uint64(1))
}

// failing fails at the second write.
type failing struct{ writes int }

var errFull = errors.New("full")

func (f *failing) Write(p []byte) (int, error) {
	if f.writes++; f.writes > 1 {
		return 0, errFull
	}
	return len(p), nil
}

func TestWriteError(t *testing.T) {
	w, err := NewWriter(&failing{}, Header{})
	require.NoError(t, err)
	w.Add(New(WaitEnd))
	assert.ErrorIs(t, w.Flush(), errFull)
	w.Add(New(WaitEnd))
	assert.ErrorIs(t, w.Flush(), errFull)
}

func TestTable(t *testing.T) {
	seen := map[string]bool{}
	for i, d := range Table {
		assert.EqualValues(t, i+1, d.Kind)
		assert.False(t, seen[d.Name], d.Name)
		seen[d.Name] = true
		assert.LessOrEqual(t, len(d.Fields), MaxFields, d.Name)
		assert.NotEmpty(t, d.Doc)
	}
	assert.Len(t, Table, int(kinds)-1)
}

func BenchmarkRead(b *testing.B) {
	var out bytes.Buffer
	w, _ := NewWriter(&out, Header{}) // a buffer takes everything
	for i := range 100_000 {
		w.Add(Event{Kind: DDI, Time: uint64(i), Thread: 1}.WithText(fmt.Sprintf(`{"at":"enter","seq":%d,"name":"pfnResourceCopy","cycle":%d}`, i, i)))
	}
	w.Flush()
	b.ResetTimer()
	var e Event
	l, _ := NewReader(bytes.NewReader(out.Bytes()))
	for range b.N {
		if l.Next(&e) != nil {
			l, _ = NewReader(bytes.NewReader(out.Bytes()))
		}
	}
}

// Last has the events up to the first failure. A restart, or another board, withdraws a stop, but not what Failed notes.
func TestLastUpToTheFailure(t *testing.T) {
	warning, broken, reset := New(Broken, 0), New(Broken, 1), New(Reset).WithText("node 1, fence 2\nmore")
	for name, tt := range map[string]struct {
		events []Event
		failed int // number of events before the call of Failed; 0: no call
		want   uint64
	}{
		"nothing":                 {[]Event{New(Message), New(Reset), warning, New(Message)}, 0, 4},
		"a stop":                  {[]Event{New(Message), New(Stop), New(Message), New(Stop), New(Message)}, 0, 2},
		"a broken rule":           {[]Event{New(Message), broken, New(Stop), New(Message)}, 0, 2},
		"a failure":               {[]Event{New(Message), New(Message), New(Stop), New(Restart)}, 2, 2},
		"a stop, found later":     {[]Event{New(Message), New(Stop), New(Message), New(Restart), New(Message)}, 3, 2},
		"a restart":               {[]Event{New(Stop), New(Restart), New(Message)}, 0, 3},
		"a stop after a restart":  {[]Event{New(Stop), New(Restart), New(Stop), New(Message)}, 0, 3},
		"another board":           {[]Event{New(Open), New(Stop), New(Open), New(Message)}, 0, 4},
		"a reset that is named":   {[]Event{New(Message), reset, New(Reset).WithText("node 1, fence 3"), New(Message), New(Stop)}, 4, 2},
		"a stop before one":       {[]Event{New(Stop).WithText("node 2"), reset, New(Message)}, 3, 2},
		"a reset without reason":  {[]Event{New(Reset), New(Message), New(Message)}, 2, 2},
		"a failure after restart": {[]Event{New(Stop), New(Restart), New(Message), New(Message)}, 3, 3},
	} {
		r := NewRing(1<<20, Header{})
		for i, e := range tt.events {
			r.Add(e)
			if i+1 == tt.failed {
				r.Failed("a failure: node 1, fence 2: it is lost")
			}
		}
		lines := strings.Split(strings.TrimSpace(r.Last(2)), "\n")
		require.Len(t, lines, 1+min(2, int(tt.want)), name)
		assert.True(t, strings.HasPrefix(lines[len(lines)-1], fmt.Sprint(tt.want, " ")), "%s: %s", name, lines)
		total := fmt.Sprintf("of %d events", len(tt.events))
		assert.Contains(t, lines[0], total, name)
		fails := tt.failed != 0 || name == "a stop" || name == "a broken rule" || name == "a stop after a restart"
		assert.Equal(t, fails, strings.Contains(lines[0], "up to the first failure"), name)
	}
}

// If a failure is no longer in the ring, Last has the last events of all.
func TestLastWithoutTheFailure(t *testing.T) {
	r := NewRing(2*blockBytes, Header{})
	r.Add(New(Stop))
	for range 100_000 {
		r.Add(New(Message, 1))
	}
	assert.Regexp(t, `^the last 2 of 100001 events; the log begins at event \d+, clock 0:\n100000 0 .*\n100001 0 .*\n$`, r.Last(2))
}

// The last events have no reads of a host that polls, and no calls of a driver for accesses of registers.
func TestLastWithoutPolls(t *testing.T) {
	r := NewRing(1<<20, Header{})
	read := func(offset, value uint64) { r.Add(New(Read, 0, offset, 4, value)) }
	read(0x100, 1)
	for range 50 {
		r.Add(New(DDI).WithText(`{"at":"enter","name":"READ_REGISTER_ULONG"}`))
		read(0x100, 1)
		read(0x104, 7)
		r.Add(New(DDIEnd).WithText(`{"at":"leave","name":"READ_REGISTER_ULONG"}`))
	}
	r.Add(New(Write, 0, 0x100, 4, 5))
	read(0x100, 1)
	r.Add(New(DDI).WithText(`{"at":"enter","name":"DxgkDdiPatch"}`))
	read(0x100, 2)
	lines := strings.Split(strings.TrimSpace(r.Last(5)), "\n")
	require.Len(t, lines, 6)
	for i, want := range []string{"offset=0x104", "write", "value=0x1", "DxgkDdiPatch", "value=0x2"} {
		assert.Contains(t, lines[1+i], want)
	}
}
