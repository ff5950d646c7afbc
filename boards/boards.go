// Package boards opens the device that a selector names. Its callers need not
// know the kind of device.
//
// A selector is written like a URL: a scheme, for some schemes a place after a
// colon, and options after a question mark.
//
//	emu
//	emu?nodes=1&vram=8KiB&latency=64
//	verilated?config=small
//	serial:/dev/ttyUSB1?baud=3000000
//	tcp:192.168.1.20:4000
//	eth:eth0/02:00:00:00:00:01
//	nettlp:192.168.10.3
//	line?baud=921600&faults=loss=0.05,seed=7
//	pins:ice40-hx8k
//	snap:registers.json
//	inspect:127.0.0.1:4001
//
// [Manual] describes the schemes, their options and the injected faults. [Open]
// returns a [bus.Link] and a [bus.Clock]; package [github.com/hilgpu/hilgpu/boards/regs] accesses
// registers through them by name.
package boards

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/bus/capture"
	"github.com/hilgpu/hilgpu/bus/datalink"
	"github.com/hilgpu/hilgpu/rtl/wave"
)

// ErrSelector is returned, wrapped with the invalid part and the valid choices,
// for a selector that names no board.
var ErrSelector = errors.New("boards: bad selector")

// A Counter is one of a board's counters.
type Counter struct {
	Name  string // lower case, words joined by underscores
	Value uint64
}

// Counters is implemented by links to boards with counters. The order of the
// counters is fixed. Counters may be called at any time, even after Close.
type Counters interface {
	Counters() []Counter
}

// Reopener is implemented by links that can reconnect after going down, for
// instance when an unplugged board is back. Transfers in flight are lost, and
// the device may have changed in the meantime.
type Reopener interface {
	// Reopen begins a new session. It fails with bus.ErrClosed, or with
	// bus.ErrLinkDown and the cause; the link then stays down.
	Reopen() error
}

// Rated is implemented by slow links. Time-outs for work that moves data over
// such a link must allow for its rate.
type Rated interface {
	// BytesPerSecond returns the approximate rate of the link; not 0.
	BytesPerSecond() uint64
}

// Limited is implemented by links whose time-out is an option of the selector.
type Limited interface {
	// Timeout returns how long a request may take before it fails.
	Timeout() time.Duration
}

// A Rater is implemented by links over a serial line.
type Rater interface {
	// Rates returns the rates at which a session may begin, in bits per second, in
	// ascending order.
	Rates() []int

	// Rate returns the rate of the session, as the host has set it.
	Rate() int

	// LimitRate makes the next Reopen begin a session at a rate of at most the given one,
	// or at the lowest; 0: no limit.
	LimitRate(most int)
}

// A Peeker is implemented by the link to a GPU that is emulated cycle by cycle in this
// process.
type Peeker interface {
	// Peek reads the memory of a BAR at an offset in bytes, between clocks and
	// without an access to the device. It reports false if there is no such memory.
	Peek(bar int, off uint64, p []byte) bool
}

// A Translator is implemented by the link to a GPU that is emulated cycle by cycle in this
// process.
type Translator interface {
	// Translate returns the entry of the aperture's table that an access of the GPU to a GPU
	// address uses, between clocks and without an access to the device: 0 if the address is in
	// no page of the aperture. It reports false if the table is not in memory that can be read.
	Translate(addr uint64) (entry uint64, ok bool)
}

// Twinned is implemented by the link to a GPU that is emulated cycle by cycle in this process
// and has no injected faults.
type Twinned interface {
	// Twin calls f with a link to a copy of the GPU, made between two clocks. What f does
	// takes no clock of the GPU and changes nothing of it. The copy has no host memory: its
	// reads stay unanswered. So f should read at once what it wants. The link of the copy
	// is valid during the call, in which f must not use the link to the GPU. f runs on any
	// goroutine, at once also while a Wait of the clock is in progress. memory reads
	// host memory, of which f may read only what belongs to the device: see bus.Host. It
	// fails with bus.ErrUnsupported if the host has no PeekMem.
	Twin(f func(link bus.Link, memory func(addr uint64, p []byte) error))
}

// A scheme is a kind of board.
type scheme struct {
	name    string
	doc     string
	options []option
	place   string   // place after the colon, or ""
	only    []string // supported systems, named as in GOOS; empty means all
	notice  string   // for the user before each use, or ""

	virtual  bool // time moves only with accesses
	emulated bool // the GPU is emulated in this process
	recorded bool // gateware in Go in this process can be recorded
	open     func(o opening) (bus.Link, bus.Clock, error)
}

// An opening is a selector being opened.
type opening struct {
	Options
	place  string
	values url.Values
	host   bus.Host
}

// Options configure a connection. The zero value is the default.
type Options struct {
	// Capture records the packets of the link, or, without a link, those that PCIe would carry.
	Capture *capture.Writer

	// Console is called with the text that a board sends on the same line as
	// the frames, in order, one call at a time. It must not call the link.
	Console func(text []byte)

	// Notice, if not nil, is called with what the user must know of the kind of board
	// before it is opened: one line.
	Notice func(text string)

	// Share, if not nil, is called with the link and the clock of a board that is open, and
	// returns those that the caller of OpenWith gets. virtual tells that time moves only with
	// accesses. If Share fails, the board is closed.
	Share func(link bus.Link, clock bus.Clock, virtual bool) (bus.Link, bus.Clock, error)

	// Observe, if not nil, is called with what an emulated GPU does, on the goroutine that
	// clocks it. It must not call the link.
	Observe func(Observation)

	// Link, if not nil, is told the incidents at the host's end of a link with frames. It must not
	// call the link.
	Link func(i datalink.Incident)

	// Watch, if not nil, sees what passes between the host and the board.
	Watch Watcher

	// Wave records the emulated GPU or gateware in Go; for others Open fails with ErrSelector.
	Wave *wave.Recorder
}

