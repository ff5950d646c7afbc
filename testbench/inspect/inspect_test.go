package inspect

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/boards"
	"github.com/hilgpu/hilgpu/boards/observer"
	"github.com/hilgpu/hilgpu/boards/regs"
	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/rtl/abi/reg"
	"github.com/hilgpu/hilgpu/rtl/abi/regmap"
)

// lines is a log.
type lines []string

func (l lines) Tail(n int) []string { return l[max(0, len(l)-n):] }

// serve returns a server of a board that is set up, and the link of its command.
func serve(t *testing.T, selector string) (*Server, bus.Link) {
	t.Helper()
	s, err := Serve("0", Options{Program: "test", Log: lines{"one", "two"}})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Close()) })
	link, _, err := boards.OpenWith(selector, regs.NoMemory{}, boards.Options{Share: s.Share})
	require.NoError(t, err)
	_, err = regs.Open(link, regs.Options{})
	require.NoError(t, err)
	return s, link
}

// ask sends a request and returns the status and the body.
func ask(t *testing.T, s *Server, method, path, host string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, "http://"+s.Addr+path, nil)
	require.NoError(t, err)
	r.Host = host
	a, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer a.Body.Close()
	b, err := io.ReadAll(a.Body)
	require.NoError(t, err)
	return a.StatusCode, string(b)
}

// get fills to from the JSON of a path.
func get(t *testing.T, s *Server, path string, to any) {
	t.Helper()
	code, body := ask(t, s, "GET", path, "")
	require.Equal(t, http.StatusOK, code, "%s: %s", path, body)
	require.NoError(t, json.Unmarshal([]byte(body), to), path)
}

func write(t *testing.T, link bus.Link, off uint64, v byte) {
	t.Helper()
	require.NoError(t, link.Write(0, off, []byte{v, 0, 0, 0}))
}

// Every register of the map that this device has is listed, those with an effect without a value.
func TestRegisters(t *testing.T) {
	for _, selector := range []string{"emu", "line"} {
		s, link := serve(t, selector)
		write(t, link, idreg.Scratch0, 0x5a)
		var all Registers
		get(t, s, "/api/registers", &all)
		i := 0
		for _, e := range regmap.New().Entries() {
			if e.Needs()&(caps.MCU|caps.Master|caps.GART) != 0 {
				continue
			}
			got := all.Registers[i]
			i++
			require.Equal(t, strings.ToLower(e.Name()), got.Name)
			unread := e.Reg.Read != reg.Plain || e.Reg.Access == reg.WO
			assert.Equal(t, unread, got.NotRead != "", got.Name)
			assert.Equal(t, unread, got.Value == "", got.Name)
			switch e.Name() {
			case "ID.SCRATCH0":
				assert.Equal(t, "0x5a", got.Value)
			case "ID.VRAM_SIZE":
				assert.Equal(t, "0x1000000", got.Value)
			case "ID.CAPS":
				assert.EqualValues(t, 2, *got.Fields[0].Value, got.Fields[0].Name)
			}
		}
		assert.Len(t, all.Registers, i)
	}
}

func TestAnswers(t *testing.T) {
	s, link := serve(t, "emu")
	var id observer.Identity
	get(t, s, "/api/identity", &id)
	assert.Equal(t, "test", id.Program)
	assert.True(t, id.Copied)
	assert.Equal(t, 2, id.Device.Nodes)
	assert.Equal(t, fmt.Sprintf("%08x", regmap.Hash()), id.Device.MapHash)
	write(t, link, idreg.Scratch1, 7)
	var one Registers
	get(t, s, "/api/register/id.scratch1", &one)
	require.Len(t, one.Registers, 1)
	assert.Equal(t, "0x7", one.Registers[0].Value)
	get(t, s, "/api/register/CP*.r%3Ftr", &one)
	assert.Len(t, one.Registers, 2)
	get(t, s, "/api/register/cp0.status.idle", &one)
	assert.Equal(t, "0x1", one.Registers[0].Value)
	var w observer.Words
	get(t, s, "/api/bar0?off=0x20&len=8", &w)
	assert.Equal(t, []regs.Hex{0, 7}, w.Values)
	get(t, s, "/api/config?off=0", &w)
	assert.Equal(t, []regs.Hex{0x48471234}, w.Values)
	var l Log
	get(t, s, "/api/log?tail=1", &l)
	assert.Equal(t, []string{"two"}, l.Lines)
	s.opt.Log = nil
	get(t, s, "/api/log", &l)
	assert.Equal(t, Log{Lines: []string{}, None: "no log"}, l)
	code, page := ask(t, s, "GET", "/", "")
	assert.Equal(t, http.StatusOK, code)
	assert.NotRegexp(t, `(?i)\ssrc=|<link|@import|url\(|https?:`, page, "the page loads nothing from elsewhere")
}

