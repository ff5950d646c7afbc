package observer_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/boards"
	"github.com/hilgpu/hilgpu/boards/observer"
	"github.com/hilgpu/hilgpu/boards/regs"
	"github.com/hilgpu/hilgpu/bus"
)

const identity = `{"format":"hilgpu-inspect-1","program":"x","device":{},"copied":false}`

// command is a command with a board: answers by path and query. Another path is not found.
func command(t *testing.T, answers map[string]string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, ok := answers[r.URL.RequestURI()]
		code := http.StatusNotFound
		if ok {
			code = http.StatusOK
		}
		for kind, status := range map[string]int{"no_board": 503, "link": 502, "refused": 422, "register_map": 422, "usage": 400} {
			if strings.HasPrefix(text, `{"kind":"`+kind+`"`) {
				code = status
			}
		}
		if strings.HasPrefix(text, "/") {
			http.Redirect(w, r, text, http.StatusFound)
			return
		}
		w.WriteHeader(code)
		w.Write([]byte(text))
	}))
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://")
}

func TestReads(t *testing.T) {
	at := command(t, map[string]string{
		"/api/identity":              identity,
		"/api/bar0?off=0x1000&len=8": `{"offset":"0x1000","values":["0x1","0xfe000002"],"age_ms":3}`,
		"/api/bar0?off=0x8&len=8":    `{"offset":"0x8","values":["0x1"],"age_ms":3}`,
		"/api/bar0?off=0x18&len=4":   `{"kind":"refused","error":"why not"}`,
		"/api/bar0?off=0x20&len=4":   `{"kind":"link","error":"cut"}`,
		"/api/bar0?off=0x24&len=4":   `{"kind":"no_board","error":"gone"}`,
		"/api/bar0?off=0x28&len=4":   `{"kind":"register_map","error":"other"}`,
		"/api/bar0?off=0x2c&len=4":   `{"kind":"usage","error":"bad"}`,
		"/api/config?off=0x10":       `{"offset":"0x10","values":["0xe0000000"],"age_ms":0}`,
		"/api/config?off=0x14":       `{"offset":"0x14","values":[],"age_ms":0}`,
	})
	link, clock, err := boards.Open("inspect:"+at, regs.NoMemory{})
	require.NoError(t, err)
	p := make([]byte, 8)
	require.NoError(t, link.Read(0, 0x1000, p))
	assert.Equal(t, []byte{1, 0, 0, 0, 2, 0, 0, 0xfe}, p)
	require.NoError(t, link.Read(0, 0x1000, nil))
	v, err := link.ReadConfig(0x10)
	require.NoError(t, err)
	assert.EqualValues(t, 0xe0000000, v)
	for off, want := range map[uint64]error{
		0x18: observer.ErrReadOnly, 0x20: bus.ErrLinkDown, 0x24: observer.ErrServer, 0x28: regs.ErrMapHash, 0x2c: bus.ErrArgument, 0x30: observer.ErrServer, 2: bus.ErrArgument,
	} {
		require.ErrorIs(t, link.Read(0, off, p[:4]), want, "%#x", off)
	}
	require.ErrorIs(t, link.Read(0, 8, p), observer.ErrServer, "a short answer")
	require.ErrorIs(t, link.Read(2, 0, p), bus.ErrUnsupported)
	require.ErrorIs(t, link.Read(7, 0, p), bus.ErrArgument)
	_, err = link.ReadConfig(0x14)
	require.ErrorIs(t, err, observer.ErrServer)
	_, err = link.ReadConfig(0x1000)
	require.ErrorIs(t, err, bus.ErrArgument)
	for _, err := range []error{link.Write(0, 4, p[:4]), link.WriteConfig(4, 1)} {
		require.ErrorIs(t, err, bus.ErrUnsupported)
		assert.ErrorContains(t, err, "a board in use is read-only: ")
	}
	_, err = clock.Wait(5)
	require.NoError(t, err)
	assert.EqualValues(t, 5, clock.Now())
	require.NoError(t, link.Close())
	require.ErrorIs(t, link.Read(0, 0x1000, p), bus.ErrClosed)
	require.ErrorIs(t, link.Write(0, 4, p[:4]), bus.ErrClosed)
}

// Open fails with one error if no command with a board answers.
func TestOpenErrors(t *testing.T) {
	for name, tt := range map[string]struct {
		answer string
		want   error
		says   string
	}{
		"another server":     {"<html>", observer.ErrServer, "is no hilgpu with --inspect"},
		"another version":    {`{"format":"hilgpu-inspect-2"}`, observer.ErrServer, "it is no hilgpu-inspect-1"},
		"a redirection":      {"/elsewhere", observer.ErrServer, "is no hilgpu with --inspect"},
		"no board":           {`{"kind":"no_board","error":"inspect: no board is open"}`, observer.ErrServer, "no board is open"},
		"a link that failed": {`{"kind":"link","error":"cut"}`, bus.ErrLinkDown, "cut"},
		"an unknown failure": {`{"kind":"odd","error":"x"}`, observer.ErrServer, "another"},
	} {
		at := command(t, map[string]string{"/api/identity": tt.answer})
		_, _, err := observer.Open(at)
		require.ErrorIs(t, err, tt.want, name)
		assert.NotContains(t, err.Error(), "\n", name)
		if name != "an unknown failure" {
			assert.ErrorContains(t, err, tt.says, name)
		}
	}
	_, _, err := observer.Open("127.0.0.1:1")
	require.ErrorIs(t, err, bus.ErrLinkDown)
	for at, want := range map[string]string{"4001": "127.0.0.1:4001", ":4001": "127.0.0.1:4001", "host:80": "host:80", "[::1]:5": "[::1]:5", "x": "", "a:b:c": "", "host:": "", "1:99999": ""} {
		got, err := observer.Address(at)
		assert.Equal(t, want, got, at)
		assert.Equal(t, want == "", err != nil, at)
	}
}

// A link that failed stays down, with the first cause.
func TestDownIsSticky(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte(identity)) }))
	link, clock, err := observer.Open(strings.TrimPrefix(s.URL, "http://"))
	require.NoError(t, err)
	s.Close()
	p := make([]byte, 4)
	first := link.Read(0, 0, p)
	require.ErrorIs(t, first, bus.ErrLinkDown)
	assert.Equal(t, first, link.Read(0, 4, p))
	_, err = clock.Wait(1)
	assert.Equal(t, first, err)
}
