package stress

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A time-out that ordinary work, or the reads before a reset, outlast on a slow link is refused with the least one before
// the first round. That one is enough.
func TestLeastTimeOutOnALink(t *testing.T) {
	for _, tt := range []struct {
		name, board string
		hang        float64
		tdr, least  time.Duration
	}{
		{"hangs", "line?vram=64KiB", 0.2, 100 * time.Millisecond, 419 * time.Millisecond},
		{"just below", "line?vram=64KiB", 0.2, 418 * time.Millisecond, 419 * time.Millisecond},
		{"no hangs", "line?vram=64KiB", 0, 100 * time.Millisecond, 137 * time.Millisecond},
	} {
		t.Run(tt.name, func(t *testing.T) {
			rounds := 0
			o := small(t, tt.board)
			o.Processes, o.Frames, o.Rounds, o.Pressure, o.Hang, o.System.Tdr = 2, 1, 2, 1.5, tt.hang, tt.tdr
			o.Step = func(Step) { rounds++ }
			_, err := Run(o)
			require.ErrorIs(t, err, ErrInput)
			assert.ErrorContains(t, err, "a time-out (--tdr-delay) of "+tt.tdr.String()+" on a link of 300000 bytes a second, want at least "+tt.least.String()+", ")
			assert.Zero(t, rounds)

			o.System.Tdr = tt.least
			_, err = Run(o)
			require.NoError(t, err)
		})
	}
}

// A link that fails is the error of the link, unless the run injects that.
func TestLinkFails(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(o *Options)
		want   error
	}{
		{"no faults", func(*Options) {}, ErrLink},
		{"another fault", fault(BadPacket, 0), ErrLink},
		{"unplug", fault(Unplug, 1e-12), ErrFailed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := small(t, "emu?vram=64KiB")
			tt.change(&o)
			b, err := open(o)
			require.NoError(t, err)
			b.round = 1
			require.NoError(t, b.next())
			b.injector.Unplug()
			err = b.next()
			require.ErrorIs(t, err, tt.want)
			assert.NotEqual(t, errors.Is(err, ErrLink), errors.Is(err, ErrFailed))
			b.sys.Close()
		})
	}
}

// The lines of the rounds leave out the packets, whose counter a reset clears.
func TestNoPackets(t *testing.T) {
	o := small(t, "emu?vram=64KiB")
	r, err := Run(o)
	require.NoError(t, err)
	assert.Zero(t, r.Packets)
	assert.NotZero(t, r.BytesMoved)
}