func TestBadRequests(t *testing.T) {
	s, _ := serve(t, "emu")
	for _, tt := range []struct {
		method, path, host string
		code               int
		says               string
	}{
		{"POST", "/", "", 405, "only GET"},
		{"PUT", "/api/registers", "", 405, "only GET"},
		{"HEAD", "/", "", 405, ""},
		{"OPTIONS", "/events", "", 405, "only GET"},
		{"GET", "/", "board.example", 403, `host "board.example" is not`},
		{"GET", "/api/registers", "board.example:80", 403, "is not the address"},
		{"GET", "/api/bar0?off=0", "192.0.2.1", 403, "is not the address"},
		{"GET", "/events", "127.0.0.1.example", 403, "is not the address"},
		{"GET", "/api/log", "localhost:1", 200, ""},
		{"GET", "/api/log", "[::1]:1", 200, ""},
		{"GET", "/api/log", "127.9.9.9", 200, ""},
		{"GET", "/favicon.ico", "", 404, "no page"},
		{"GET", "/api/", "", 404, "no page"},
		{"GET", "/api/register/", "", 404, "no page"},
		{"GET", "/api/register/cp0", "", 200, "cp0.ctl"},
		{"GET", "/api/register/cp0.nope", "", 400, "is not a register"},
		{"GET", "/api/register/mcu.ctl", "", 400, "not on this board"},
		{"GET", "/api/register/[", "", 400, "regs: bad name"},
		{"GET", "/api/register/id.time_lo!", "", 200, "has the effect latch"},
		{"GET", "/api/bar0", "", 400, `off="", want a number from 0 to`},
		{"GET", "/api/bar0?off=2", "", 400, "want multiples of 4"},
		{"GET", "/api/bar0?off=-4", "", 400, "want a number"},
		{"GET", "/api/bar0?off=0x10000000", "", 400, "want a number"},
		{"GET", "/api/bar0?off=99999999999999999999", "", 400, "want a number"},
		{"GET", "/api/bar0?off=0&len=0", "", 400, `len="0", want a number from 4 to 4096`},
		{"GET", "/api/bar0?off=0&len=6", "", 400, "want multiples of 4"},
		{"GET", "/api/bar0?off=0&len=8192", "", 400, "want a number"},
		{"GET", "/api/bar0?off=0x18", "", 422, "has the effect latch"},
		{"GET", "/api/bar0?off=0&len=64", "", 422, "has the effect latch"},
		{"GET", "/api/bar0?off=0x80", "", 422, "no register at 0x80"},
		{"GET", "/api/bar0?off=0x604", "", 422, "no register at 0x604"},
		{"GET", "/api/config?off=0x1000", "", 400, "want a number from 0 to 4092"},
		{"GET", "/api/config?off=2", "", 400, "want a multiple of 4"},
		{"GET", "/api/log?tail=-1", "", 400, "want a number"},
		{"GET", "/api/log?tail=x", "", 400, "want a number"},
		{"GET", "/events?hz=0", "", 400, "want a number from 0.1 to 10"},
		{"GET", "/events?hz=NaN", "", 400, "want a number"},
	} {
		code, body := ask(t, s, tt.method, tt.path, tt.host)
		assert.Equal(t, tt.code, code, "%s %s: %s", tt.method, tt.path, body)
		assert.Contains(t, body, strings.ReplaceAll(tt.says, `"`, `\"`), "%s %s", tt.method, tt.path)
	}
}

