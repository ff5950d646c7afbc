package boards

import (
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"sync/atomic"
	"time"

	"github.com/hilgpu/hilgpu/boards/serve"
	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/bus/capture"
	"github.com/hilgpu/hilgpu/bus/channel"
	"github.com/hilgpu/hilgpu/bus/datalink"
	"github.com/hilgpu/hilgpu/bus/rootport"
	"github.com/hilgpu/hilgpu/bus/serial"
	"github.com/hilgpu/hilgpu/rtl/abi/regmap"
)

// dialTimeout is the time-out for making a TCP connection.
const dialTimeout = 2 * time.Second

func serialPort() scheme {
	return scheme{
		name: "serial", place: "PORT", doc: "a board at a serial port: a path, or a USB serial number with /ifNN if it has several",
		open: openSerial, options: append([]option{
			{name: "baud", doc: "bits per second, 115200 by default"},
			{name: "maxbaud", doc: "agree with the board on the highest rate that works, up to this one"},
			{name: "driver", doc: "library that drives the port, bugst or tarm, bugst by default", values: []string{serial.BugSt, serial.Tarm},
				only: map[string][]string{serial.Tarm: serial.Systems(serial.Tarm)}},
		}, streamOptions()...),
	}
}

func tcpSocket() scheme {
	return scheme{
		name: "tcp", place: "HOST:PORT", doc: "a board at a TCP address, such as that of a serial server",
		open: openTCP, options: streamOptions(),
	}
}

func remoteOptions() []option {
	return []option{{name: "timeout", doc: "milliseconds after which an unanswered request fails, 1000 by default; bring-up waits as long for what the board does, at least 2 s"}}
}

// streamOptions are the options of a board in another process.
func streamOptions() []option {
	return append(remoteOptions(), option{
		name: "silence",
		doc:  "milliseconds of silence after which the board is dead, 500 by default, more at a slow rate; a session is asked for as long, or for three quarters of timeout= if that is longer, for 1 to 20 s",
	}, option{
		name: "token-file",
		doc:  "file with the token of a board that wants one; the token is proven and never sent",
	})
}

// refusalAdvice returns a remedy for a session that a board refuses.
func refusalAdvice(err error) string {
	if errors.Is(err, datalink.ErrToken) {
		return "give token-file= with the file of the board's --token-file"
	}
	return "end it, or use another board"
}

func openSerial(o opening) (bus.Link, bus.Clock, error) {
	v := values{Values: o.values}
	opt := serial.Options{Baud: serial.DefaultBaud, Driver: serial.BugSt}
	v.integer("baud", &opt.Baud, 1200, 20_000_000)
	if v.Has("driver") {
		if opt.Driver = v.Get("driver"); opt.Driver != serial.BugSt && opt.Driver != serial.Tarm {
			v.bad("driver", serial.BugSt+" or "+serial.Tarm)
		}
	}
	most := opt.Baud
	v.integer("maxbaud", &most, opt.Baud, 20_000_000)
	l := &serialLink{base: opt.Baud, most: most}
	link, clock, err := o.openRemote(&v, rootport.Options{MaxReadRequest: 128}, func(c *channel.Config) (s io.ReadWriteCloser, err error) {
		s, c.Baud, err = openPort(o.place, opt, l.highest(), min(c.Link.GiveUp, channel.LongestOpen))
		l.rate.Store(int64(c.Baud))
		return s, err
	})
	if err != nil {
		return nil, nil, err
	}
	l.remote = link.(*remote)
	return l, clock, nil
}

// serialLink is the link to a board at a serial port. It implements Rater.
type serialLink struct {
	*remote
	base, most  int
	limit, rate atomic.Int64
}

// highest returns the highest rate that the next session may have.
func (l *serialLink) highest() int {
	if limit := int(l.limit.Load()); limit != 0 {
		return max(l.base, min(l.most, limit))
	}
	return l.most
}