// An option is an option of a scheme.
type option struct {
	name, doc string
	values    []string // possible values, if they are few; offered by Complete

	only map[string][]string // systems (GOOS) that support a value; all, if it has no entry
}

func schemes() []scheme {
	return []scheme{emulator(), verilator(), serialPort(), tcpSocket(), udpSocket(), ethernet(), netTLP(), virtualLine(), pinBoard(), snapshot(), recording(), inspection()}
}

// Schemes returns the names of the schemes.
func Schemes() []string {
	var names []string
	for _, s := range schemes() {
		names = append(names, s.name)
	}
	return names
}

// Open connects host to the board that selector names. It fails with
// ErrSelector, or with an error of the connection. The link may implement
// Counters and Reopener.
func Open(selector string, host bus.Host) (bus.Link, bus.Clock, error) {
	return OpenWith(selector, host, Options{})
}

// OpenWith is Open with options.
func OpenWith(selector string, host bus.Host, opt Options) (bus.Link, bus.Clock, error) {
	link, clock, err := openWith(selector, host, opt)
	if w, ok := opt.Watch.(failureWatcher); ok && err != nil && !errors.Is(err, ErrSelector) {
		w.NotOpened(selector)
	}
	return link, clock, err
}

func openWith(selector string, host bus.Host, opt Options) (bus.Link, bus.Clock, error) {
	s, o, err := find(selector)
	if err != nil {
		return nil, nil, err
	}
	if opt.Wave != nil && !s.emulated && !s.recorded {
		return nil, nil, fmt.Errorf("%w: %q: a waveform needs a GPU emulated in this process, want emu, line or pins", ErrSelector, selector)
	}
	o.Options, o.host = opt, host
	if opt.Capture != nil {
		opt.Capture.Begin()
	}
	if s.notice != "" && opt.Notice != nil {
		opt.Notice(s.notice)
	}
	open := s.open
	if o.Watch != nil {
		open = func(o opening) (bus.Link, bus.Clock, error) { return s.watched(selector, o) }
	}
	link, clock, err := open(o)
	if errors.Is(err, errOption) || errors.Is(err, errPlace) {
		err = fmt.Errorf("%w: %q: %w", ErrSelector, selector, err)
	}
	if err != nil || opt.Share == nil {
		return link, clock, err
	}
	mine, time, err := opt.Share(link, clock, s.virtual)
	if err != nil {
		return nil, nil, errors.Join(err, link.Close())
	}
	return mine, time, nil
}

// Check fails with ErrSelector if Open would, as far as this can be determined
// without the board.
func Check(selector string) error {
	_, _, err := find(selector)
	return err
}

// Emulated reports whether a selector names a GPU emulated in this process.
func Emulated(selector string) bool {
	s, _, err := find(selector)
	return err == nil && s.emulated
}

// Virtual reports whether a selector names a board whose time moves only with accesses, so that
// each run of a program on it is the same.
func Virtual(selector string) bool {
	s, _, err := find(selector)
	return err == nil && s.virtual
}

// find returns the scheme of a selector and its arguments, on this system.
func find(selector string) (scheme, opening, error) { return here().find(selector) }

// find returns the scheme of a selector and its arguments.
func (on system) find(selector string) (scheme, opening, error) {
	name, query, _ := strings.Cut(selector, "?")
	name, place, colon := strings.Cut(name, ":")
	for _, s := range schemes() {
		if s.name != name {
			continue
		}
		values, err := s.parse(query)
		switch {
		case err != nil:
		case s.place != "" && place == "":
			err = fmt.Errorf("%w: want %s:%s", errPlace, s.name, s.place)
		case s.place == "" && colon:
			err = fmt.Errorf("%w: %s takes nothing after a colon", errPlace, s.name)
		default:
			err = on.check(s, values)
		}
		if err != nil {
			err = fmt.Errorf("%w: %q: %w", ErrSelector, selector, err)
		}
		return s, opening{place: place, values: values}, err
	}
	return scheme{}, opening{}, fmt.Errorf("%w: %q: unknown scheme %q, want one of %s", ErrSelector, selector, name, strings.Join(Schemes(), ", "))
}

// errOption marks errors of an option, errPlace errors of the part after the
// colon.
var (
	errOption = errors.New("bad option")
	errPlace  = errors.New("bad place")
)

// parse splits the query. Each option must be known and given once.
func (s scheme) parse(query string) (url.Values, error) {
	values := url.Values{}
	for part := range strings.SplitSeq(query, "&") {
		if part == "" {
			continue
		}
		name, value, ok := strings.Cut(part, "=")
		if !ok || value == "" {
			return nil, fmt.Errorf("%w: %q has no value", errOption, part)
		}
		if !s.takes(name) {
			return nil, fmt.Errorf("%w: unknown %q, want one of %s", errOption, name, s.names())
		}
		if values.Has(name) {
			return nil, fmt.Errorf("%w: %q is given twice", errOption, name)
		}
		value, err := url.QueryUnescape(value)
		if err != nil {
			return nil, fmt.Errorf("%w: %q: %w", errOption, part, err)
		}
		values.Set(name, value)
	}
	return values, nil
}

func (s scheme) takes(name string) bool {
	for _, o := range s.options {
		if o.name == name {
			return true
		}
	}
	return false
}

func (s scheme) names() string {
	var names []string
	for _, o := range s.options {
		names = append(names, o.name)
	}
	return strings.Join(names, ", ")
}
