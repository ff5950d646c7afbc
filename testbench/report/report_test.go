package report_test

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/rtl/abi/regmap"
	"github.com/hilgpu/hilgpu/testbench/eventlog"
	"github.com/hilgpu/hilgpu/testbench/report"
)

// logOf returns a log of events.
func logOf(t testing.TB, h eventlog.Header, all ...eventlog.Event) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := eventlog.NewWriter(&b, h)
	require.NoError(t, err)
	for _, e := range all {
		w.Add(e)
	}
	require.NoError(t, w.Flush())
	return b.Bytes()
}

// late returns an event at clock 1500.
func late(e eventlog.Event) eventlog.Event {
	e.Time = 1500
	return e
}

// opener returns what opens a log.
func opener(log []byte) func() (io.ReadCloser, error) {
	return func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(log)), nil }
}

// pageOf returns the page of a source. It loads nothing.
func pageOf(t testing.TB, s *report.Source) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, s.Write(&b))
	loadsNothing(t, b.String())
	return b.String()
}

// loadsNothing: an address in a page is in the page.
func loadsNothing(t testing.TB, page string) {
	t.Helper()
	for _, m := range regexp.MustCompile(`(?i)<[^>]*\s(?:src|href|srcset|action|data)\s*=\s*["']?([^"'\s>]*)`).FindAllStringSubmatch(page, -1) {
		assert.Regexp(t, `^(data:|#)`, m[1], m[0])
	}
	assert.NotRegexp(t, `(?i)<link|<script|@import|https?:|url\(`, page)
}

// sample returns a log with one of each that a page shows.
func sample(t testing.TB) []byte {
	t.Helper()
	packet := eventlog.New(eventlog.Packet, 1, 0x40)
	packet.Data, _ = pkt.Copy{Src: 0x100, Dst: 0x200, Bytes: 48}.Append(nil)
	read := func(offset, value uint64) eventlog.Event { return eventlog.New(eventlog.Read, 0, offset, 4, value) }
	return logOf(t, eventlog.Header{Program: "mine", Board: "emu?seed=<1>", Hz: 1e6, Map: regmap.Hash(), Observed: true},
		eventlog.New(eventlog.Call, 1).WithText("CopyResource"),
		eventlog.New(eventlog.DDI).WithText(`{"at":"enter","seq":1,"name":"pfnResourceCopy"}`),
		eventlog.New(eventlog.Queue, 1, 0, 7, 0x10, 0x1000, 0x40, 0x58).WithText("DxgkDdiRender"),
		packet,
		eventlog.New(eventlog.Submit, 1),
		read(offset(t, "CP0.CTL"), 0), read(offset(t, "CP0.CTL"), 1), eventlog.New(eventlog.Write, 0, offset(t, "CP0.CTL"), 4, 2),
		read(offset(t, "CP0.STATUS"), 0x3),
		read(0xfffc, 0x1234),
		eventlog.New(eventlog.Write, 0, offset(t, "CP0.RING_SIZE"), 4, 0x1000),
		eventlog.New(eventlog.Executed, 0, pkt.Host|0x1040, uint64(pkt.OpCopy)<<24|5),
		eventlog.New(eventlog.Executed, 0, pkt.Host|0x2000, uint64(pkt.OpFence)<<24|4),
		eventlog.New(eventlog.Queue, 2, 1, 9, 0, 0x3000, 0, 0x18, 0).WithText("paging buffer"),
		eventlog.New(eventlog.Paging, 2, 0x30, 0, 0x5000, 1, 0, 4096).WithText("TRANSFER"),
		eventlog.New(eventlog.Stop, 0, 7).WithText("it <stopped>\nring\nmore"),
		eventlog.New(eventlog.Broken).WithText("rule-of-three: two"),
	)
}

// offset returns the offset of a register.
func offset(t testing.TB, name string) uint64 {
	t.Helper()
	e, ok := regmap.New().Find(name)
	require.True(t, ok, name)
	return uint64(e.Off())
}

