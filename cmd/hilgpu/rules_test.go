package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
	"github.com/hilgpu/hilgpu/runtime/verifier/rule"
	"github.com/hilgpu/hilgpu/testbench"
	"github.com/hilgpu/hilgpu/testbench/command"
	"github.com/hilgpu/hilgpu/testbench/command/exit"
)

func TestRulesCommands(t *testing.T) {
	code, stdout, stderr := hilgpu("rules", "list")
	require.Zero(t, code, stderr)
	assert.Len(t, strings.Split(strings.TrimSpace(stdout), "\n"), len(rule.All()))
	assert.Regexp(t, `(?m)^error-success +driver +Success is not reported\.$`, stdout)

	code, stdout, _ = hilgpu("rules", "list", "--json")
	require.Zero(t, code)
	var all struct{ Rules []rule.Rule }
	require.NoError(t, json.Unmarshal([]byte(stdout), &all))
	assert.Equal(t, rule.All(), all.Rules)

	code, stdout, _ = hilgpu("rules", "explain", "error-success")
	require.Zero(t, code)
	assert.Equal(t, `error-success: Success is not reported.
  at fault   driver
  source     Handling Errors
  caught     SetErrorCb with a result that is not an error.
  violation  the program stops, exit code 7
  example    pfnFlush: reports S_OK
`, stdout)

	code, stdout, _ = hilgpu("rules", "explain", "error-success", "--json")
	require.Zero(t, code)
	var one rule.Rule
	require.NoError(t, json.Unmarshal([]byte(stdout), &one))
	assert.Equal(t, "error-success", one.Name)

	code, _, stderr = hilgpu("rules", "explain", "no-such")
	assert.Equal(t, exit.Usage, code)
	assert.Contains(t, stderr, `no such rule: "no-such", want one of list-state, list-context, `)
	code, _, stderr = hilgpu("run", "compose", "--size", "8x8", "--waive", "no-such")
	assert.Equal(t, exit.Usage, code)
	assert.Contains(t, stderr, `no such rule: "no-such"`)
}

// flushing returns the drivers of this GPU, with a Flush that reports hr.
func flushing(hr ddi.HRESULT) testbench.Drivers {
	drivers := testbench.HostDrivers()
	open := drivers.UserMode
	drivers.UserMode = func(t *ddi.Thread, arg *umddi.OpenAdapter) ddi.HRESULT {
		res := open(t, arg)
		create := arg.Funcs.CreateDevice
		arg.Funcs.CreateDevice = func(t *ddi.Thread, h umddi.HAdapter, arg *umddi.CreateDevice) ddi.HRESULT {
			um, core := arg.UMCallbacks, arg.RTCoreLayer
			res := create(t, h, arg)
			flush := arg.DeviceFuncs.Flush
			arg.DeviceFuncs.Flush = func(t *ddi.Thread, h umddi.HDevice) {
				flush(t, h)
				um.SetErrorCb(t, core, hr)
			}
			return res
		}
		return res
	}
	return drivers
}

// A user-mode driver that breaks a rule ends the run with the rule. A waived
// rule is counted. Without the verifier nothing is detected.
func TestBrokenRule(t *testing.T) {
	compose := func(flags ...string) (code int, stderr string) {
		var out, errs bytes.Buffer
		p := command.Program{Name: "mine", Drivers: flushing(ddi.OK), Root: newRoot}
		code = command.NewApp(p, &out, &errs, nil).Run(append([]string{"run", "compose", "--size", "16x16", "--contexts", "1"}, flags...))
		return code, errs.String()
	}
	code, stderr := compose()
	assert.Equal(t, exit.Contract, code)
	assert.True(t, strings.HasPrefix(stderr, "mine: verifier: error-success (driver): pfnFlush: reports S_OK; the call to blame: pfnSetErrorCb (call #"), stderr)
	assert.Contains(t, stderr, "pfnFlush > pfnSetErrorCb\n")

	code, stderr = compose("--waive", "error-success")
	assert.Zero(t, code, "the runtime removes the device after its last use")
	assert.Regexp(t, `^mine: verifier: waived: error-success, \d+ times, first: pfnFlush: reports S_OK; the call to blame: pfnSetErrorCb \(call #\d+\), argument hr, which is S_OK\n$`, stderr)

	code, stderr = compose("--verify=false")
	assert.Zero(t, code)
	assert.Empty(t, stderr)
}
