package inspect

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"regexp"
	"strings"
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
	out, err := exec.CommandContext(ctx, "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
		"--user-data-dir="+t.TempDir(), "--virtual-time-budget=1000", "--dump-dom", server.URL+"/#id.scratch2").Output()
	require.NoError(t, err)
	dom := string(out)
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
