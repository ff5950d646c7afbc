// Package bringup tests a board that nobody trusts yet, stage by stage: each
// relies only on what an earlier one has shown to work. A stage that fails
// names the line, the register or the bit, and the likely cause; the stages
// that need it are then not run, and say so.
//
// It needs no driver: configuration space, registers, packets and the ring are
// used as rtl/abi declares them, over whatever link the selector names. All
// waits have a deadline on the board's clock. The board is left as it was
// found where that can be written: registers have their values, the node is
// reset, VRAM is overwritten.
package bringup

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hilgpu/hilgpu/boards"
	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/rtl/abi/reg"
	"github.com/hilgpu/hilgpu/testbench/device/bare"
)

// ErrOptions is returned, wrapped with what is legal, for options that cannot
// be.
var ErrOptions = errors.New("bringup: bad options")

// DefaultBytes is how much of VRAM the patterns cover if Options does not say.
const DefaultBytes = 64 << 10

// An Opener connects a host to the board that a selector names, as boards.Open
// does; one that records what crosses the link has it in between.
type Opener func(selector string, host bus.Host) (bus.Link, bus.Clock, error)

// Options say what is tested. The zero value is every stage on "emu".
type Options struct {
	Board string   // selector; "": emu
	Only  []string // stages, by name or by group as in "mem"; none: all
	Seed  uint64   // of patterns, places and probe values

	// Bytes is how much of VRAM the patterns cover, from its start, rounded
	// down to words of 8; 0: DefaultBytes. More than there is means all.
	Bytes uint64

	// Poke is the class of registers that are written with patterns: those
	// that are safe at any time, or also others, since nothing runs.
	Poke reg.Poke

	Open Opener // nil: boards.Open

	// Began, if not nil, is told of every stage before it runs, and how many of all
	// that are selected are done.
	Began func(stage string, done, total int)

	// Progress, if not nil, is told of every result as soon as it is there.
	Progress func(Result)
}

// Run tests the board and returns what it found. A board that cannot be
// reached or that fails is no error but a report that says so; an error is one
// of ErrOptions, boards.ErrSelector, or that of ctx, which ends the run at the
// next access.
func Run(ctx context.Context, o Options) (*Report, error) {
	selected, err := choose(o.Only)
	if err != nil {
		return nil, err
	}
	if o.Board == "" {
		o.Board = "emu"
	}
	if o.Bytes == 0 {
		o.Bytes = DefaultBytes
	}
	if o.Open == nil {
		o.Open = boards.Open
	}
	r := &runner{opt: o, selected: selected, report: &Report{Board: o.Board, Seed: o.Seed}, verdicts: map[string]Status{}}
	host := bare.NewHost(hostBytes)
	link, clock, err := o.Open(o.Board, host)
	if errors.Is(err, boards.ErrSelector) {
		return nil, err
	}
	s := &session{Access: &bare.Access{Ctx: ctx, Link: link, Clock: clock, Host: host}, opt: o}
	if err != nil {
		r.add(stages()[0], failed("the board cannot be opened", "see the cause: a cable, a port that is held, a board without power", err))
		r.lost = err
	} else {
		defer link.Close()
	}
	before := counters(s)
	r.run(s)
	r.report.LinkErrors = counted(before, counters(s))
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return r.report, nil
}

// A runner runs the stages and keeps what came of them.
type runner struct {
	opt      Options
	selected map[string]bool
	report   *Report
	verdicts map[string]Status
	lost     error // why the board does not answer any more, or nil
	lostIn   string
}

// run runs the stages in order, and tidies up behind them.
func (r *runner) run(s *session) {
	for _, st := range stages() {
		if !r.selected[st.name] || r.verdicts[st.name] != "" {
			continue
		}
		if why := r.blocked(st, s); why != "" {
			r.add(st, outcome{status: Skip, summary: why})
			continue
		}
		r.began(st)
		from := s.Clock.Now()
		out := r.stage(st, s)
		out.seconds = float64(s.Clock.Now()-from) / float64(s.Clock.Hz())
		r.add(st, out)
		if out.err != nil && mute(out.err) {
			r.lost, r.lostIn = out.err, st.name
		}
	}
	if r.lost == nil || s.Ctx.Err() != nil && s.prepared {
		if err := s.restore(); err != nil {
			r.add(stage{name: "board.restore", title: "the board gets back what was found"}, failed("the board is left as the stages had it", "", err))
		}
	}
	r.report.Device = s.device
}

