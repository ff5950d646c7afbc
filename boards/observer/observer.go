// Package observer reads a board that another command has open, over the HTTP of its
// --inspect, as a link that only reads.
//
//	/api/identity            Identity
//	/api/bar0?off=&len=      Words, registers of BAR 0
//	/api/config?off=         Words, a dword of configuration space
//
// An answer with another status than 200 is a Failure.
package observer

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/hilgpu/hilgpu/boards/regs"
	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/bus/still"
)

// Kinds of errors. ErrReadOnly is a bus.ErrUnsupported.
var (
	// ErrAddress: an address that is not of the form [HOST:]PORT.
	ErrAddress = errors.New("observer: bad address")
	// ErrServer: no command with a board answers at the address.
	ErrServer = errors.New("observer: no board")
	// ErrReadOnly: an access that an observer must not make.
	ErrReadOnly = fmt.Errorf("%w: a board in use is read-only", bus.ErrUnsupported)
)

// Format is the value of Identity.Format.
const Format = "hilgpu-inspect-1"

// Identity is the identity of the board that a command has open.
type Identity struct {
	Format  string        `json:"format"`
	Program string        `json:"program"` // that has the board
	Device  regs.Identity `json:"device"`
	Copied  bool          `json:"copied"` // read from a copy of an emulated GPU, without clocks
}

// Words are dwords that follow each other.
type Words struct {
	Off    regs.Hex   `json:"offset"`
	Values []regs.Hex `json:"values"`
	Age    int64      `json:"age_ms"` // of the oldest value, in milliseconds
}

// The kinds of failures.
const (
	NoBoard  = "no_board" // none is open, or it is not set up yet
	LinkFail = "link"
	Refused  = "refused"      // an observer must not read it
	Map      = "register_map" // the device has another register map
	Bad      = "usage"
)

// Failure is an error in JSON, with one of the kinds.
type Failure struct {
	Kind  string `json:"kind"`
	Error string `json:"error"`
}

// Status returns the HTTP status of the failure.
func (f Failure) Status() int {
	switch f.Kind {
	case NoBoard:
		return http.StatusServiceUnavailable
	case LinkFail:
		return http.StatusBadGateway
	case Refused, Map:
		return http.StatusUnprocessableEntity
	}
	return http.StatusBadRequest
}

// maxAnswer is the largest answer that is read, in bytes.
const maxAnswer = 1 << 20

// timeout is the time for an answer. A board at a slow line takes seconds.
const timeout = 30 * time.Second

// Link is a board that another command has open: a bus.Link and a bus.Clock. It reads BAR 0
// and configuration space; a value may be half a second old. The clock counts nanoseconds and
// advances only in Wait.
type Link struct {
	addr   string
	client http.Client

	still.Clock
}

var (
	_ bus.Link  = (*Link)(nil)
	_ bus.Clock = (*Link)(nil)
)

// Address completes [HOST:]PORT. Without a host it is the loopback interface. It fails with
// ErrAddress.
func Address(at string) (string, error) {
	full := at
	if !strings.Contains(at, ":") {
		full = ":" + at
	}
	host, port, err := net.SplitHostPort(full)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		return "", fmt.Errorf("%w: %q, want [HOST:]PORT", ErrAddress, at)
	}
	if host == "" {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port), nil
}

// Open asks the command at [HOST:]PORT for its board. It fails with ErrAddress, with ErrServer,
// and with bus.ErrLinkDown if nothing answers.
func Open(at string) (bus.Link, bus.Clock, error) {
	addr, err := Address(at)
	if err != nil {
		return nil, nil, err
	}
	l := &Link{addr: addr, client: http.Client{Timeout: timeout, Transport: &http.Transport{}}}
	l.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	var id Identity
	if err := l.get("/api/identity", &id); err != nil {
		return nil, nil, err
	}
	if id.Format != Format {
		return nil, nil, fmt.Errorf("%w: %s answers, but it is no %s", ErrServer, addr, Format)
	}
	return l, l, nil
}

// Recording returns the address. A link with this method has no board of its own.
func (l *Link) Recording() string { return l.addr }

