package why_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/testbench/eventlog"
	"github.com/hilgpu/hilgpu/testbench/why"
)

// The frame of frameLog.
const frameWidth, frameHeight = 40, 30

// origins returns the calls of the API that each third pixel of a frame comes from, the newest first.
func origins(t *testing.T, board string) (all [][]string) {
	t.Helper()
	l, err := eventlog.NewReader(bytes.NewReader(frameLog(t, board, false)))
	require.NoError(t, err)
	r, err := why.Read(l)
	require.NoError(t, err)
	for y := uint16(0); y < frameHeight; y += 3 {
		for x := uint16(0); x < frameWidth; x += 3 {
			a, err := r.Pixel(x, y)
			require.NoError(t, err)
			assert.Empty(t, a.Missing, "%s: %s", board, a.Text())
			var calls []string
			for _, s := range a.Chain {
				if strings.HasPrefix(s.What, "call ") {
					calls = append(calls, s.What)
				}
			}
			all = append(all, calls)
		}
	}
	return all
}

// within reports whether all of a list is in another one, in the same order and with the same end.
func within(list, other []string) bool {
	if len(list) == 0 || len(other) == 0 || list[len(list)-1] != other[len(other)-1] {
		return false
	}
	for _, s := range other {
		if len(list) > 0 && list[0] == s {
			list = list[1:]
		}
	}
	return len(list) == 0
}

// A pixel comes from the same calls whether its allocations stay in VRAM or are paged out. Calls in which the kernel only
// made room are more.
func TestPixelsOfBoards(t *testing.T) {
	want := origins(t, "emu")
	require.Contains(t, slices.Concat(want...), "call 38, CopyResource")
	for _, board := range []string{"emu?vram=16KiB", "emu?config=small&vram=16KiB", "emu?vram=32KiB&nodes=1", "emu?gart=1", "emu?config=full", "emu?gart=1&vram=16KiB"} {
		got := origins(t, board)
		require.Len(t, got, len(want))
		for i := range want {
			assert.True(t, within(want[i], got[i]), "%s: pixel %d: %q, want %q", board, i, got[i], want[i])
		}
	}
}
