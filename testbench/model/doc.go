// Package model is a reference model of a Direct3D 11 device: the contents of
// resources, the state of contexts, the results of queries, and the calls that fail
// or have no effect. A command of a list is a Go function, and commands of the
// immediate context take effect at once.
//
// It follows the documentation of the API alone. Where the documentation leaves the
// result undefined, a Settled method returns false, so that a test can avoid the
// case.
//
// The package's tests compare the entire stack with the model. Longer runs:
//
//	go test ./testbench/model -run TestModel -rapid.seed 1 -rapid.checks 100 -rapid.steps 1000
//	go test -race ./testbench/model -run TestThreads -model.rounds 1000
package model
