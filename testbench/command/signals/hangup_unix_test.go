//go:build unix

package signals

import (
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The end of a terminal ends a program as a termination does.
func TestHangup(t *testing.T) {
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, syscall.SIGHUP) // so it is not ignored, also under nohup
	defer signal.Stop(caught)
	ctx, stop := Until(t.Context())
	defer stop()
	require.NoError(t, syscall.Kill(os.Getpid(), syscall.SIGHUP))
	select {
	case <-ctx.Done():
	case <-time.After(time.Minute):
		t.Fatal("the hangup does not end it")
	}
	got, ok := Of(ctx)
	assert.True(t, ok)
	assert.EqualError(t, got, "ended by a signal: hangup")
}

// A hangup that is ignored when the program begins, as under nohup, stays so. TestIgnoredHangup also runs as the program that gets it.
func TestIgnoredHangup(t *testing.T) {
	const child = "HILGPU_TEST_CHILD"
	if os.Getenv(child) != "" {
		ctx, stop := Until(t.Context())
		defer stop()
		require.True(t, signal.Ignored(syscall.SIGHUP))
		require.NoError(t, syscall.Kill(os.Getpid(), syscall.SIGHUP))
		select {
		case <-ctx.Done():
			t.Fatal("the hangup ends it")
		case <-time.After(100 * time.Millisecond):
		}
		return
	}
	cmd := exec.Command("sh", "-c", `trap "" HUP; exec "$0" "$@"`, os.Args[0], "-test.run=^TestIgnoredHangup$")
	cmd.Env = append(os.Environ(), child+"=1")
	out, err := cmd.CombinedOutput()
	assert.NoError(t, err, "%s", out)
}
