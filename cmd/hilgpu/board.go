package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/hilgpu/hilgpu/boards"
	"github.com/hilgpu/hilgpu/boards/serve"
	"github.com/hilgpu/hilgpu/bus/fault"
	"github.com/hilgpu/hilgpu/rtl/abi/regmap"
	"github.com/hilgpu/hilgpu/testbench/command"
	"github.com/hilgpu/hilgpu/testbench/command/exit"
	"github.com/hilgpu/hilgpu/testbench/command/signals"
)

func newBoard(a *command.App) *cobra.Command {
	c := &cobra.Command{
		Use:     "board",
		Short:   "Build gateware, serve a virtual board, or find attached boards",
		Example: "  hilgpu board list",
	}
	c.AddCommand(newServe(a), newBoardBuild(a), newFlash(a), newBoardList(a), newProbe(a))
	return c
}

// serveFlags are the flags of board serve.
type serveFlags struct {
	listen  []string
	pace    string
	baud    int
	silence int // in milliseconds
	faults  string
	token   string
	links   *command.Links
}

func newServe(a *command.App) *cobra.Command {
	f := serveFlags{links: a.Links}
	c := &cobra.Command{
		Use:   "serve SELECTOR...",
		Short: "Serve emulated boards to hosts on pseudo-terminals, TCP, UDP, Ethernet or NetTLP",
		Long: `Serve runs emulated GPUs as boards at the end of a wire. Each selector listens at the
corresponding --listen address. Hosts use it one after another like a real board, until
the program is interrupted. For each board it prints the argument for --board.

Listen addresses:
  pty:PATH   a pseudo-terminal; PATH becomes a link to it, for --board serial:PATH;
             only on linux
  tcp:ADDR   a TCP port, for --board tcp:ADDR; port 0 means any free port, and an
             address without a host the loopback interface
  udp:ADDR   a UDP port, for --board udp:ADDR, as for TCP
  eth:IFACE  raw frames at a network interface, for --board eth:IFACE/MAC with the
             interface of the host and the MAC address of this one; only on linux,
             with CAP_NET_RAW
  nettlp:IP  a device in software for the NetTLP adapter at an address, or for --board
             nettlp: of another hilgpu; only on linux. NetTLP acknowledges nothing: a
             write that is lost or repeated on the network is not noticed, and a lost
             read fails. docs/nettlp.md has the options after the address.

With --token-file, a host needs the same token, in a file that token-file= of its selector
names. The token is not sent. It protects the beginning of a session only: across a network,
use a tunnel of ssh or TLS, see docs/remote.md.

Selectors are those of emu, with its injected faults, but without the options of a link in
one process: latency, bandwidth and timeout. Link faults are injected in both directions;
see "hilgpu help selectors". With pins:NAME, the gateware of a board is served: what the host
sends goes to its pins, and its own end of the link answers. A board with a UART is served on
a pty or on TCP. One with an Ethernet is served on UDP, or is a station of its own at eth:IFACE,
with the addresses of docs/boards.md. Simulated gateware needs many times the time of a board, and
longer on a busy machine. The selector that is printed has timeout= and silence= for that.

--capture, --record and --inspect watch one emulated board, as its hosts use it.`,
		Example: `  hilgpu board serve emu --listen pty:/tmp/board0
  hilgpu board serve emu --listen tcp:127.0.0.1:4000 --link-faults loss=0.05,dup=0.03,seed=7
  hilgpu board serve 'pins:ice40-hx8k?sim=verilator' --listen pty:/tmp/board0
  hilgpu board serve emu 'emu?fault=stuck-address:A13=1' --listen pty:/tmp/a --listen pty:/tmp/b`,
		Args:        cobra.MinimumNArgs(1),
		Annotations: map[string]string{command.StopsItself: "yes"},
		RunE: func(c *cobra.Command, args []string) error {
			return runServe(c.Context(), c.OutOrStdout(), c.ErrOrStderr(), f, args)
		},
	}
	fl := c.Flags()
	fl.StringArrayVar(&f.listen, "listen", nil, "listen address, one for each `selector`")
	fl.StringVar(&f.pace, "pace", "free", "`how` device clocks follow the wall clock: free or clock")
	fl.IntVar(&f.baud, "baud", 0, "`rate` of the line in bits per second; 0: unlimited")
	fl.IntVar(&f.silence, "silence", 0, "`milliseconds` of silence after which a host is dead; 0: 500, or more at a slow rate")
	fl.StringVar(&f.faults, "link-faults", "", "`faults` to inject into frames, as in loss=0.05,seed=7")
	fl.StringVar(&f.token, "token-file", "", "`file` with the token that a host must have, 16 bytes or more")
	a.Links.AddWatch(fl)
	return c
}

