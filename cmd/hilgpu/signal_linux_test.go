package main

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/hilgpu/hilgpu/testbench/command/exit"
)

// A signal ends a command whose output is not read, and a second signal ends a
// command that would stop by itself.
func TestKilledWithAFullPipe(t *testing.T) {
	const child = "HILGPU_TEST_CHILD"
	if args := os.Getenv(child); args != "" {
		os.Exit(run(strings.Fields(args), os.Stdout, os.Stderr))
	}
	for args, signals := range map[string]int{
		"run compose --size 1000x1000 --ddi /dev/stdout": 1,
		"reg read *.* *.* *.* *.* *.* *.* *.* *.*":       1,
		"bringup --soak 1h --only ident":                 2,
	} {
		t.Run(args, func(t *testing.T) {
			t.Parallel()
			read, write, err := os.Pipe()
			require.NoError(t, err)
			defer read.Close()
			cmd := exec.Command(os.Args[0], "-test.run=^TestKilledWithAFullPipe$")
			cmd.Env = append(os.Environ(), child+"="+args)
			cmd.Stdout = write
			require.NoError(t, cmd.Start())
			require.NoError(t, write.Close())
			require.Eventually(t, func() bool { return full(read) }, 30*time.Second, 10*time.Millisecond)
			for range signals {
				require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
				time.Sleep(200 * time.Millisecond) // a signal that comes too soon merges with the first
			}
			ended := make(chan error, 1)
			go func() { ended <- cmd.Wait() }()
			select {
			case <-ended:
			case <-time.After(20 * time.Second):
				cmd.Process.Kill()
				t.Fatal("it does not end")
			}
		})
	}
}

// Two JSON documents, or one and a file, cannot both be written to standard
// output.
func TestJSONHasStandardOutput(t *testing.T) {
	for _, args := range []string{
		"run compose --json --size 8x8 --ddi /dev/stdout", "run compose --json --size 8x8 -o /dev/stdout",
		"run copy --json --size 64 --wave /dev/stdout", "bringup --soak 1 --only ident --capture /dev/fd/1",
	} {
		code, _, stderr := hilgpu(strings.Fields(args)...)
		assert.Equal(t, exit.Usage, code, args)
		assert.Contains(t, stderr, ": standard output has the JSON document", args)
	}
}

// full reports whether a pipe is full: its fill level no longer changes.
func full(pipe *os.File) bool {
	waiting := func() int {
		n := 0
		c, err := pipe.SyscallConn()
		if err == nil {
			c.Control(func(fd uintptr) { n, _ = unix.IoctlGetInt(int(fd), unix.TIOCINQ) })
		}
		return n
	}
	before := waiting()
	time.Sleep(100 * time.Millisecond)
	return before > 0 && waiting() == before && before >= 1<<12
}
