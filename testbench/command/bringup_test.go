package command

import (
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/testbench/command/exit"
)

// silent opens a board that answers nothing.
func silent(selector string, host bus.Host) (bus.Link, bus.Clock, error) {
	return nil, nil, bus.ErrTimeout
}

// A board that cannot be opened is a link failure, whatever the cause.
func TestBringupSilent(t *testing.T) {
	var out strings.Builder
	err := runBringup(t.Context(), bringupFlags{board: "serial:/dev/x", poke: "safe", bytes: "all", app: NewApp(program(), &out, io.Discard, nil), open: silent})
	require.Error(t, err)
	assert.Equal(t, exit.Link, exit.Code(err))
	assert.ErrorIs(t, err, bus.ErrTimeout)
	assert.Contains(t, out.String(), "link.trips     the board cannot be opened")
	assert.Contains(t, out.String(), "fence.order    not run: the board could not be opened")
	assert.Contains(t, out.String(), "hilgpu bringup --board serial:/dev/x --only link.trips --seed 0 --bytes ")
}
