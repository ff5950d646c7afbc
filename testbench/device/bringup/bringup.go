// Package bringup tests an untested board stage by stage. Each stage relies only on
// features that an earlier stage has tested. A stage that fails names the line, the
// register or the bit, and the likely cause; the stages that need it are not run,
// and their results say why.
//
// It needs no driver: it uses configuration space, registers, packets and the ring
// as rtl/abi declares them, over the link of any selector. All waits have a
// deadline on the board's clock. The board is restored where possible: registers
// get their values back and the node is reset. VRAM is overwritten.
package bringup

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hilgpu/hilgpu/boards"
	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/abi/reg"
	"github.com/hilgpu/hilgpu/testbench/device/bare"
)

// ErrOptions is wrapped by the error of bad options, which lists the legal ones.
var ErrOptions = errors.New("bringup: bad options")

// DefaultBytes is the number of bytes of VRAM that the patterns cover by default.
const DefaultBytes = 64 << 10

// ParseBytes parses a value of Options.Bytes: a number from 1 on, or all. It
// reports whether the text is one of them.
func ParseBytes(text string) (n uint64, ok bool) {
	if text == "all" {
		return allBytes, true
	}
	n, err := strconv.ParseUint(text, 10, 62)
	return n, err == nil && n > 0
}

// allBytes is more than any VRAM has.
const allBytes = 1 << 62

// An Opener connects a host to the board of a selector, as boards.Open does. It may
// wrap the link, for example to record it.
type Opener func(selector string, host bus.Host) (bus.Link, bus.Clock, error)

// Options select the board and the stages. The zero value is every stage on "emu".
type Options struct {
	Program string   // whose command bringup repeats a stage; "": hilgpu
	Board   string   // selector; "" means emu
	Only    []string // stages by name, or by group such as "mem"; empty means all
	Seed    uint64   // seed of patterns, addresses and probe values

	// Bytes is the number of bytes of VRAM to test, from 0, rounded down to 8; 0: DefaultBytes.
	Bytes uint64

	// Poke is the class of registers to write: those that are safe at any time, or more.
	Poke reg.Poke

	Open Opener // nil means boards.Open

	// Began, if not nil, is called before each stage, with the count of stages done
	// and selected.
	Began func(stage string, done, total int)

	// Progress, if not nil, is called with each result at once.
	Progress func(Result)
}

// Run tests the board and returns a report. A board that fails or cannot be reached
// is not an error, but a report of failures. Errors are ErrOptions,
// boards.ErrSelector, or the error of ctx, which ends the run at the next access. With
// that error Run also returns the report so far.
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
		r.add(stages()[0], failed("the board cannot be opened", "see the cause: a cable, a port in use, a board without power", err))
		r.lost = err
	} else {
		defer link.Close()
	}
	if err == nil {
		s.baseline, _ = s.measure() // a stage reports the error
	}
	before := counters(s)
	r.run(s)
	r.report.LinkErrors = counted(before, counters(s))
	return r.report, ctx.Err()
}

// A runner runs the stages and collects their outcomes.
type runner struct {
	opt      Options
	selected map[string]bool
	report   *Report
	verdicts map[string]Status
	lost     error // why the board stopped answering, or nil
	lostIn   string
	ended    string // the stage in which the context ended, or ""
}

// run runs the stages in order and restores the board afterwards. A stage in which the context ended is skipped, and so are
// those after it.
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
		if s.Ctx.Err() != nil {
			r.ended = st.name
			out = outcome{status: Skip, summary: "interrupted before its end"}
		}
		out.seconds = float64(s.Clock.Now()-from) / float64(s.Clock.Hz())
		s.explain(&out)
		r.add(st, out)
		if out.err != nil && isLost(out.err) {
			r.lost, r.lostIn = out.err, st.name
		}
	}
	if r.lost == nil && (s.Ctx.Err() == nil || s.prepared) {
		if err := s.restore(); err != nil {
			r.add(stage{name: "board.restore", title: "the board's earlier state is restored"}, failed("the board's earlier state is not restored", "", err))
		}
	}
	r.report.Device = s.device
}