func TestPage(t *testing.T) {
	s := &report.Source{Title: "a run", Log: opener(sample(t)), Chain: func(e eventlog.Event) string { return fmt.Sprintf("chain of %s %d", e.Name(), e.ID) }}
	page := pageOf(t, s)
	for name, want := range map[string]string{
		"header":          `<td>emu?seed=&lt;1&gt;</td>`,
		"stop":            `it &lt;stopped&gt;<details><summary>details</summary><pre>ring` + "\nmore</pre>",
		"rule":            `rule-of-three: two`,
		"chain":           `chain of broken 17`,
		"submission":      `1: DxgkDdiRender, node 0, fence 7, context 0x10, buffer HOST&#43;0x1000: <span class="changed">in the hardware until the adapter was stopped</span>`,
		"packet":          `0x8000000000001040 COPY src=VRAM&#43;0x100 dst=VRAM&#43;0x200 bytes=48`,
		"executed":        `0x8000000000001040 COPY src=VRAM&#43;0x100 dst=VRAM&#43;0x200 bytes=48, until`,
		"other executed":  `0x8000000000002000 FENCE header 0x10000004`,
		"only written":    `RING_SIZE (last written 0x1000)`,
		"operation":       `TRANSFER of allocation 0x30, 4096 bytes`,
		"last read":       `<td>CTL</td><td>0x1000</td><td>0x1, later written 0x2</td>`,
		"changed field":   `RUN</td><td class="changed">1</td><td>0</td>`,
		"unchanged":       `RESET</td><td>0</td><td>0</td>`,
		"not read":        `unknown, not read: STATUS`,
		"unknown":         `<td>0xfffc</td><td>0xfffc</td><td>0x1234</td><td colspan="4" class="unknown">unknown</td>`,
		"method":          `<li>CopyResource: 1</li>`,
		"function":        `<li>pfnResourceCopy: 1</li>`,
		"opcode":          `<li>COPY: 1</li>`,
		"row of a queue":  `context 0x10, node 0: hardware</text>`,
		"mark of a fault": `<title>stop: it &lt;stopped&gt;</title>`,
	} {
		assert.Contains(t, page, want, name)
	}
	assert.NotContains(t, page, "<stopped>")
}

// The error of the command is on the page. A warning is explained by its fence, and not by the end of the run.
func TestEndAndWarnings(t *testing.T) {
	log := logOf(t, eventlog.Header{Program: "mine", Board: "emu", Hz: 1e6, Map: regmap.Hash(), Observed: true},
		eventlog.New(eventlog.Link).WithText("session begins"),
		eventlog.New(eventlog.Open, 1e6, 1).WithText("emu"),
		eventlog.New(eventlog.Queue, 1, 0, 7, 0x10, 0x1000, 0x40, 0x58).WithText("DxgkDdiRender"),
		eventlog.New(eventlog.Packet, 1, 0x40),
		eventlog.New(eventlog.Executed, 0, pkt.Host|0x1040, uint64(pkt.OpCopy)<<24|5),
		eventlog.New(eventlog.Broken).WithText("verifier: interrupt-lost: node 0: fence 7 completed, but nothing reported it"),
		eventlog.New(eventlog.Broken).WithText("verifier: leaked-resource: a buffer"),
		late(eventlog.New(eventlog.End).WithText("check failed: 3 pixels differ")))
	page := pageOf(t, &report.Source{Title: "a run", Log: opener(log)})
	begin, end := strings.Index(page, `id="incidents"`), strings.Index(page, `id="submissions"`)
	rows := strings.Split(page[begin:end], `<td class="n">`)
	require.Len(t, rows, 5)
	assert.NotContains(t, rows[1], "what led to it", "a link that comes up")
	assert.Contains(t, rows[2], "<pre>fence 7 of node 0: ")
	assert.NotContains(t, rows[3], "what led to it")
	assert.Contains(t, rows[4], `<td class="t">1500 (1500.000 µs)</td>`)
	assert.Contains(t, rows[4], "<td>end</td><td>check failed: 3 pixels differ")
	assert.Contains(t, rows[4], "<pre>fault: the command ended with an error: check failed: 3 pixels differ")
	assert.Contains(t, page, "0x8000000000001040 COPY header 0x04000005", "a packet of which the log has nothing")
	assert.NotContains(t, page, "nothing stopped the run")
}