// options returns the options of every board from the flags.
func (f serveFlags) options(selectors []string) (serve.Options, error) {
	o := serve.Options{Baud: f.baud, MapHash: regmap.Hash(), Silence: time.Duration(f.silence) * time.Millisecond}
	pacings := map[string]serve.Pacing{"free": serve.Free, "clock": serve.Clock}
	var ok bool
	if o.Pacing, ok = pacings[f.pace]; !ok {
		return o, fmt.Errorf("%w: --pace %q, want free or clock", exit.ErrInput, f.pace)
	}
	if f.baud != 0 && (f.baud < 1200 || f.baud > 1_000_000_000) {
		return o, fmt.Errorf("%w: --baud %d, want 1200 to 1000000000, or 0", exit.ErrInput, f.baud)
	}
	if f.silence != 0 && (f.silence < 200 || f.silence > 3_600_000) {
		return o, fmt.Errorf("%w: --silence %d, want 200 to 3600000, or 0", exit.ErrInput, f.silence)
	}
	if len(f.listen) != len(selectors) {
		return o, fmt.Errorf("%w: %d --listen for %d boards, want one each", exit.ErrInput, len(f.listen), len(selectors))
	}
	var err error
	if f.token != "" {
		if o.Token, err = serve.Token(f.token); err != nil {
			return o, fmt.Errorf("%w: --token-file: %w", exit.ErrInput, err)
		}
	}
	if o.Faults, err = fault.Parse(f.faults); err != nil {
		return o, fmt.Errorf("%w: --link-faults: %w", exit.ErrInput, err)
	}
	if err := f.checkWatched(selectors); err != nil {
		return o, err
	}
	w, err := f.links.Packets()
	if w != nil {
		o.Observer = w.WallObserver()
	}
	return o, err
}

// runServe opens all boards and serves them until it is interrupted or one of
// them fails.
func runServe(ctx context.Context, stdout, stderr io.Writer, f serveFlags, selectors []string) error {
	o, err := f.options(selectors)
	if err != nil {
		return err
	}
	var all []serve.Station
	defer func() {
		for _, s := range all {
			s.Listener.Close()
		}
	}()
	for i, selector := range selectors {
		s, err := f.open(selector, f.listen[i], o, stderr)
		if err != nil {
			return err
		}
		all = append(all, s)
		n, unreliable := s.Listener.(interface{ Notice() string })
		if unreliable {
			fmt.Fprintf(stderr, "hilgpu: %s\n", n.Notice())
		} else if s.Listener.Open() && len(o.Token) == 0 {
			remedy := "give --token-file, or use a tunnel"
			if boards.IsGateware(selector) {
				remedy = "use a tunnel"
			}
			fmt.Fprintf(stderr, "warning: every host that reaches %s can use this board: %s, see docs/remote.md\n", f.listen[i], remedy)
		}
		fmt.Fprintf(stdout, "%s --board %s\n", selector, boards.Quote(s.Listener.Selector()))
	}
	ctx, stop := signals.Until(ctx)
	defer stop()
	return serve.All(ctx, all)
}

// open creates the board of a selector and opens its listener.
func (f serveFlags) open(selector, where string, o serve.Options, log io.Writer) (s serve.Station, err error) {
	if boards.IsGateware(selector) {
		s.Listener, err = listenGateware(selector, where, o)
		return s, err
	}
	o.Log = log
	if err := checkNetTLP(where, o); err != nil {
		return s, err
	}
	if s.Board, err = f.emulated(selector, o); err != nil {
		return s, err
	}
	s.Listener, err = serve.Listen(where)
	if errors.Is(err, serve.ErrOptions) {
		err = fmt.Errorf("%w: --listen %s: %w", exit.ErrInput, where, err)
	}
	return s, err
}

// listenGateware opens gateware and its listener. The gateware has its own end of the link.
func listenGateware(selector, where string, o serve.Options) (serve.Listener, error) {
	if len(o.Token) != 0 || o.Baud != 0 || o.Silence != 0 || o.Faults != (fault.Config{}) || o.Pacing != serve.Free {
		return nil, fmt.Errorf("%w: %s: gateware has no --token-file, --baud, --silence, --link-faults or --pace", exit.ErrInput, selector)
	}
	g, err := boards.OpenGateware(selector)
	if err != nil {
		return nil, err
	}
	l, err := rawListener(where, g)
	if err == nil {
		return gatewareListener{l, sync.OnceValue(g.Close)}, nil
	}
	if errors.Is(err, serve.ErrOptions) {
		err = fmt.Errorf("%w: --listen %s: %w", exit.ErrInput, where, err)
	}
	return nil, errors.Join(err, g.Close())
}

// rawListener opens the listener of gateware: for the frames of an Ethernet, or the bytes of a
// UART.
func rawListener(where string, g *boards.Gateware) (serve.Listener, error) {
	if at, has := g.Ether(); has {
		return serve.ListenFrames(where, at, g.Bridge)
	}
	l, err := serve.Listen(where)
	if err != nil {
		return nil, err
	}
	raw, err := serve.Raw(l, g.Bridge, g.Rates())
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return raw, nil
}

// gatewareListener ends the gateware with its listener.
type gatewareListener struct {
	serve.Listener
	end func() error // ends the gateware, once
}

// Selector implements serve.Listener. Simulated gateware needs more time than a board.
func (l gatewareListener) Selector() string {
	at, sep := l.Listener.Selector(), "?"
	if strings.Contains(at, sep) {
		sep = "&"
	}
	return at + sep + "timeout=60000&silence=15000"
}

// Serve implements serve.Listener.
func (l gatewareListener) Serve(ctx context.Context, b *serve.Board) error {
	return errors.Join(l.Listener.Serve(ctx, b), l.end())
}

// Close implements serve.Listener.
func (l gatewareListener) Close() error { return errors.Join(l.Listener.Close(), l.end()) }

// checkNetTLP refuses the options that a board on NetTLP cannot have.
func checkNetTLP(where string, o serve.Options) error {
	if strings.HasPrefix(where, "nettlp:") && (len(o.Token) != 0 || o.Baud != 0 || o.Silence != 0 || o.Faults != (fault.Config{})) {
		return fmt.Errorf("%w: --listen %s: NetTLP has no --token-file, --baud, --silence or --link-faults", exit.ErrInput, where)
	}
	return nil
}