// began tells of a stage that is about to run.
func (r *runner) began(st stage) {
	if r.opt.Began == nil {
		return
	}
	total := 0
	for _, selected := range r.selected {
		if selected {
			total++
		}
	}
	r.opt.Began(st.name, len(r.verdicts), total)
}

// stage runs one, after what every stage but the first needs.
func (r *runner) stage(st stage, s *session) outcome {
	if st.group() != "link" {
		if err := s.prepare(); err != nil {
			return failed("the BARs cannot be placed", "", err)
		}
	}
	s.Err = nil
	s.Host.Refused = nil
	out := st.run(s)
	if missing := r.missing(st); out.status == Fail && len(missing) > 0 {
		out.details = append(out.details, "it relies on "+strings.Join(missing, ", ")+", which --only left out")
	}
	if s.Err != nil {
		out.status, out.err = Fail, s.Err
		out.summary = "ended by an access that failed"
		if mute(s.Err) {
			out.summary = "the board does not answer any more"
			out.details = slices.DeleteFunc(out.details, func(d string) bool { return d == problem(bare.ErrGone) })
		}
		if out.likely == "" {
			out.likely = "the device stopped, or refuses what it ought to answer"
		}
	}
	return out
}

// missing returns what a stage needs, itself or through others, that was not
// asked for.
func (r *runner) missing(st stage) []string {
	var names []string
	for _, other := range stages() {
		if r.verdicts[other.name] == "" && other.name != st.name && relies(st, other.name) {
			names = append(names, other.name)
		}
	}
	return names
}

// relies says whether a stage needs another, itself or through others.
func relies(st stage, name string) bool {
	for _, need := range stages() {
		if slices.Contains(st.needs, need.name) && (need.name == name || relies(need, name)) {
			return true
		}
	}
	return false
}

// blocked returns why a stage is not run, or "".
func (r *runner) blocked(st stage, s *session) string {
	if r.lost != nil {
		if r.lostIn == "" {
			return "not run: the board could not be opened"
		}
		return "not run: the board did not answer any more in " + r.lostIn
	}
	needs := st.needs
	if s.prepared && !s.aperture && st.group() == "mem" {
		needs = append([]string{"cp.start"}, needs...)
	}
	for _, need := range needs {
		if v := r.verdicts[need]; v == Fail || v == Skip {
			return fmt.Sprintf("not run: needs %s, which %s", need, map[Status]string{Fail: "failed", Skip: "was not run"}[v])
		}
	}
	return ""
}

// add keeps an outcome.
func (r *runner) add(st stage, out outcome) {
	res := Result{
		Stage: st.name, Title: st.title, Status: out.status, Summary: out.summary,
		Details: out.details, Likely: out.likely, Bits: out.bits, Seconds: out.seconds,
	}
	if out.err != nil {
		res.Error = out.err.Error()
		if r.report.cause == nil {
			r.report.cause = out.err
		}
		res.Link = down(out.err)
	}
	r.verdicts[st.name] = out.status
	r.report.count(res, r.opt)
	if r.opt.Progress != nil {
		r.opt.Progress(res)
	}
}

// mute says whether an error means that nothing more will be answered.
func mute(err error) bool {
	return down(err) || is(err, bus.ErrTimeout, context.Canceled, context.DeadlineExceeded)
}

// down says whether an error is the link's.
func down(err error) bool {
	return is(err, bus.ErrCRC, bus.ErrLinkDown, bus.ErrStale, bus.ErrClosed)
}

func is(err error, kinds ...error) bool {
	return slices.ContainsFunc(kinds, func(kind error) bool { return errors.Is(err, kind) })
}

// choose returns the stages that are selected.
func choose(only []string) (map[string]bool, error) {
	all, chosen := stages(), map[string]bool{}
	for _, st := range all {
		chosen[st.name] = len(only) == 0
	}
	for _, name := range only {
		found := false
		for _, st := range all {
			if st.name == name || st.group() == name {
				chosen[st.name], found = true, true
			}
		}
		if !found {
			return nil, fmt.Errorf("%w: no stage %q, want one of %s", ErrOptions, name, strings.Join(Stages(), ", "))
		}
	}
	return chosen, nil
}

// Stages returns the names of the stages in the order in which they run. What
// stands before the dot is the group.
func Stages() []string {
	var names []string
	for _, st := range stages() {
		names = append(names, st.name)
	}
	return slices.Clip(names)
}

// Describe returns a line for each stage, with what it does.
func Describe() string {
	var b strings.Builder
	for _, st := range stages() {
		fmt.Fprintf(&b, "%-14s %s\n", st.name, st.title)
	}
	return b.String()
}
