package testbench_test

import "flag"

// board is what the tests that need no particular GPU run on:
//
//	go test ./testbench -board 'emu?latency=100'
var board = flag.String("board", "emu", "board `selector` for the tests that need no particular GPU")

// What TestRandomOperations runs, on each of its boards.
var (
	randomSeed = flag.Uint64("random.seed", 0, "first seed of TestRandomOperations")
	randomRuns = flag.Uint64("random.runs", 2, "seeds of TestRandomOperations")
)

// onBoard returns the selector of a test: the board chosen with -board, unless
// the test asks for more than any.
func onBoard(selector string) string {
	if selector == "emu" {
		return *board
	}
	return selector
}
