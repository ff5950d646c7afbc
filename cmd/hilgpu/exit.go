package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/hilgpu/hilgpu/boards"
	"github.com/hilgpu/hilgpu/boards/dirty"
	"github.com/hilgpu/hilgpu/boards/hwfault"
	"github.com/hilgpu/hilgpu/boards/regs"
	"github.com/hilgpu/hilgpu/boards/serve"
	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/bus/capture"
	"github.com/hilgpu/hilgpu/bus/channel"
	"github.com/hilgpu/hilgpu/bus/datalink"
	"github.com/hilgpu/hilgpu/bus/endpoint"
	"github.com/hilgpu/hilgpu/bus/fault"
	"github.com/hilgpu/hilgpu/bus/inproc"
	"github.com/hilgpu/hilgpu/bus/line"
	"github.com/hilgpu/hilgpu/bus/rootport"
	"github.com/hilgpu/hilgpu/bus/serial"
	"github.com/hilgpu/hilgpu/bus/tlp"
	"github.com/hilgpu/hilgpu/cmd/hilgpu/record"
	"github.com/hilgpu/hilgpu/cmd/hilgpu/signals"
	"github.com/hilgpu/hilgpu/rtl/gpu"
	"github.com/hilgpu/hilgpu/rtl/hostbfm"
	"github.com/hilgpu/hilgpu/rtl/lockstep"
	"github.com/hilgpu/hilgpu/rtl/lockstep/mutant"
	"github.com/hilgpu/hilgpu/rtl/synth"
	"github.com/hilgpu/hilgpu/rtl/verilog"
	"github.com/hilgpu/hilgpu/rtl/verilog/sim"
	"github.com/hilgpu/hilgpu/rtl/wave"
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/dxgkrnl"
	"github.com/hilgpu/hilgpu/runtime/hal"
	"github.com/hilgpu/hilgpu/runtime/verifier"
	"github.com/hilgpu/hilgpu/runtime/verifier/rule"
	"github.com/hilgpu/hilgpu/testbench"
	"github.com/hilgpu/hilgpu/testbench/compose"
	"github.com/hilgpu/hilgpu/testbench/device/bare"
	"github.com/hilgpu/hilgpu/testbench/device/bringup"
	"github.com/hilgpu/hilgpu/testbench/device/scoreboard"
	"github.com/hilgpu/hilgpu/testbench/device/storm"
	"github.com/hilgpu/hilgpu/testbench/device/transfer"
	"github.com/hilgpu/hilgpu/testbench/figures"
	"github.com/hilgpu/hilgpu/testbench/lists"
	"github.com/hilgpu/hilgpu/testbench/output"
	"github.com/hilgpu/hilgpu/testbench/session"
)

// Exit codes; exits describes them.
const (
	exitOK = iota
	exitCheck
	exitUsage
	exitNoDevice
	exitLink
	exitDevice
	exitMap
	exitContract

	exitSignal = 128 // plus the number of the signal
)

// An exit describes an exit code.
type exit struct {
	kind string // kind of the error in a JSON document
	doc  string
}

// exits returns the exit codes from 0 on.
func exits() []exit {
	return []exit{
		exitOK:       {"", "success"},
		exitCheck:    {"check", "a check failed, or hilgpu itself"},
		exitUsage:    {"usage", "usage or bad input"},
		exitNoDevice: {"no_device", "no device, or another one"},
		exitLink:     {"link", "the link to the device failed"},
		exitDevice:   {"device", "the device faulted, did not start or did not answer in time"},
		exitMap:      {"register_map", "the device has another register map"},
		exitContract: {"contract", "a driver broke a contract"},
	}
}

// kindOf returns the kind of error of an exit code.
func kindOf(code int) string {
	if all := exits(); code < len(all) {
		return all[code].kind
	}
	return "interrupted"
}

