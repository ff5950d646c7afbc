package inspect

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

// watched is an answer whose text is shown to a function.
type watched struct {
	http.ResponseWriter
	show func(text string)
}

func (w watched) Write(p []byte) (int, error) {
	w.show(string(p))
	return w.ResponseWriter.Write(p)
}

// Unwrap lets the server flush.
func (w watched) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// TestPage: a browser shows the identity, the registers with their fields, the reason why one is
// not read, a change, the nodes and the log. The server ends the stream after the change, since
// the browser prints the page when nothing is loaded any more.
func TestPage(t *testing.T) {
	tooltest.Long(t)
	tooltest.Need(t, "chromium")
	s, link := serve(t, "emu")
	inner := s.handler()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, end := context.WithCancel(r.Context())
		defer end()
		inner.ServeHTTP(watched{w, func(text string) {
			switch {
			case strings.HasPrefix(text, "event: log"): // the first state is sent
				assert.NoError(t, link.Write(0, idreg.Scratch3, []byte{0x77, 0, 0, 0}))
			case strings.Contains(text, `"0x77"`) && r.URL.Path == "/events":
				time.AfterFunc(200*time.Millisecond, end)
			}
		}}, r.WithContext(ctx))
	}))
	defer server.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	dom := domOf(t, ctx, server.URL+"/#id.scratch2")
	for _, want := range []string{
		`<small id="identity">test, GPU 1.0, 2 nodes, VRAM 16777216 bytes, map `, ", read from a copy without clocks</small>",
		"CP0: ring of 0 dwords at VRAM+0x0, RPTR 0, WPTR 0, 0 dwords wait, fence 0", "CP1.STATUS=0x1 (IDLE=1 ",
		`<pre id="log">one` + "\ntwo</pre>", "239 of 239 registers",
	} {
		assert.Contains(t, dom, want)
	}
	rows := map[string]string{}
	for _, m := range regexp.MustCompile(`<tr(?: class="([^"]*)")?><td>([^<]+)</td><td>[^<]+</td><td class="value">([^<]*)</td><td class="fields">([^<]*)</td>`).FindAllStringSubmatch(dom, -1) {
		rows[m[2]] = m[1] + "|" + m[3] + "|" + m[4]
	}
	assert.Len(t, rows, 239)
	assert.Equal(t, "|0x47504c48|", rows["id.magic"])
	assert.Regexp(t, `<tr><td class="doc" colspan="5"><p>\d+ reads?.*</p><code>0x0: \d+</code><div class="bar"><i style="width: 100%;"></i></div></td></tr>`, dom, "the samples of the register in the address")
	assert.Equal(t, "new|0x77|", rows["id.scratch3"], "a change is marked")
	assert.Equal(t, "|0x1|idle=1 fault=0 state=NEXT in_ib=0 ring=IDLE walk=IDLE issue=IDLE sync=IDLE", rows["cp0.status"])
	assert.Contains(t, rows["id.time_lo"], "unread|not read|a read of id.time_lo has the effect latch")
}

// domOf returns what a browser makes of a page.
func domOf(t *testing.T, ctx context.Context, url string) string {
	t.Helper()
	out, err := exec.CommandContext(ctx, "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
		"--user-data-dir="+t.TempDir(), "--virtual-time-budget=1000", "--dump-dom", url).Output()
	require.NoError(t, err)
	return string(out)
}

// The samples of a register tell the times between its reads. An encoded name in the address is that of the register, and
// clicks before the first answer leave one table.
func TestPageOfSamples(t *testing.T) {
	tooltest.Long(t)
	tooltest.Need(t, "chromium")
	for _, tt := range []struct{ samples, want, script string }{
		{`{"count": 1, "last_ms": 0, "least_ms": 0, "most_ms": 0}`, "1 read", ""},
		{`{"count": 2, "last_ms": 5, "least_ms": 5, "most_ms": 5}`, "2 reads, the last two 5 ms apart", ""},
		{`{"count": 3, "last_ms": 5, "least_ms": 4, "most_ms": 5}`, "3 reads, the last two 5 ms apart, all 4 to 5 ms", ""},
		{`{"count": 1}`, "1 read", "<script>events.addEventListener('ring', () => { for (let i = 0; i < 2; i++) rows.get('id.scratch2').tr.click(); }, { once: true });</script>"},
	} {
		s, _ := serve(t, "emu")
		inner := s.handler()
		over, end := context.WithCancel(t.Context())
		var asked []string
		var mu sync.Mutex
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch {
			case strings.HasPrefix(r.URL.Path, "/api/register/"):
				mu.Lock()
				asked = append(asked, r.URL.Path)
				mu.Unlock()
				time.Sleep(100 * time.Millisecond) // the clicks come first
				fmt.Fprintf(w, `{"registers": [{"samples": %s}]}`, tt.samples)
				time.AfterFunc(500*time.Millisecond, end)
			case r.URL.Path == "/":
				inner.ServeHTTP(w, r)
				fmt.Fprint(w, tt.script)
			default:
				ctx, stop := context.WithCancel(r.Context())
				defer stop()
				context.AfterFunc(over, stop)
				inner.ServeHTTP(w, r.WithContext(ctx))
			}
		}))
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		dom := domOf(t, ctx, server.URL+"/#id%2Escratch2")
		cancel()
		server.Close()
		end()
		assert.Equal(t, 1, strings.Count(dom, `<td class="doc" colspan="5">`), tt.want)
		assert.Contains(t, dom, `<td class="doc" colspan="5"><p>`+tt.want+`</p>`)
		for _, path := range asked {
			assert.Equal(t, "/api/register/id.scratch2", path)
		}
		assert.Len(t, asked, map[bool]int{true: 1, false: 2}[tt.script == ""], "questions")
	}
}
