package main

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
	"github.com/hilgpu/hilgpu/runtime/verifier"
	"github.com/hilgpu/hilgpu/testbench"
	"github.com/hilgpu/hilgpu/testbench/command"
	"github.com/hilgpu/hilgpu/testbench/command/exit"
	"github.com/hilgpu/hilgpu/testbench/compose"
	"github.com/hilgpu/hilgpu/testbench/output"
	"github.com/hilgpu/hilgpu/testbench/session"
)

// notReturned returns the names of the calls in a trace that have not returned.
func notReturned(t *testing.T, path string) []string {
	t.Helper()
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	all, err := verifier.ReadTrace(f)
	require.NoError(t, err)
	type call struct {
		context int
		seq     uint64
	}
	returned := map[call]bool{}
	for _, ev := range all {
		if ev.At == "leave" {
			returned[call{ev.Context, ev.Seq}] = true
		}
	}
	var out []string
	for _, ev := range all {
		if !returned[call{ev.Context, ev.Seq}] {
			out = append(out, ev.Name)
		}
	}
	return out
}

// The bytes of --ddi are the same in each run, independent of timing.
func TestDDIRepeats(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ddi.jsonl")
	var want []byte
	for i := range 10 {
		old := runtime.GOMAXPROCS(1 + i%2)
		code, _, stderr := hilgpu("run", "compose", "--contexts", "3", "--size", "64x48", "--ddi", path)
		runtime.GOMAXPROCS(old)
		require.Zero(t, code, stderr)
		got, err := os.ReadFile(path)
		require.NoError(t, err)
		if i == 0 {
			want = got
		}
		require.True(t, bytes.Equal(want, got), "run %d differs", i)
	}
	assert.Contains(t, string(want), `"name":"pfnResourceCopyRegion"`)
	assert.Empty(t, notReturned(t, path))
}

// hanging returns drivers with a function in which the first deferred context
// waits.
func hanging(in chan<- bool, out <-chan bool) testbench.Drivers {
	drivers := testbench.HostDrivers()
	open := drivers.UserMode
	drivers.UserMode = func(t *ddi.Thread, arg *umddi.OpenAdapter) ddi.HRESULT {
		hr := open(t, arg)
		create := arg.Funcs.CreateDevice
		arg.Funcs.CreateDevice = func(t *ddi.Thread, h umddi.HAdapter, arg *umddi.CreateDevice) ddi.HRESULT {
			hr := create(t, h, arg)
			deferred := arg.DeviceFuncs.CreateDeferredContext
			arg.DeviceFuncs.CreateDeferredContext = func(t *ddi.Thread, h umddi.HDevice, arg *umddi.CreateDeferredContext) {
				deferred(t, h, arg)
				clear := arg.ContextFuncs.ClearRenderTargetView
				arg.ContextFuncs.ClearRenderTargetView = func(t *ddi.Thread, h umddi.HDevice, v umddi.HRenderTargetView, color [4]float32) {
					in <- true
					<-out
					clear(t, h, v, color)
				}
			}
			return hr
		}
		return hr
	}
	return drivers
}

// The trace of a run that hangs is in the file and ends with the call that
// hangs. A signal sorts the trace.
func TestDDIOfAHang(t *testing.T) {
	plan, err := compose.PlanOf(compose.Options{Width: 16, Height: 16, Contexts: 1}, nil)
	require.NoError(t, err)
	l := new(command.Links)
	path := filepath.Join(t.TempDir(), "ddi.jsonl")
	trace, err := l.Trace(path)
	require.NoError(t, err)
	in, out, done := make(chan bool), make(chan bool), make(chan error)
	go func() {
		_, err := session.OnBoard("emu", hanging(in, out), testbench.Options{DDI: trace}, plan)
		done <- err
	}()
	<-in
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	assert.Regexp(t, `^\{"at":"enter","context":1,.*"name":"pfnClearRenderTargetView",.*"args":\{"h":"context 1","v":"view 1\.1","color":\[`, lines[len(lines)-1])
	assert.Equal(t, []string{"pfnClearRenderTargetView"}, notReturned(t, path))
	require.NoError(t, l.CommitFiles(nil), "as a signal does")
	assert.Equal(t, []string{"pfnClearRenderTargetView"}, notReturned(t, path))
	close(out)
	assert.ErrorIs(t, <-done, output.ErrWrite, "writes fail after the commit")
	again, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Len(t, again, len(text))
	left, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	assert.Len(t, left, 1)
}

// A run that does not start leaves the old file.
func TestDDIOfBadInput(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ddi.jsonl")
	require.NoError(t, os.WriteFile(path, []byte("old"), 0o666))
	for _, args := range [][]string{{"--board", "emu?vrma=1"}, {"--size", "x"}, {"none.png"}} {
		code, _, _ := hilgpu(append([]string{"run", "compose", "--ddi", path}, args...)...)
		assert.Equal(t, exit.Usage, code)
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.Equal(t, "old", string(text))
	}
}