// exitText lists the exit codes, one per line.
func exitText() string {
	var b strings.Builder
	for code, e := range exits() {
		fmt.Fprintf(&b, "  %d  %-12s  %s\n", code, e.kind, e.doc)
	}
	return b.String()
}

// errInput is wrapped by errors of invalid input on the command line.
var errInput = errors.New("bad input")

// errCheck is wrapped by the error of a failed check.
var errCheck = errors.New("check failed")

// checkError wraps err in errCheck if it is a defect that the workload checks
// for, and returns other errors unchanged.
func checkError(err error) error {
	var differs *lockstep.Divergence
	found := errors.As(err, &differs)
	for _, e := range []error{scoreboard.ErrDiffers, storm.ErrDiffers, lists.ErrContents, session.ErrFailed, lockstep.ErrPanic, hostbfm.ErrProtocol} {
		found = found || errors.Is(err, e)
	}
	if found {
		return fmt.Errorf("%w: %w", errCheck, err)
	}
	return err
}

// A class is the exit code of an error.
type class struct {
	err  error
	code int
}

// classes returns the exit codes of the errors of the packages below. An error
// that wraps several of them has the code of the first: a failed check takes
// precedence over its cause, and a link error over its consequences.
func classes() []class {
	return []class{
		{errCheck, exitCheck},
		{errInput, exitUsage}, {record.ErrOption, exitUsage}, {output.ErrWrite, exitUsage},
		{boards.ErrSelector, exitUsage}, {bus.ErrRecorded, exitUsage},

		// Identity of the device.
		{serial.ErrMissing, exitNoDevice}, {serial.ErrAmbiguous, exitNoDevice}, {serial.ErrNotPort, exitNoDevice},
		{regs.ErrDevice, exitNoDevice},
		{datalink.ErrMapHash, exitMap}, {regs.ErrMapHash, exitMap},

		// Connection to the device.
		{serial.ErrBusy, exitLink}, {serial.ErrForbidden, exitLink}, {serial.ErrUnplugged, exitLink},
		{bus.ErrCRC, exitLink}, {bus.ErrLinkDown, exitLink}, {bus.ErrStale, exitLink}, {bus.ErrClosed, exitLink},
		{channel.ErrSession, exitLink}, {channel.ErrStalled, exitLink},
		{datalink.ErrNotUp, exitLink}, {datalink.ErrFull, exitLink}, {datalink.ErrSize, exitLink}, {datalink.ErrClosed, exitLink},
		{datalink.ErrOpen, exitLink}, {datalink.ErrVersion, exitLink}, {datalink.ErrReplay, exitLink}, {datalink.ErrDead, exitLink},
		{datalink.ErrPeerDown, exitLink}, {datalink.ErrNewEpoch, exitLink}, {datalink.ErrProtocol, exitLink},
		{endpoint.ErrFull, exitLink}, {endpoint.ErrPoisoned, exitLink}, {endpoint.ErrUnexpected, exitLink},
		{line.ErrCut, exitLink}, {tlp.ErrMalformed, exitLink}, {tlp.ErrUnsupported, exitLink},
		{serve.ErrListen, exitLink},

		// The device itself.
		{bare.ErrDevice, exitNoDevice}, {hal.ErrNoDevice, exitNoDevice}, {ddi.StatusNoSuchDevice, exitNoDevice},
		{bare.ErrMap, exitMap}, {ddi.StatusRevisionMismatch, exitMap},
		{testbench.ErrDevice, exitDevice}, {dxgkrnl.ErrStart, exitDevice}, {hal.ErrEnumerate, exitDevice},
		{hal.ErrNotPinned, exitDevice}, {hal.ErrMessage, exitDevice},
		{bus.ErrTimeout, exitDevice}, {bus.ErrUnsupported, exitDevice}, {bus.ErrAbort, exitDevice}, {rootport.ErrPoisoned, exitDevice},
		{rootport.ErrProtocol, exitDevice}, {inproc.ErrProtocol, exitDevice}, {endpoint.ErrProtocol, exitDevice},
		{bare.ErrStuck, exitDevice}, {bare.ErrFault, exitDevice}, {bare.ErrLost, exitDevice}, {bare.ErrClockStopped, exitDevice},
		{bare.ErrHost, exitDevice}, {transfer.ErrWrong, exitDevice}, {figures.ErrStuck, exitDevice}, {sim.ErrSimulation, exitDevice},
		{dirty.ErrNotIdle, exitDevice},
		{ddi.DXGIDeviceRemoved, exitDevice}, {ddi.DXGIDeviceHung, exitDevice},

		// Options, names, files and tools of the command line.
		{serial.ErrOption, exitUsage}, {serial.ErrRate, exitUsage}, {fault.ErrConfig, exitUsage}, {hwfault.ErrFault, exitUsage},
		{inproc.ErrOptions, exitUsage}, {rootport.ErrOptions, exitUsage}, {endpoint.ErrOptions, exitUsage}, {line.ErrOptions, exitUsage},
		{serve.ErrOptions, exitUsage}, {wave.ErrOptions, exitUsage}, {bringup.ErrOptions, exitUsage}, {gpu.ErrConfig, exitUsage},
		{regs.ErrName, exitUsage}, {regs.ErrValue, exitUsage}, {regs.ErrRefused, exitUsage}, {regs.ErrSnapshot, exitUsage},
		{capture.ErrFormat, exitUsage}, {capture.ErrPacket, exitUsage}, {rule.ErrName, exitUsage}, {bare.ErrRing, exitUsage},
		{compose.ErrInput, exitUsage}, {lists.ErrInput, exitUsage}, {transfer.ErrInput, exitUsage}, {storm.ErrInput, exitUsage},
		{mutant.ErrCount, exitUsage}, {synth.ErrTarget, exitUsage}, {synth.ErrTable, exitUsage}, {synth.ErrSize, exitUsage},
		{sim.ErrSim, exitUsage}, {testbench.ErrDrivers, exitUsage}, {hal.ErrMemory, exitUsage}, {ddi.EOutOfMemory, exitUsage},
		{sim.ErrSource, exitUsage}, {verilog.ErrSource, exitUsage}, {verilog.ErrSubset, exitUsage},
		{sim.ErrTool, exitUsage}, {synth.ErrTool, exitUsage},

		// Findings, and tools that failed.
		{regs.ErrReadBack, exitCheck}, {scoreboard.ErrDiffers, exitCheck}, {storm.ErrDiffers, exitCheck}, {lists.ErrContents, exitCheck},
		{lockstep.ErrPanic, exitCheck}, {hostbfm.ErrProtocol, exitCheck}, {session.ErrFailed, exitCheck}, {lockstep.ErrVariants, exitCheck},
		{mutant.ErrControl, exitCheck}, {mutant.ErrText, exitCheck}, {mutant.ErrYosys, exitCheck},
		{figures.ErrDigest, exitCheck}, {figures.ErrEdit, exitCheck},
		{synth.ErrYosys, exitCheck}, {synth.ErrPlace, exitCheck}, {sim.ErrBuild, exitCheck}, {sim.ErrManifest, exitCheck},
		{bus.ErrArgument, exitCheck}, {context.Canceled, exitCheck},
	}
}

// exitCode classifies an error. An error in no class is a defect of the program
// and has the code of a failed check.
func exitCode(err error) int {
	var broken *dxgkrnl.Bugcheck
	var violation *verifier.Violation
	var usage usageError
	var signalled signals.Error
	var stopped *dxgkrnl.DeviceError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &signalled):
		return exitSignal + int(signalled.Signal)
	case errors.As(err, &usage):
		return exitUsage
	case errors.As(err, &broken), errors.As(err, &violation):
		return exitContract
	}
	for _, c := range classes() {
		if errors.Is(err, c.err) {
			return c.code
		}
	}
	if errors.As(err, &stopped) {
		return exitDevice
	}
	return exitCheck
}
