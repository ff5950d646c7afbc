package child

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/hilgpu/hilgpu/runtime/verifier"
	"github.com/hilgpu/hilgpu/runtime/verifier/rule"
	"github.com/hilgpu/hilgpu/testbench/command/exit"
	"github.com/hilgpu/hilgpu/testbench/suite"
)

// errStart is wrapped by the error of a program that ends before it serves cases.
var errStart = fmt.Errorf("%w: the child process did not start", exit.ErrCheck)

// patience is how long a child may take to end after a signal.
const patience = 2 * time.Second

// defaultSilence is the time without a heartbeat after which a child counts as
// frozen.
const defaultSilence = time.Minute

// A Pool runs cases or command lines in a child process, one after the other. It starts
// a new process after each that ends. A Pool must be closed.
type Pool struct {
	Command func() (*exec.Cmd, error) // starts the program again, which calls Serve
	Options suite.Options             // of the run
	Stdout  io.Writer                 // gets the output of a command line
	Stderr  io.Writer                 // gets all else that a child prints
	Silence time.Duration             // time without a heartbeat; 0: a minute

	dir   string // folder for traces, or ""
	child *process
}

// Try opens the board in a child and closes it.
func (p *Pool) Try() error {
	a, end, err := p.ask(p.request(""))
	switch {
	case err != nil:
		return err
	case end != nil:
		return end.violation()
	}
	if a.Error != nil {
		p.drop() // a call may hang in it
	}
	return a.Error.err()
}

// request returns the request for a case, or with "" for opening the board.
func (p *Pool) request(name string) request {
	o := p.Options
	return request{
		Case: name, Board: o.Selector, Seed: o.Seed, Runs: o.Runs, Foreign: o.Foreign, Tiers: o.Tiers, Keep: o.Trace, Cover: o.Cover,
		Tdr: o.Tdr, Queues: o.Queues, Limit: o.Limit, Waive: o.Waive, Collect: o.Collect, Sanitize: o.Sanitize,
	}
}

// Run runs an instance in a child.
func (p *Pool) Run(i suite.Instance) suite.Result {
	start := time.Now()
	o := p.Options
	a, end, err := p.ask(p.request(i.Name))
	switch {
	case err != nil:
	case end != nil:
		r := i.Failure(end.violation(), time.Since(start))
		if o.Trace {
			r.Trace, r.Log = end.calls.merged(), end.calls.log(i.Selector)
		}
		return r
	case a.Result == nil:
		err = a.Error.err()
	}
	if err != nil {
		return i.Failure(err, time.Since(start))
	}
	r := *a.Result
	if f := a.Files; f != nil {
		r.Trace, r.Bus, r.Wave, r.Log, r.Dump = f.Trace, f.Bus, f.Wave, f.Log, f.Dump
		r.Got, r.Expected = f.Got, f.Expected
	}
	r.Err = a.Error.err()
	if r.Hung {
		p.drop()
		if o.Trace {
			all := readCalls(p.trace())
			r.Trace = all.merged()
		}
	}
	return r
}

// Execute runs a command line of the program in a child and returns its exit code.
// The child prints the error of the command itself. If a driver ends the child, the
// error is a *verifier.Violation. When ctx is cancelled, the child has a moment to end
// by itself.
func (p *Pool) Execute(ctx context.Context, args []string) (code int, err error) {
	if err := p.start(); err != nil {
		return 0, err
	}
	c := p.child
	defer context.AfterFunc(ctx, func() {
		time.Sleep(patience)
		c.cmd.Process.Kill() // it may have ended
	})()
	a, end, err := p.ask(request{Args: args})
	switch {
	case err != nil:
		return 0, err
	case end != nil:
		return 0, end.violation()
	}
	return *a.Code, nil
}

// trace returns the name of the file with the DDI calls of the child.
func (p *Pool) trace() string { return filepath.Join(p.dir, "ddi.jsonl") }

// Close ends the child and removes the traces.
func (p *Pool) Close() error {
	p.drop()
	if p.dir == "" {
		return nil
	}
	return os.RemoveAll(p.dir)
}

// drop ends the child.
func (p *Pool) drop() {
	if p.child != nil {
		p.child.kill()
		p.child = nil
	}
}

// ask sends a request and returns the answer, or how the child ended.
func (p *Pool) ask(r request) (answer, *ending, error) {
	if err := p.start(); err != nil {
		return answer{}, nil, err
	}
	r.Trace = p.trace()
	if _, err := p.child.in.Write(line(r)); err != nil {
		p.drop()
		return answer{}, nil, fmt.Errorf("%w: %w", errStart, err)
	}
	a, ok := p.child.next(p.silence())
	if ok {
		return a, nil, nil
	}
	end := &ending{frozen: p.child.frozen, silence: p.silence()}
	end.how, end.stderr = p.child.kill(), p.child.stderr.lines()
	end.calls = readCalls(r.Trace)
	p.child = nil
	return a, end, nil
}

// silence returns the limit of the time without a heartbeat.
func (p *Pool) silence() time.Duration {
	if p.Silence != 0 {
		return p.Silence
	}
	return defaultSilence
}

// start starts a child unless one waits for requests.
func (p *Pool) start() (err error) {
	if p.child != nil {
		return nil
	}
	if p.dir == "" {
		if p.dir, err = os.MkdirTemp("", "hilgpu-"); err != nil {
			return fmt.Errorf("%w: %w", errStart, err)
		}
	}
	cmd, err := p.Command()
	if err != nil {
		return fmt.Errorf("%w: %w", errStart, err)
	}
	c, err := newProcess(cmd, p.Stdout, p.Stderr)
	if err != nil {
		return fmt.Errorf("%w: %w", errStart, err)
	}
	if a, ok := c.next(p.silence()); !ok || !a.Ready {
		return fmt.Errorf("%w: %s: %s", errStart, c.kill(), strings.Join(c.stderr.lines(), " | "))
	}
	p.child = c
	return nil
}

// named returns a rule that exists.
func named(name string) rule.Rule {
	r, err := rule.Named(name)
	if err != nil {
		panic(err)
	}
	return r
}

// An ending describes how a child ended.
type ending struct {
	how     string // as in "exit status 2"
	frozen  bool   // it sent no heartbeat for silence, and was killed
	silence time.Duration
	stderr  []string // the last lines of its standard error
	calls   calls
}

// Error and Details make an ending the cause of a violation.
func (e *ending) Error() string { return e.how }

// Details returns the last lines of the standard error.
func (e *ending) Details() string { return strings.Join(e.stderr, "\n") }

// violation returns the broken rule.
func (e *ending) violation() *verifier.Violation {
	call, stack, running := e.calls.last()
	v := &verifier.Violation{Function: "none", Stack: stack, Calls: e.calls.recent(), Cause: e}
	place := " before the first call"
	if len(e.calls.text) == 0 { // nothing was traced
		place = ""
	}
	if call != nil {
		v.Function, v.Process, v.Thread, v.Cycle = call.Name, call.Process, call.Thread, call.Cycle
		place = " after this call, which returned"
		// A name that is no level leaves PASSIVE_LEVEL.
		_ = v.IRQL.UnmarshalText([]byte(call.IRQL))
	}
	if running {
		place = " in this call"
	}
	if e.frozen {
		v.Rule = named("call-hang")
		v.Text = fmt.Sprintf("the process sent no heartbeat for %v%s", e.silence, place)
		return v
	}
	v.Rule = named("driver-exit")
	v.Text = fmt.Sprintf("the process ended%s: %s", place, e.how)
	if len(e.stderr) > 0 {
		v.Text += ", " + e.stderr[0]
	}
	return v
}
