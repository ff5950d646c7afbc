package signals

import (
	"context"
	"errors"
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestUntil(t *testing.T) {
	ctx, stop := Until(t.Context())
	defer stop()
	_, ok := Of(ctx)
	require.False(t, ok, "no signal yet")
	self, err := os.FindProcess(os.Getpid())
	require.NoError(t, err)
	if err := self.Signal(os.Interrupt); err != nil {
		t.Skipf("this system does not send signals: %v", err)
	}
	<-ctx.Done()
	got, ok := Of(ctx)
	assert.True(t, ok)
	assert.Equal(t, Error{syscall.SIGINT}, got)
	assert.EqualError(t, got, "ended by a signal: interrupt") // as package why reads it
}

func TestOfAnotherCause(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("other"))
	_, ok := Of(ctx)
	assert.False(t, ok)
	ctx, stop := Until(t.Context())
	stop()
	<-ctx.Done()
	_, ok = Of(ctx)
	assert.False(t, ok, "stopped without a signal")
}