// Rates implements Rater.
func (l *serialLink) Rates() []int {
	rates := []int{l.base, l.most}
	for _, r := range serial.Rates() {
		if r > l.base && r < l.most {
			rates = append(rates, r)
		}
	}
	slices.Sort(rates)
	return slices.Compact(rates)
}

// Rate implements Rater.
func (l *serialLink) Rate() int { return int(l.rate.Load()) }

// LimitRate implements Rater.
func (l *serialLink) LimitRate(most int) { l.limit.Store(int64(most)) }

// openPort opens a port. If most is above its rate, it agrees with the board on
// a higher one, see serial.RaiseBaud for patience. It returns the rate.
func openPort(name string, opt serial.Options, most int, patience time.Duration) (io.ReadWriteCloser, int, error) {
	path, err := serial.Find(name)
	if err != nil {
		return nil, 0, err
	}
	port, err := serial.Open(path, opt)
	if err != nil || most == opt.Baud {
		return port, opt.Baud, err
	}
	rates := append(slices.DeleteFunc(serial.Rates(), func(r int) bool { return r > most }), most)
	rate, err := serial.RaiseBaud(port, opt.Baud, rates, patience, nil)
	if err != nil {
		port.Close()
		return nil, 0, err
	}
	return port, rate, nil
}

func openTCP(o opening) (bus.Link, bus.Clock, error) {
	v := values{Values: o.values}
	if err := checkAddress(o.place); err != nil {
		return nil, nil, err
	}
	port := rootport.Options{MaxPayload: serve.TCPPayload, MaxReadRequest: serve.TCPPayload, Tags: 32}
	return o.openRemote(&v, port, func(c *channel.Config) (io.ReadWriteCloser, error) {
		conn, err := net.DialTimeout("tcp", o.place, dialTimeout)
		if err != nil {
			return nil, fmt.Errorf("%w: %s: %s: %w", bus.ErrLinkDown, o.place, dialAdvice(err), err)
		}
		c.Link.MaxPacket = serve.TCPPacket
		return conn, nil
	})
}

func checkAddress(place string) error {
	host, port, err := net.SplitHostPort(place)
	if err != nil || host == "" {
		return fmt.Errorf("%w: %s, want HOST:PORT", errPlace, place)
	}
	if n, err := net.LookupPort("tcp", port); err != nil || n == 0 {
		return fmt.Errorf("%w: port %s, want 1 to 65535", errPlace, port)
	}
	return nil
}

// dialAdvice returns a remedy for a connection that cannot be made.
func dialAdvice(err error) string {
	var name *net.DNSError
	var late net.Error
	switch {
	case errors.As(err, &name):
		return "check the host's name"
	case errors.Is(err, connRefused):
		return "start the board's server, or check the port"
	case errors.As(err, &late) && late.Timeout():
		return fmt.Sprintf("no answer in %v; check the address, and that the board is on", dialTimeout)
	}
	return "check the address and the network"
}

// datagramPort are the options of a root port over datagrams. The link limits payloads
// to what fits into one.
func datagramPort() rootport.Options {
	return rootport.Options{MaxPayload: 4096, MaxReadRequest: 4096, Tags: 32}
}