// Submissions without packets do not push out those with packets.
func TestSubmissionsWithPackets(t *testing.T) {
	packet := eventlog.New(eventlog.Packet, 1, 0)
	packet.Data, _ = pkt.Copy{Src: 0x100, Dst: 0x200, Bytes: 48}.Append(nil)
	all := []eventlog.Event{eventlog.New(eventlog.Queue, 1, 0, 7, 0x10, 0x1000, 0, 0x18).WithText("DxgkDdiRender"), packet, eventlog.New(eventlog.Submit, 1), eventlog.New(eventlog.Retire, 1)}
	for n := range uint64(12) { // all are queued before one retires, as when a device destroys its resources
		all = append(all, eventlog.New(eventlog.Queue, n+2, 1, n+1, 0, 0x3000, 0, 0).WithText("paging buffer"))
	}
	for n := range uint64(12) {
		all = append(all, eventlog.New(eventlog.Submit, n+2), eventlog.New(eventlog.Retire, n+2))
	}
	page := pageOf(t, &report.Source{Title: "a run", Log: opener(logOf(t, eventlog.Header{Hz: 1e6, Map: regmap.Hash(), Observed: true}, all...))})
	assert.Contains(t, page, "1: DxgkDdiRender, node 0, fence 7")
	assert.Contains(t, page, "13: paging buffer")
	assert.NotContains(t, page, "2: paging buffer, node 1, fence 1,")
}

// Of several boards the page has the registers and submissions of the last one.
func TestBoards(t *testing.T) {
	page := pageOf(t, &report.Source{Log: opener(logOf(t, eventlog.Header{Board: "emu", Map: regmap.Hash()},
		eventlog.New(eventlog.Open, 100, 1).WithText("emu"), eventlog.New(eventlog.Queue, 1, 0, 1, 0x10).WithText("first"), eventlog.New(eventlog.Read, 0, 0x1000, 4, 1),
		eventlog.New(eventlog.Open, 100, 0).WithText("emu?nodes=1"), eventlog.New(eventlog.Queue, 1, 0, 1, 0x10).WithText("second"),
	))})
	assert.Contains(t, page, "<td>2: emu, emu?nodes=1; submissions")
	assert.Contains(t, page, "1: second, node 0")
	assert.NotContains(t, page, "1: first, node 0")
	assert.Contains(t, page, "CP0: unknown, not read: CTL")
}

// A log of another register map has no names of registers.
func TestOtherMap(t *testing.T) {
	page := pageOf(t, &report.Source{Log: opener(logOf(t, eventlog.Header{Hz: 1, Map: regmap.Hash() + 1}, eventlog.New(eventlog.Read, 0, 0x1000, 4, 1)))})
	assert.Contains(t, page, "another register map")
	assert.Contains(t, page, "<td>0x1000</td><td>0x1000</td><td>0x1</td>")
	assert.NotContains(t, page, "RING_BASE_LO")
	assert.Contains(t, page, "unknown: the log has what the host sees")
}

// picture returns an image with some red pixels.
func picture(t testing.TB, red ...image.Point) []byte {
	t.Helper()
	m := image.NewNRGBA(image.Rect(0, 0, 4, 3))
	for i := range m.Pix {
		m.Pix[i] = 255
	}
	for _, p := range red {
		m.Set(p.X, p.Y, color.NRGBA{255, 0, 0, 255})
	}
	var b bytes.Buffer
	require.NoError(t, png.Encode(&b, m))
	return b.Bytes()
}

// write writes the files of a folder.
func write(t testing.TB, files map[string][]byte) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), text, 0o600))
	}
	return dir
}

func TestFolder(t *testing.T) {
	dir := write(t, map[string][]byte{
		report.LogFile: sample(t), report.MessagesFile: []byte("3 is not 4"), report.DumpFile: []byte("a dump"), report.ReadmeFile: []byte("repeat: it"),
		"frame-got.png": picture(t, image.Pt(1, 2)), "frame-expected.png": picture(t), "wave.vcd": nil,
	})
	s, err := report.Open(dir)
	require.NoError(t, err)
	page := pageOf(t, s)
	for _, want := range []string{"3 is not 4", "a dump", "repeat: it", "<li>wave.vcd</li>", "CopyResource"} {
		assert.Contains(t, page, want)
	}
	assert.Equal(t, 3, strings.Count(page, `src="data:image/png;base64,`))
	require.Len(t, s.Frames, 3)
	assert.Equal(t, []string{"frame-got.png", "frame-expected.png", "frame-difference.png"}, []string{s.Frames[0].Name, s.Frames[1].Name, s.Frames[2].Name})
	diff, err := png.Decode(bytes.NewReader(s.Frames[2].PNG))
	require.NoError(t, err)
	for y := range 3 {
		for x := range 4 {
			r, g, _, _ := diff.At(x, y).RGBA()
			assert.Equal(t, x == 1 && y == 2, r != g, "%d,%d", x, y)
		}
	}
}