// A board that is not there, not set up, closed or dead is one line, and its kind is told.
func TestStatesOfABoard(t *testing.T) {
	s, err := Serve("127.0.0.1:0", Options{})
	require.NoError(t, err)
	defer s.Close()
	assert.False(t, s.Open)
	var seconds atomic.Int64
	s.time.now = func() time.Duration { return time.Duration(seconds.Load()) * time.Second }
	expect := func(code int, says string) {
		t.Helper()
		seconds.Add(1) // values are no longer fresh
		got, body := ask(t, s, "GET", "/api/register/cp0.ctl", "")
		assert.Equal(t, code, got, body)
		assert.Contains(t, body, says)
	}
	expect(503, `{"kind":"no_board","error":"inspect: no board is open"}`)
	open := func(selector string) bus.Link {
		link, _, err := boards.OpenWith(selector, regs.NoMemory{}, boards.Options{Share: s.Share})
		require.NoError(t, err)
		return link
	}
	first := open("emu?nodes=1")
	expect(503, "the board is not set up yet")
	_, err = regs.Open(first, regs.Options{})
	require.NoError(t, err)
	expect(200, "cp0.ctl")
	second := open("emu?timeout=1") // a board that does not answer in time
	_, err = regs.Open(second, regs.Options{})
	require.Error(t, err)
	expect(502, `{"kind":"link"`)
	require.NoError(t, second.Close())
	expect(200, "cp0.ctl")
	require.NoError(t, first.Close())
	expect(503, "no board is open")
}

// Errors of Serve.
func TestServeErrors(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	_, err = Serve(taken.Addr().String(), Options{})
	require.ErrorIs(t, err, ErrListen)
	assert.ErrorContains(t, err, "inspect: cannot listen at 127.0.0.1:")
	for _, at := range []string{"", "here", "1:2:3", ":99999", "127.0.0.1"} {
		_, err = Serve(at, Options{})
		require.ErrorIs(t, err, observer.ErrAddress, at)
	}
}

// An event has what has changed; a client that leaves and a server that ends are noticed.
func TestEvents(t *testing.T) {
	s, link := serve(t, "emu")
	a, err := http.Get("http://" + s.Addr + "/events?hz=10")
	require.NoError(t, err)
	defer a.Body.Close()
	assert.Equal(t, "text/event-stream", a.Header.Get("Content-Type"))
	in := bufio.NewScanner(a.Body)
	in.Buffer(nil, 1<<20)
	next := func() (name, data string) {
		t.Helper()
		for _, part := range []struct {
			to     *string
			before string
		}{{&name, "event: "}, {&data, "data: "}, {nil, ""}} {
			require.True(t, in.Scan())
			text, ok := strings.CutPrefix(in.Text(), part.before)
			require.True(t, ok, in.Text())
			if part.to != nil {
				*part.to = text
			}
		}
		return name, data
	}
	var names []string
	for range 4 {
		name, _ := next()
		names = append(names, name)
	}
	assert.Equal(t, []string{"ready", "registers", "ring", "log"}, names)
	write(t, link, idreg.Scratch2, 9)
	name, data := next()
	require.Equal(t, "registers", name)
	var changed Registers
	require.NoError(t, json.Unmarshal([]byte(data), &changed))
	require.Len(t, changed.Registers, 1)
	assert.Equal(t, "id.scratch2", changed.Registers[0].Name)
	assert.Equal(t, "0x9", changed.Registers[0].Value)
	require.NoError(t, link.Close())
	name, data = next()
	assert.Equal(t, "problem", name)
	assert.Contains(t, data, "no board is open")
	require.NoError(t, s.http.Close())
	assert.False(t, in.Scan())
}
