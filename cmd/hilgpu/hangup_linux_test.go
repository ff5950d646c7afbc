package main

import (
	"context"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/testbench/command/exit"
)

// killed runs the program until a file exists, sends a signal a moment later, and returns its
// output. It also runs as that program, in the test of the given name.
func killed(t *testing.T, name, args, file string, s syscall.Signal) (code int, stdout, stderr string) {
	const child = "HILGPU_TEST_CHILD"
	if args := os.Getenv(child); args != "" {
		os.Exit(run(strings.Fields(args), os.Stdout, os.Stderr))
	}
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, s) // a signal that this process catches is not ignored by the program, also under nohup
	defer signal.Stop(caught)
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^"+name+"$")
	cmd.Env = append(os.Environ(), child+"="+args)
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	require.NoError(t, cmd.Start())
	require.Eventually(t, func() bool {
		left, err := filepath.Glob(file)
		return err == nil && len(left) > 0
	}, 20*time.Second, time.Millisecond)
	time.Sleep(500 * time.Millisecond) // the work begins just after the file is created
	require.NoError(t, cmd.Process.Signal(s))
	require.Error(t, cmd.Wait())
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

// A terminal that is closed ends a board that is served, and its pty.
func TestServeHangup(t *testing.T) {
	pty := filepath.Join(t.TempDir(), "hup")
	code, _, stderr := killed(t, "TestServeHangup", "board serve emu --listen pty:"+pty, pty, syscall.SIGHUP)
	assert.Equal(t, exit.Signal+1, code)
	assert.Equal(t, "hilgpu: ended by a signal: hangup\n", stderr)
	assert.NoFileExists(t, pty)
}

// An interrupted bring-up has its summary and its report.
func TestBringupInterrupted(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "rep")
	code, stdout, stderr := killed(t, "TestBringupInterrupted", "bringup --bytes all --report "+dir, filepath.Join(dir, ".bus*"), syscall.SIGINT)
	assert.Equal(t, exit.Signal+2, code)
	assert.Equal(t, "hilgpu: ended by a signal: interrupt\n", stderr)
	assert.Contains(t, stdout, "interrupted before its end")
	assert.Regexp(t, `(?m)^-------- 0 failed, [0-9]+ passed, [1-9][0-9]* not run$`, stdout)
	for _, name := range []string{"report.json", "report.html", "junit.xml", "bus.pcapng"} {
		assert.FileExists(t, filepath.Join(dir, name))
	}
}

// Copies and fills that are interrupted have a result.
func TestFillInterrupted(t *testing.T) {
	dir := t.TempDir()
	code, stdout, stderr := killed(t, "TestFillInterrupted", "run fill --size 1048576 --count 10000 --capture "+dir+"/c", dir+"/.c*", syscall.SIGINT)
	assert.Equal(t, exit.Signal+2, code)
	assert.Equal(t, "hilgpu: ended by a signal: interrupt\n", stderr)
	assert.Regexp(t, `(?m)^moved    [0-9]+ bytes in [0-9]+ clocks before the run was interrupted`, stdout)
}