// openRemote opens a root port over a channel over a stream. For each session
// it calls stream, which also sets what the channel has to know of the stream.
func (o *opening) openRemote(v *values, port rootport.Options, stream func(c *channel.Config) (io.ReadWriteCloser, error)) (bus.Link, bus.Clock, error) {
	ms := uint64(1000)
	v.number("timeout", &ms, 1, 3_600_000)
	silence := uint64(0)
	v.number("silence", &silence, 200, 3_600_000)
	var token []byte
	v.token("token-file", &token)
	if v.err != nil {
		return nil, nil, v.err
	}
	r := &remote{}
	r.rate.Store(streamRate)
	dial := func() (rootport.Port, error) {
		config := channel.Config{
			Link: datalink.Config{
				Role: datalink.Host, MapHash: regmap.Hash(), Token: token, MaxRead: port.MaxReadRequest,
				DeadAfter: time.Duration(silence) * time.Millisecond, Observe: o.Link,
				GiveUp: time.Duration(ms) * time.Millisecond * 3 / 4, // before the time-out of a request
			},
			Console: o.Console,
		}
		s, err := stream(&config)
		if err != nil {
			return nil, err
		}
		if config.Baud != 0 {
			r.rate.Store(uint64(config.Baud) / 10)
		}
		c, err := channel.Open(s, config)
		switch {
		case errors.Is(err, datalink.ErrRefused):
			return nil, fmt.Errorf("%w: %s", err, refusalAdvice(err))
		case errors.Is(err, datalink.ErrOpen) && config.Baud != 0:
			return nil, fmt.Errorf("%w: check the port, that the board is on, and that it begins at %d bit/s; baud= sets another rate", err, config.Baud)
		case errors.Is(err, datalink.ErrOpen):
			return nil, fmt.Errorf("%w: check the selector, and that the board is on and served", err)
		case err != nil:
			return nil, err
		}
		r.channel.Store(c)
		return c, nil
	}
	var err error
	if port.Tags == 0 {
		port.Tags = 32
	}
	port.Timeout, port.ServeAlways, port.Observer = time.Duration(ms)*time.Millisecond, true, o.wallObserver()
	r.RootPort, err = rootport.New(dial, o.host, port)
	if err != nil {
		return nil, nil, err
	}
	return r, r, nil
}

// wallObserver is observer with wall-clock time, over all sessions.
func (o *opening) wallObserver() func(rootport.Dir, time.Duration, []byte) {
	if o.Capture == nil {
		return nil
	}
	record := o.Capture.WallObserver()
	return func(dir rootport.Dir, at time.Duration, packet []byte) { record(dir == rootport.Up, at, packet) }
}

// observer returns a function that records the packets of a root port, or nil.
func (o *opening) observer() func(rootport.Dir, time.Duration, []byte) {
	if o.Capture == nil {
		return nil
	}
	return func(dir rootport.Dir, at time.Duration, packet []byte) {
		d := capture.Down
		if dir == rootport.Up {
			d = capture.Up
		}
		o.Capture.Write(capture.Record{At: at, Dir: d, Packet: packet}) // Err reports errors
	}
}

// streamRate is the assumed rate of a stream without one, in bytes per second.
const streamRate = 1 << 20

// remote is the link to a board in another process.
type remote struct {
	*rootport.RootPort
	rate    atomic.Uint64                   // bytes per second
	channel atomic.Pointer[channel.Channel] // of the last dialled session
}

// BytesPerSecond implements Rated. It is what the link has measured under load.
func (r *remote) BytesPerSecond() uint64 {
	if c := r.channel.Load(); c != nil {
		if rate, measured := c.Goodput(); measured {
			return max(1, uint64(rate))
		}
	}
	return r.rate.Load()
}

// Counters returns the counters of the link.
func (r *remote) Counters() []Counter {
	all := portCounters(r.RootPort)
	if c := r.channel.Load(); c != nil {
		s := c.Stats()
		all = append(all,
			Counter{"wire_bytes_to_device", s.BytesWritten},
			Counter{"wire_bytes_from_device", s.BytesRead},
			Counter{"frames_sent", s.Link.FramesSent},
			Counter{"frames_received", s.Link.FramesReceived},
			Counter{"frames_damaged", s.Link.BadCheck + s.Link.BadFrames},
			Counter{"frames_repeated", s.Link.Replays},
			Counter{"frames_duplicate", s.Link.Duplicates})
	}
	return all
}

func portCounters(r *rootport.RootPort) []Counter {
	s := r.Stats()
	return []Counter{
		{"sessions", s.Sessions},
		{"tlps_to_device", s.TLPs[rootport.Down]},
		{"tlps_from_device", s.TLPs[rootport.Up]},
		{"messages", s.Messages},
		{"timeouts", s.Timeouts},
		{"late", s.Late},
	}
}
