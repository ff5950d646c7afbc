package boards_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/boards"
	"github.com/hilgpu/hilgpu/boards/regs"
	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/rtl/abi/pcicfg"
)

func TestWithRegisters(t *testing.T) {
	var kept *regs.Function
	require.NoError(t, boards.WithRegisters("emu?config=small", boards.Options{}, regs.Options{}, func(f *regs.Function) error {
		kept = f
		assert.EqualValues(t, pcicfg.VendorID, f.Identity().Vendor)
		return nil
	}))
	targets, err := kept.Find("id.magic")
	require.NoError(t, err)
	_, _, err = kept.ReadAll(targets)
	assert.ErrorIs(t, err, bus.ErrClosed, "the board is closed")

	bad := errors.New("bad")
	assert.Equal(t, bad, boards.WithRegisters("emu?config=small", boards.Options{}, regs.Options{}, func(*regs.Function) error { return bad }))
	none := func(*regs.Function) error { t.Error("called without a board"); return nil }
	assert.ErrorIs(t, boards.WithRegisters("nowhere", boards.Options{}, regs.Options{}, none), boards.ErrSelector)
}
