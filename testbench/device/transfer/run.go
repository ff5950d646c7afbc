package transfer

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/hilgpu/hilgpu/rtl/abi/cpreg"
	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/rtl/abi/intcreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/testbench/device/bare"
	"github.com/hilgpu/hilgpu/testbench/device/scoreboard"
)

// A Report is the result of a run.
type Report struct {
	Board   string  `json:"board"`
	Packet  string  `json:"packet"`
	Size    int     `json:"size"`
	Dir     string  `json:"dir"`
	Align   []int   `json:"align"` // of source and destination; of a fill, destination only
	Count   int     `json:"count"` // packets per node
	Nodes   int     `json:"nodes"`
	Seed    uint64  `json:"seed"`
	Bytes   uint64  `json:"bytes"`           // bytes moved
	Clocks  uint64  `json:"clocks"`          // clocks of the board, first doorbell to last fence; see work.now
	Rate    float64 `json:"bytes_per_clock"` // Bytes / Clocks
	Checked uint64  `json:"bytes_checked"`   // bytes of VRAM and host memory that were compared

	Interrupted bool `json:"interrupted,omitempty"` // Bytes and Clocks end before the last fence, and no byte is compared
}

// work is one run.
type work struct {
	layout
	b     *bare.Board
	want  *scoreboard.Memory
	nodes []*bare.Node

	inClocks bool   // a tick of the clock of the link is a clock of the board
	begun    bool   // the doorbells have been rung
	start    uint64 // time at the doorbells, in clocks
	clocks   uint64 // until the last fence; 0 before it
}

// Run opens the board, moves data and checks memory. It fails with ErrInput, ErrWrong,
// scoreboard.ErrDiffers, with an error of the board, or with that of ctx, which ends the run
// soon. With the error of ctx it also returns a report, if the board was open.
func Run(ctx context.Context, o Options) (r *Report, err error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	// Host memory is for the largest number of nodes and slots.
	l := newLayout(o.sized(DefaultSize), cpreg.Nodes)
	host := bare.NewHost(int(l.data + l.used(Host)))
	b, err := bare.Open(ctx, o.Board, host, o.Open)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil && o.Failed != nil {
			o.Failed(err)
		}
		if cerr := b.Close(); err == nil {
			err = cerr
		}
	}()
	w := &work{b: b}
	if w.layout, err = fitted(o, b); err != nil {
		return nil, err
	}
	w.inClocks = b.Clock.Hz() == uint64(b.Reg(idreg.Base+idreg.ClockHz))
	if r, err = w.run(); err != nil && ctx.Err() != nil {
		return w.interrupted(), err
	}
	return r, err
}

// fitted returns the layout of a run on a board.
func fitted(o Options, b *bare.Board) (layout, error) {
	if o.Nodes > b.Nodes {
		return layout{}, fmt.Errorf("%w: %d nodes, the board has %d", ErrInput, o.Nodes, b.Nodes)
	}
	if o.Nodes == 0 {
		o.Nodes = b.Nodes
	}
	if o.Size == 0 {
		return largest(o, b.VRAM, b.LengthBits)
	}
	l := newLayout(o, o.Nodes)
	return l, l.fit(b.VRAM, b.LengthBits)
}

// run moves data and checks memory.
func (w *work) run() (*Report, error) {
	w.want = scoreboard.New(int(w.used(VRAM)), len(w.b.Host.Mem), rand.New(rand.NewPCG(w.Seed, 1)))
	for i := range w.Nodes {
		w.nodes = append(w.nodes, w.b.Node(i))
		w.want.Fill(w.fenceAt(i), 8, 0)
	}
	w.progress(0)
	w.want.Load(w.b.Access)
	w.progress(1)
	for i, n := range w.nodes {
		if err := n.Start(w.ringAt(i), w.ring, 0); err != nil {
			return nil, w.first(err)
		}
		if err := w.push(i, n); err != nil {
			return nil, err
		}
	}
	err := w.measure()
	if err == nil && !w.b.Aperture {
		err = w.nodes[0].Reset() // its ring is part of the comparison
	}
	w.progress(2)
	if err == nil {
		err = w.want.Check(w.b.Access)
	}
	if err != nil {
		return nil, w.first(err)
	}
	return w.report(uint64(w.Nodes * w.Count)), nil
}

// interrupted ends the use of the board's context, and returns the report of the packets that
// have retired.
func (w *work) interrupted() *Report {
	w.b.Ctx = context.WithoutCancel(w.b.Ctx)
	w.b.Err = nil
	packets := uint64(0)
	switch {
	case w.clocks != 0:
		packets = uint64(w.Nodes * w.Count)
	case w.begun:
		w.clocks = w.now() - w.start
		size := uint32(1 + pkt.CopyBody)
		if w.Fill {
			size = 1 + pkt.FillBody
		}
		for _, n := range w.nodes {
			packets += min(uint64(n.Reg(cpreg.Rptr)/size), uint64(w.Count))
		}
	}
	r := w.report(packets)
	r.Checked, r.Interrupted = 0, true
	return r
}

// progress reports the number of steps done.
func (w *work) progress(done int) {
	if w.Progress != nil {
		w.Progress(done, 3)
	}
}

// first returns the first error of an access, the cause of all others, or else err.
func (w *work) first(err error) error {
	if w.b.Err != nil {
		return w.b.Err
	}
	return err
}

