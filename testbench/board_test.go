package testbench_test

import "flag"

// board is what the tests that need no particular GPU run on:
//
//	go test ./testbench -board 'emu?latency=100'
var board = flag.String("board", "emu", "board `selector` for the tests that need no particular GPU")

// What TestSuite runs.
var (
	seed = flag.Uint64("suite.seed", 0, "first `seed` of TestSuite")
	runs = flag.Uint64("suite.runs", 0, "seeds of each case of TestSuite that has several; 0: as the case says")
)

// onBoard returns the selector of a test: the board chosen with -board, unless
// the test asks for more than any.
func onBoard(selector string) string {
	if selector == "emu" {
		return *board
	}
	return selector
}
