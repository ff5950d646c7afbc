package testbench_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/windows"
)

// processor returns the processor time of this program so far.
func processor(b *testing.B) time.Duration {
	var begun, ended, kernel, user windows.Filetime
	require.NoError(b, windows.GetProcessTimes(windows.CurrentProcess(), &begun, &ended, &kernel, &user))
	ticks := func(f windows.Filetime) int64 { return int64(f.HighDateTime)<<32 | int64(f.LowDateTime) }
	return time.Duration(ticks(kernel)+ticks(user)) * 100
}
