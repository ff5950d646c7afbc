package testbench_test

import "flag"

// board is the board of the tests that run on any GPU:
//
//	go test ./testbench -board 'emu?latency=100'
var board = flag.String("board", "emu", "board `selector` for the tests that need no particular GPU")

// Seeds and number of runs of TestSuite.
var (
	seed = flag.Uint64("suite.seed", 0, "first `seed` of TestSuite")
	runs = flag.Uint64("suite.runs", 0, "seeds of each case of TestSuite that has several; 0: the number that the case specifies")
)

// onBoard returns the selector of a test: the given one, or the board chosen with
// -board if that is empty.
func onBoard(selector string) string {
	if selector == "emu" {
		return *board
	}
	return selector
}
