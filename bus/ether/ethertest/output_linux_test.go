package ethertest

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestLogs logs. TestLogsArrive also runs it, with a deadline or without.
func TestLogs(t *testing.T) {
	Run(t, func(t *testing.T, _ *Net) {
		t.Log("a figure")
		end, ok := t.Deadline()
		switch os.Getenv("DEADLINE") {
		case "0":
			assert.False(t, ok)
		case "20m":
			require.True(t, ok)
			assert.Less(t, time.Until(end), 20*time.Minute)
			assert.Greater(t, time.Until(end), 10*time.Minute)
		}
	})
}

// TestLogsArrive: what a test logs in its namespace is in the output, without the lines of
// package testing, and its time follows that of the process outside.
func TestLogsArrive(t *testing.T) {
	for _, timeout := range []string{"0", "20m"} {
		c := exec.Command(os.Args[0], "-test.run", "^TestLogs$", "-test.v", "-test.timeout", timeout)
		c.Env = append(os.Environ(), "DEADLINE="+timeout)
		out, err := c.CombinedOutput()
		require.NoError(t, err, "%s", out)
		if strings.Contains(string(out), "--- SKIP") {
			t.Skipf("%s", out)
		}
		assert.Regexp(t, `^=== RUN   TestLogs\n[^=]* a figure\n--- PASS: TestLogs [^-]*$`, string(out))
	}
}

func TestTimeout(t *testing.T) {
	now := time.Now()
	for _, tt := range []struct {
		end  time.Time
		want time.Duration
	}{
		{time.Time{}, 0},
		{now.Add(time.Hour), time.Hour - 10*time.Second},
		{now.Add(12 * time.Second), 6 * time.Second},
		{now, time.Millisecond},
	} {
		assert.Equal(t, tt.want, timeout(tt.end, now))
	}
}