// push pushes a node's packets and applies them to the expected memory. The last packets overwrite
// all that earlier ones write, so only they are applied.
func (w *work) push(node int, n *bare.Node) error {
	rng := rand.New(rand.NewPCG(w.Seed, 2+uint64(node)))
	var packets []bare.Packet
	size := uint64(w.Size)
	for i := range w.Count {
		dst, last := w.dest(node, i), i >= w.Count-w.slots
		if w.Fill {
			v := rng.Uint64()
			packets = append(packets, pkt.Fill{Dst: dst, Bytes: uint32(size), Value: v})
			if last {
				w.want.Fill(dst, size, v)
			}
		} else {
			src := w.source(node, i)
			packets = append(packets, pkt.Copy{Src: src, Dst: dst, Bytes: uint32(size)})
			if last {
				w.want.Copy(dst, src, size)
			}
		}
	}
	packets = append(packets, pkt.Fence{Addr: w.fenceAt(node), ID: 1, IRQ: true})
	b, err := bare.Encode(packets...)
	if err != nil {
		return err
	}
	n.Push(b)
	copy(w.want.Bytes(w.ringAt(node), uint64(len(b))), b)
	w.want.Fill(w.fenceAt(node), 8, 1)
	return nil
}

// measure runs all nodes and counts the clocks.
func (w *work) measure() error {
	w.b.Host.ForgetMessages()
	w.b.Host.ForgetRefused()
	from := w.b.Clock.Now()
	w.start, w.begun = w.now(), true
	for _, n := range w.nodes {
		n.Doorbell()
	}
	bytes := uint64(w.Nodes*w.Count) * uint64(w.Size)
	done := w.b.Await(bytes, func() bool { return w.fenced() || w.faulted() })
	ticks, clocks := w.b.Clock.Now()-from, w.now()-w.start
	if err := w.b.Ctx.Err(); err != nil && !done {
		return err
	}
	if w.faulted() {
		return fmt.Errorf("%w: a node stopped on a fault: %s", ErrWrong, w.state())
	}
	if !done {
		return fmt.Errorf("%w: time-out: fences or their message missing after %.1f s: %s", ErrWrong, float64(ticks)/float64(w.b.Clock.Hz()), w.state())
	}
	if len(w.b.Host.Refused()) > 0 {
		return fmt.Errorf("%w: %w", ErrWrong, w.b.Host.Refused()[0])
	}
	w.clocks = clocks
	return nil
}

// now returns the time in clocks of the board. The clock of the link counts them if the board is
// in this process. Otherwise the register TIME is read, so the clocks of two calls differ by up to
// two more round trips than those of the work between them.
func (w *work) now() uint64 {
	if w.inClocks {
		return w.b.Clock.Now()
	}
	lo := w.b.Reg(idreg.Base + idreg.TimeLo)
	return uint64(w.b.Reg(idreg.Base+idreg.TimeHi))<<32 | uint64(lo)
}

// fenced reports whether every node's fence is in memory and a message has arrived.
func (w *work) fenced() bool {
	for i := range w.nodes {
		if w.b.Host.Uint64(w.fenceAt(i)&^pkt.Host-bare.HostBase) != 1 {
			return false
		}
	}
	return len(w.b.Host.Messages()) > 0
}

func (w *work) faulted() bool {
	for _, m := range w.b.Host.Messages() {
		if m.Data == intcreg.VectorFault {
			return true
		}
	}
	return false
}

// state returns the state of the nodes.
func (w *work) state() string {
	var all []string
	for _, n := range w.nodes {
		all = append(all, n.State())
	}
	return strings.Join(all, "; ")
}

// report returns the report of a number of packets, of all nodes.
func (w *work) report(packets uint64) *Report {
	r := &Report{
		Board: w.Board, Packet: "copy", Size: w.Size, Dir: w.direction(),
		Align: []int{w.FromAlign, w.ToAlign}, Count: w.Count, Nodes: w.Nodes, Seed: w.Seed,
		Bytes: packets * uint64(w.Size), Clocks: w.clocks,
		Checked: uint64(len(w.want.VRAM) + len(w.want.Host)),
	}
	if w.Fill {
		r.Packet, r.Align = "fill", r.Align[1:]
	}
	if r.Clocks > 0 {
		r.Rate = float64(r.Bytes) / float64(r.Clocks)
	}
	return r
}

// Text formats the report.
func (r *Report) Text() string {
	var b strings.Builder
	align := fmt.Sprintf("+%d", r.Align[0])
	if len(r.Align) == 2 {
		align += fmt.Sprintf(" to +%d", r.Align[1])
	}
	fmt.Fprintf(&b, "%s     %d of %d bytes on each of %d nodes, %s, %s, seed %d on %s\n", r.Packet, r.Count, r.Size, r.Nodes, r.Dir, align, r.Seed, r.Board)
	if r.Interrupted {
		fmt.Fprintf(&b, "moved    %d bytes in %d clocks before the run was interrupted, %s bytes per clock\n", r.Bytes, r.Clocks, digits(r.Rate))
		fmt.Fprintf(&b, "checked  no memory, because the run was interrupted\n")
		return b.String()
	}
	fmt.Fprintf(&b, "moved    %d bytes in %d clocks from the doorbell to the last fence, %s bytes per clock\n", r.Bytes, r.Clocks, digits(r.Rate))
	fmt.Fprintf(&b, "checked  %d bytes of VRAM and host memory, all as expected\n", r.Checked)
	return b.String()
}

// digits formats a rate with two digits after the point, or with two that are not 0.
func digits(rate float64) string {
	if rate < 0.1 {
		return fmt.Sprintf("%.2g", rate)
	}
	return fmt.Sprintf("%.2f", rate)
}
