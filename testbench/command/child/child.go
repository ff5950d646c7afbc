// Package child runs cases of the suite in child processes, so that a driver that
// ends its process ends no other case. Go recovers neither a panic in a goroutine
// that a driver started, nor a fatal error, nor os.Exit.
//
// A [Pool] starts the program again with [Variable] in its environment. The program
// then calls [Serve], which runs one case after another and writes each DDI call to
// a file at once. When the child dies, the Pool reads the calls that had not
// returned from that file, and its next case gets a new child.
package child

import (
	"encoding/json"
	"time"

	"github.com/hilgpu/hilgpu/runtime/verifier"
	"github.com/hilgpu/hilgpu/testbench"
	"github.com/hilgpu/hilgpu/testbench/suite"
)

// Variable is the variable of the environment of a child. Its value begins each
// answer of the child.
const Variable = "HILGPU_CHILD"

// beat is the time between two signs of life of a child.
const beat = time.Second

// A request asks a child to run a case, to open and close the board, or to run a
// command line. It is a line of JSON on the child's standard input.
type request struct {
	Args     []string         `json:"args,omitempty"` // command line; nil: a case or the board
	Case     string           `json:"case"`           // name of an instance; "": only open the board
	Board    string           `json:"board"`
	Seed     uint64           `json:"seed"`
	Runs     uint64           `json:"runs"`
	Foreign  bool             `json:"foreign"`
	Tiers    []suite.Tier     `json:"tiers"`
	Cover    bool             `json:"cover"`
	Keep     bool             `json:"keep"` // keep the artifacts of a failure
	Tdr      time.Duration    `json:"tdr"`
	Queues   testbench.Queues `json:"queues"`
	Limit    time.Duration    `json:"limit"`
	Waive    []string         `json:"waive,omitempty"`
	Collect  bool             `json:"collect,omitempty"`
	Sanitize bool             `json:"sanitize,omitempty"`
	Trace    string           `json:"trace"` // file for the DDI calls
}

// An answer is a line of JSON after the value of Variable. Answers have a pipe of
// their own; on Windows they are on the child's standard output.
type answer struct {
	Ready  bool          `json:"ready,omitempty"` // the child waits for requests
	Beat   bool          `json:"beat,omitempty"`  // the child lives
	Result *suite.Result `json:"result,omitempty"`
	Files  *files        `json:"files,omitempty"`
	Out    []byte        `json:"out,omitempty"`   // more standard output of the command line; only without ownPipe
	Code   *int          `json:"code,omitempty"`  // exit code of the command line
	Error  *failure      `json:"error,omitempty"` // why the board did not open or the GPU stopped
}

// files are the artifacts of a result, which its JSON form does not have.
type files struct {
	Trace []byte `json:"trace"`
	Bus   []byte `json:"bus"`
	Wave  []byte `json:"wave"`
	Log   []byte `json:"log"`

	Got      []byte `json:"got,omitempty"`
	Expected []byte `json:"expected,omitempty"`

	Dump string `json:"dump"`
}

// A failure is an error in an answer.
type failure struct {
	Code      int                 `json:"code"` // exit code
	Text      string              `json:"text"`
	Details   string              `json:"details,omitempty"` // dump of the kernel
	Violation *verifier.Violation `json:"violation,omitempty"`
}

// line encodes a request or an answer. Encoding never fails.
func line(v any) []byte {
	p, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return append(p, '\n')
}
