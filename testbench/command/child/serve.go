package child

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/hilgpu/hilgpu/runtime/dxgkrnl"
	"github.com/hilgpu/hilgpu/testbench"
	"github.com/hilgpu/hilgpu/testbench/command/exit"
	"github.com/hilgpu/hilgpu/testbench/command/record"
	"github.com/hilgpu/hilgpu/testbench/suite"
)

// An Execute runs a command line of the program and returns its exit code. It prints
// to stdout and os.Stderr, and the DDI calls go to trace at once.
type Execute func(args []string, stdout, trace io.Writer) int

// Serve runs cases and command lines for the Pool that started this process, and ends
// the process with it. In a process that no Pool started it returns at once. name is
// the name of the program.
func Serve(name string, d testbench.Drivers, execute Execute) {
	token := os.Getenv(Variable)
	if token == "" {
		return
	}
	// A process that a driver starts is no child of the Pool, and what a driver
	// prints is no answer.
	os.Unsetenv(Variable)
	s := &server{name: name, drivers: d, execute: execute, token: token, out: ownAnswers()}
	s.stdout = output{s}
	if ownPipe {
		s.stdout = os.Stdout
	}
	os.Stdout = os.Stderr
	s.send(answer{Ready: true})
	go s.beat()
	requests := make(chan request)
	go func() {
		for in := bufio.NewReader(os.Stdin); ; {
			text, err := in.ReadBytes('\n')
			var r request
			if err != nil || json.Unmarshal(text, &r) != nil {
				os.Exit(0) // the Pool has ended
			}
			requests <- r
		}
	}()
	for r := range requests {
		s.send(s.answer(r))
	}
}

// A server is the child's side.
type server struct {
	name    string
	drivers testbench.Drivers
	execute Execute
	stdout  io.Writer // of command lines
	token   string

	mu  sync.Mutex // guards writes to out
	out io.Writer
}

// send writes an answer. A lost Pool ends the process.
func (s *server) send(a answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.out.Write(append([]byte(s.token), line(a)...)); err != nil {
		os.Exit(0)
	}
}

// beat sends heartbeats.
func (s *server) beat() {
	for range time.Tick(beat) {
		s.send(answer{Beat: true})
	}
}

// answer does what r asks for.
func (s *server) answer(r request) answer {
	trace, err := newTraceFile(r.Trace)
	if err != nil {
		return answer{Error: failureOf(err)}
	}
	defer trace.close()
	if r.Args != nil {
		code := s.execute(r.Args, s.stdout, trace)
		return answer{Code: &code}
	}
	log := record.Recorder{Program: s.name, Log: os.Stderr}
	board, err := log.Options()
	if err != nil {
		return answer{Error: failureOf(err)}
	}
	defer log.Commit(nil)
	o := suite.Options{
		Selector: r.Board, Board: board, Drivers: s.drivers, Foreign: r.Foreign, Tiers: r.Tiers, Seed: r.Seed, Runs: r.Runs,
		Tdr: r.Tdr, Queues: r.Queues, Limit: r.Limit, Waive: r.Waive, Collect: r.Collect, Sanitize: r.Sanitize, Trace: r.Keep, Cover: r.Cover, DDI: trace,
	}
	if r.Case == "" {
		return answer{Error: failureOf(suite.Try(o))}
	}
	for _, i := range o.Instances() {
		if i.Name == r.Case {
			return answerOf(suite.RunOne(i, o))
		}
	}
	return answer{Error: failureOf(fmt.Errorf("%w: no case %q", exit.ErrInput, r.Case))}
}

// output is the standard output of a command line if the process needs its own for the
// answers.
type output struct{ s *server }

// Write implements io.Writer.
func (o output) Write(p []byte) (int, error) {
	if len(p) > 0 {
		o.s.send(answer{Out: p})
	}
	return len(p), nil
}

// answerOf returns the answer with a result.
func answerOf(r suite.Result) answer {
	a := answer{Result: &r, Error: failureOf(r.Err)}
	if r.Trace != nil || r.Bus != nil || r.Wave != nil || r.Log != nil || r.Dump != "" {
		a.Files = &files{Trace: r.Trace, Bus: r.Bus, Wave: r.Wave, Log: r.Log, Got: r.Got, Expected: r.Expected, Dump: r.Dump}
	}
	return a
}

// failureOf returns an error for an answer, or nil.
func failureOf(err error) *failure {
	if err == nil {
		return nil
	}
	f := &failure{Code: exit.Code(err), Text: err.Error()}
	var stopped *dxgkrnl.DeviceError
	if errors.As(err, &stopped) {
		f.Details = stopped.Dump
	}
	errors.As(err, &f.Violation)
	return f
}

// err returns the error of an answer, or nil.
func (f *failure) err() error {
	if f == nil {
		return nil
	}
	r := &exit.Remote{Code: f.Code, Text: f.Text, More: f.Details}
	if f.Violation != nil {
		r.Err = f.Violation
	}
	return r
}
