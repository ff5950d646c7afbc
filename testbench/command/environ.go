package command

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hilgpu/hilgpu/boards"
	"github.com/hilgpu/hilgpu/testbench/command/exit"
)

// BoardVariable is the environment variable with the default selector for
// --board.
const BoardVariable = "HILGPU_BOARD"

// AddBoard adds the flag --board; more is added to its description.
func AddBoard(fl *pflag.FlagSet, board *string, more string) {
	fl.StringVar(board, "board", "emu", "board `selector`"+more+"; default "+BoardVariable+" of the environment")
}

// withBoard runs do with the board of the environment if the command has a flag
// --board that was not given. An error of that selector, or of opening the
// board, names the variable.
func (a *App) withBoard(c *cobra.Command, do func() error) error {
	flag := c.Flag("board")
	board := ""
	if flag != nil && !flag.Changed {
		board = a.Getenv(BoardVariable)
	}
	if board == "" {
		return do()
	}
	if err := flag.Value.Set(board); err != nil {
		return err
	}
	err := do()
	if err == nil {
		return nil
	}
	mine := errors.Is(err, boards.ErrSelector) && strings.Contains(err.Error(), fmt.Sprintf("%q", board))
	if code := exit.Code(err); mine || code == exit.NoDevice || code == exit.Link {
		err = fmt.Errorf("%s: %w", BoardVariable, err)
	}
	return err
}
