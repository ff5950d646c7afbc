package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hilgpu/hilgpu/boards"
)

// boardVariable is the variable of the environment that has the selector where
// --board does not.
const boardVariable = "HILGPU_BOARD"

// addBoard adds the flag, with more to say of it.
func addBoard(fl *pflag.FlagSet, board *string, more string) {
	fl.StringVar(board, "board", "emu", "board `selector`"+more+"; "+boardVariable+" of the environment if not given")
}

// withBoard has do work on the board of the environment if the command takes
// one and is given none. An error of that selector, and one of reaching the board, names
// the variable.
func (a *app) withBoard(c *cobra.Command, do func() error) error {
	flag := c.Flag("board")
	board := ""
	if flag != nil && !flag.Changed {
		board = a.getenv(boardVariable)
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
	if code := exitCode(err); mine || code == exitNoDevice || code == exitLink {
		err = fmt.Errorf("%s: %w", boardVariable, err)
	}
	return err
}
