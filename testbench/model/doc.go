// Package model is a plain model of a Direct3D 11 device: what its resources
// contain, what is set on its contexts, what its queries know, and which calls
// do nothing or fail. Nothing is recorded in a form of its own and nothing is
// late: a command of a list is a function, and what the immediate context is
// told happens at once.
//
// It follows the documentation of the API alone. Where that leaves open what
// happens, a Settled method says so, so that a test can keep away from it.
//
// The package's tests hold the whole stack against the model. More of them:
//
//	go test ./testbench/model -run TestModel -rapid.seed 1 -rapid.checks 100 -rapid.steps 1000
//	go test -race ./testbench/model -run TestThreads -model.rounds 1000
package model