func TestErrors(t *testing.T) {
	_, err := report.Open(filepath.Join(t.TempDir(), "none"))
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = report.Open(write(t, map[string][]byte{"other": nil}))
	require.ErrorIs(t, err, report.ErrFolder)
	s, err := report.Open(write(t, map[string][]byte{report.MessagesFile: []byte("one")}))
	require.NoError(t, err)
	assert.NotContains(t, pageOf(t, s), "Timeline")
	require.ErrorIs(t, s.WriteTimeline(io.Discard), report.ErrFolder)
	s, err = report.Open(filepath.Join(write(t, map[string][]byte{"x": []byte("other")}), "x"))
	require.NoError(t, err)
	require.ErrorIs(t, s.Write(io.Discard), eventlog.ErrFormat)
}

// A page stays small, whatever the log has.
func TestLimits(t *testing.T) {
	var all []eventlog.Event
	at := func(e eventlog.Event) {
		e.Time = uint64(len(all))
		all = append(all, e)
	}
	packet := eventlog.New(eventlog.Packet, 1)
	packet.Data, _ = pkt.Copy{Bytes: 1}.Append(nil)
	for i := range uint64(20000) {
		at(eventlog.New(eventlog.Executed, i%2, 8*i, uint64(pkt.OpCopy)<<24))
		packet.Fields = [eventlog.MaxFields]uint64{1 + i/1000, 4 * i}
		if i%1000 == 0 {
			at(eventlog.New(eventlog.Queue, 1+i/1000, 0, i, 1))
		}
		at(packet)
		if i%50 == 0 {
			at(eventlog.New(eventlog.Broken).WithText(strings.Repeat("long\n", 4000)))
		}
	}
	page := pageOf(t, &report.Source{Log: opener(logOf(t, eventlog.Header{Hz: 1e6, Observed: true}, all...))})
	assert.Less(t, len(page), 5<<20)
	assert.Less(t, strings.Count(page, "<rect"), 3100)
	assert.Greater(t, strings.Count(page, "<rect"), 300)
	assert.Contains(t, page, "and 800 more")
	assert.Contains(t, page, "300 earlier ones are only in the log")
}

// Long texts of a folder are shown up to a whole line, and the page says how much is left out.
func TestLongTexts(t *testing.T) {
	long := strings.Repeat("0123456789 <&>\n", 800_000)
	s, err := report.Open(write(t, map[string][]byte{report.MessagesFile: []byte(long), report.DumpFile: []byte(long), report.ReadmeFile: []byte(strings.Repeat("x", 300_000))}))
	require.NoError(t, err)
	page := pageOf(t, s)
	assert.Less(t, len(page), 5<<20)
	assert.Contains(t, page, "&lt;&amp;&gt;\n... 11737860 more bytes are in messages.txt")
	assert.Contains(t, page, "more bytes are in dump.txt")
	assert.Contains(t, page, "x... 37856 more bytes are in README.txt")
}

// On a board that does not tell what its nodes execute, the page has the packets of the rings. Those up to the last
// fence in memory have ended, and the others are unknown.
func TestRingOnAWire(t *testing.T) {
	packet := func(node, at uint64, p pkt.Packet) eventlog.Event { return ringPacket(t, node, at, p) }
	page := pageOf(t, &report.Source{Log: opener(logOf(t, eventlog.Header{Hz: 1e6},
		packet(0, 0x00, pkt.Indirect{Addr: pkt.Host | 0x9000, Dwords: 6}),
		packet(0, 0x10, pkt.Fence{Addr: pkt.Host | 0x8000, ID: 1}),
		packet(1, 0x00, pkt.Fence{Addr: pkt.Host | 0x8008, ID: 1}),
		packet(0, 0x30, pkt.Indirect{Addr: pkt.Host | 0x9100, Dwords: 6}),
		written(0x8000, 1, 2000),
		packet(0, 0x40, pkt.Fence{Addr: pkt.Host | 0x8000, ID: 2}),
		written(0x8010, 2, 2100), // elsewhere
		written(0x8000, 3, 2200), // another value
	))})
	assert.Equal(t, []string{"040 FENCE unknown", "030 INDIRECT unknown", "010 FENCE ended by", "000 INDIRECT ended by", "000 FENCE unknown"}, ringOf(page))
	assert.Contains(t, page, "The board does not tell what its nodes execute.")
	assert.NotContains(t, page, "It executed no packet.")
}