// began reports that a stage is about to run.
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

// stage runs one stage, after the preparation that all but the first need.
func (r *runner) stage(st stage, s *session) outcome {
	if st.group() != "link" {
		if err := s.prepare(); err != nil {
			return failed("the BARs cannot be set", "", err)
		}
	}
	if st.group() == "mem" {
		s.quiesce() // nodes and microcontroller may write VRAM
	}
	s.Err = nil
	s.Host.ForgetRefused()
	out := st.run(s)
	if missing := r.missing(st); out.status == Fail && len(missing) > 0 {
		out.details = append(out.details, "relies on "+strings.Join(missing, ", ")+", excluded by --only")
	}
	if s.Err != nil {
		out.status, out.err = Fail, s.Err
		out.summary = "ended by a failed access"
		if isLost(s.Err) {
			out.summary = "the board stopped answering"
			out.details = slices.DeleteFunc(out.details, func(d string) bool { return d == problem(bare.ErrLost) })
		}
		if out.likely == "" {
			out.likely = "the device stopped, or refuses an access that it must answer"
		}
	}
	return out
}

// missing returns the direct and indirect needs of a stage that were not selected.
func (r *runner) missing(st stage) []string {
	var names []string
	for _, other := range stages() {
		if r.verdicts[other.name] == "" && other.name != st.name && relies(st, other.name) {
			names = append(names, other.name)
		}
	}
	return names
}

// relies reports whether a stage needs another, directly or indirectly.
func relies(st stage, name string) bool {
	for _, need := range stages() {
		if slices.Contains(st.needs, need.name) && (need.name == name || relies(need, name)) {
			return true
		}
	}
	return false
}

// blocked returns the reason why a stage is not run, or "".
func (r *runner) blocked(st stage, s *session) string {
	if r.ended != "" {
		return "not run: the run was interrupted in " + r.ended
	}
	if r.lost != nil {
		if r.lostIn == "" {
			return "not run: the board could not be opened"
		}
		return "not run: the board stopped answering in " + r.lostIn
	}
	needs := st.needs
	if s.prepared && st.group() == "mcu" && !s.Capabilities().Has(caps.MCU) {
		needs = nil // the stage has nothing to test
	}
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

// add adds an outcome to the report.
func (r *runner) add(st stage, out outcome) {
	res := Result{
		Stage: st.name, Title: st.title, Status: out.status, Summary: out.summary,
		Details: out.details, Likely: out.likely, Bits: out.bits, Seconds: out.seconds, Absent: out.absent,
	}
	if out.err != nil {
		res.Error = out.err.Error()
		if r.report.cause == nil {
			r.report.cause = out.err
		}
		res.Link = isLinkDown(out.err)
	}
	r.verdicts[st.name] = out.status
	if out.absent {
		r.verdicts[st.name] = OK // it holds no other stage up
	}
	r.report.count(res, r.opt)
	if r.opt.Progress != nil {
		r.opt.Progress(res)
	}
}

// isLost reports whether an error means that the board will not answer again.
func isLost(err error) bool {
	return isLinkDown(err) || is(err, bus.ErrTimeout, context.Canceled, context.DeadlineExceeded)
}

// isLinkDown reports whether an error is one of the link.
func isLinkDown(err error) bool {
	return is(err, bus.ErrCRC, bus.ErrLinkDown, bus.ErrStale, bus.ErrClosed)
}

func is(err error, kinds ...error) bool {
	return slices.ContainsFunc(kinds, func(kind error) bool { return errors.Is(err, kind) })
}

// choose returns the selected stages.
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

// Stages returns the names of the stages in the order in which they run. The part
// before the dot is the group.
func Stages() []string {
	var names []string
	for _, st := range stages() {
		names = append(names, st.name)
	}
	return slices.Clip(names)
}

// Describe returns a line for each stage: its name and its title.
func Describe() string {
	var b strings.Builder
	for _, st := range stages() {
		fmt.Fprintf(&b, "%-14s %s\n", st.name, st.title)
	}
	return b.String()
}