// get fills to from the JSON at a path.
func (l *Link) get(path string, to any) error {
	if err := l.Usable(); err != nil {
		return err
	}
	answer, err := l.client.Get("http://" + l.addr + path)
	if err != nil {
		return l.fail(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	if err != nil {
		return l.fail(err)
	}
	if answer.StatusCode != http.StatusOK {
		return l.failure(answer.StatusCode, body)
	}
	if err := json.Unmarshal(body, to); err != nil {
		return fmt.Errorf("%w: what answers at %s is no hilgpu with --inspect", ErrServer, l.addr)
	}
	return nil
}

// failure returns the error of an answer.
func (l *Link) failure(code int, body []byte) error {
	var f Failure
	if err := json.Unmarshal(body, &f); err != nil || f.Status() != code {
		return fmt.Errorf("%w: what answers at %s is no hilgpu with --inspect", ErrServer, l.addr)
	}
	switch f.Kind {
	case NoBoard:
		return fmt.Errorf("%w: the command at %s: %s", ErrServer, l.addr, f.Error)
	case Map:
		return fmt.Errorf("%w: the command at %s: %s", regs.ErrMapHash, l.addr, f.Error)
	case LinkFail:
		return fmt.Errorf("%w: the command at %s: %s", bus.ErrLinkDown, l.addr, f.Error)
	case Refused:
		return fmt.Errorf("%w: %s", ErrReadOnly, f.Error)
	}
	return fmt.Errorf("%w: %s", bus.ErrArgument, f.Error)
}

// fail takes the link down. The first cause stays.
func (l *Link) fail(cause error) error {
	var request *url.Error
	if errors.As(cause, &request) {
		cause = request.Err // without the address of the page
	}
	return l.Fail(fmt.Errorf("%w: %w", bus.ErrLinkDown, cause))
}

// ReadConfig implements bus.Link.
func (l *Link) ReadConfig(off int) (uint32, error) {
	if off < 0 || off > 0xffc || off%4 != 0 {
		return 0, fmt.Errorf("%w: configuration read at %#x, want a multiple of 4 below 0x1000", bus.ErrArgument, off)
	}
	var w Words
	if err := l.get(fmt.Sprintf("/api/config?off=%#x", off), &w); err != nil {
		return 0, err
	}
	if len(w.Values) != 1 {
		return 0, fmt.Errorf("%w: %s answered with %d dwords for 1", ErrServer, l.addr, len(w.Values))
	}
	return uint32(w.Values[0]), nil
}

// Read implements bus.Link, for BAR 0.
func (l *Link) Read(bar int, off uint64, p []byte) error {
	if bar < 0 || bar > 5 || off%4 != 0 || len(p)%4 != 0 || off+uint64(len(p)) < off {
		return fmt.Errorf("%w: read of %d bytes at BAR %d offset %#x, want multiples of 4", bus.ErrArgument, len(p), bar, off)
	}
	if bar != 0 {
		return fmt.Errorf("%w: read of BAR %d, want BAR 0", ErrReadOnly, bar)
	}
	if len(p) == 0 {
		return l.Usable()
	}
	var w Words
	if err := l.get(fmt.Sprintf("/api/bar0?off=%#x&len=%d", off, len(p)), &w); err != nil {
		return err
	}
	if len(w.Values) != len(p)/4 {
		return fmt.Errorf("%w: %s answered with %d dwords for %d", ErrServer, l.addr, len(w.Values), len(p)/4)
	}
	for i, v := range w.Values {
		binary.LittleEndian.PutUint32(p[4*i:], uint32(v))
	}
	return nil
}

// WriteConfig implements bus.Link. It always fails.
func (l *Link) WriteConfig(off int, _ uint32) error {
	return l.refuse("configuration write at %#x", off)
}

// Write implements bus.Link. It always fails.
func (l *Link) Write(bar int, off uint64, _ []byte) error {
	return l.refuse("write at BAR %d offset %#x", bar, off)
}

func (l *Link) refuse(format string, args ...any) error {
	if err := l.Usable(); err != nil {
		return err
	}
	return fmt.Errorf("%w: "+format, append([]any{ErrReadOnly}, args...)...)
}

// Close implements bus.Link. The board stays open in its command.
func (l *Link) Close() error {
	l.client.CloseIdleConnections()
	return l.Clock.Close()
}