// ringPacket is a packet that the host puts into the ring of a node, at a place in host memory.
func ringPacket(t *testing.T, node, at uint64, p pkt.Packet) eventlog.Event {
	data, err := p.Append(nil)
	require.NoError(t, err)
	e := eventlog.New(eventlog.RingPacket, node, pkt.Host|at)
	e.Data, e.Time = data, 1000+at
	return e
}

// written is a write of a fence by the GPU.
func written(addr, value, time uint64) eventlog.Event {
	e := eventlog.New(eventlog.Memory, addr, 8, value)
	e.Time = time
	return e
}

// ringOf returns the packets of rings of a page, with their place and what is known of them.
func ringOf(page string) (all []string) {
	for _, m := range regexp.MustCompile(`(?m)0x8000000000000(\w\w\w) (\w+) .*, (ended by|unknown|taken back)`).FindAllStringSubmatch(page, -1) {
		all = append(all, m[1]+" "+m[2]+" "+m[3])
	}
	return all
}

// A node does not go on with its packets after a preemption, a reset, a stop, or if the host puts others in their place.
// A later fence does not end them.
func TestRingTakenBack(t *testing.T) {
	fence := func(node, at, id uint64) eventlog.Event {
		return ringPacket(t, node, at, pkt.Fence{Addr: pkt.Host | (0x8000 + 8*node), ID: uint32(id)})
	}
	queue := eventlog.New(eventlog.Queue, 5, 0, 2)
	for name, tt := range map[string]struct {
		between []eventlog.Event
		next    uint64 // place of the packet after them
		state   string // of fence 2 of node 0
		other   string // of fence 7 of node 1
	}{
		"nothing":                {nil, 0x140, "ended by", "unknown"},
		"a preemption":           {[]eventlog.Event{queue, eventlog.New(eventlog.Preempted, 5)}, 0x140, "taken back", "unknown"},
		"one of another node":    {[]eventlog.Event{eventlog.New(eventlog.Queue, 5, 1, 7), eventlog.New(eventlog.Preempted, 5)}, 0x140, "ended by", "taken back"},
		"a reset":                {[]eventlog.Event{eventlog.New(eventlog.Reset, 0, 0)}, 0x140, "taken back", "unknown"},
		"one of the other":       {[]eventlog.Event{eventlog.New(eventlog.Reset, 0, 1)}, 0x140, "ended by", "taken back"},
		"a stop":                 {[]eventlog.Event{eventlog.New(eventlog.Stop, 1)}, 0x140, "taken back", "taken back"},
		"a packet in its place":  {nil, 0x120, "taken back", "unknown"},
		"a packet before it":     {nil, 0x110, "taken back", "unknown"},
		"a wrap":                 {nil, 0x034, "ended by", "unknown"},
		"the end of the last is": {[]eventlog.Event{written(0x8000, 2, 1900), eventlog.New(eventlog.Stop, 0)}, 0x140, "ended by", "taken back"},
	} {
		all := append([]eventlog.Event{fence(0, 0x100, 1), written(0x8000, 1, 1500), fence(1, 0x900, 7), fence(0, 0x120, 2)}, tt.between...)
		all = append(all, fence(0, tt.next, 3), written(0x8000, 3, 2000))
		got := ringOf(pageOf(t, &report.Source{Log: opener(logOf(t, eventlog.Header{Hz: 1e6}, all...))}))
		assert.Equal(t, []string{fmt.Sprintf("%03x FENCE ended by", tt.next), "120 FENCE " + tt.state, "100 FENCE ended by", "900 FENCE " + tt.other}, got, name)
	}
}

// On a board that tells what its nodes execute, a node may have executed nothing.
func TestNodeThatExecutedNothing(t *testing.T) {
	page := pageOf(t, &report.Source{Log: opener(logOf(t, eventlog.Header{Hz: 1e6, Observed: true}, ringPacket(t, 1, 0x10, pkt.Fence{Addr: pkt.Host | 0x8000, ID: 1})))})
	assert.Contains(t, page, "It executed no packet.")
	assert.NotContains(t, page, "The board does not tell")
}
