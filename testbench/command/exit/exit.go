// Package exit classifies errors: the exit code of each, and its kind in a JSON
// document.
package exit

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/hilgpu/hilgpu/boards"
	"github.com/hilgpu/hilgpu/boards/dirty"
	"github.com/hilgpu/hilgpu/boards/gateware"
	"github.com/hilgpu/hilgpu/boards/hwfault"
	"github.com/hilgpu/hilgpu/boards/observer"
	"github.com/hilgpu/hilgpu/boards/regs"
	"github.com/hilgpu/hilgpu/boards/regs/export"
	"github.com/hilgpu/hilgpu/boards/serve"
	"github.com/hilgpu/hilgpu/boards/turns"
	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/bus/capture"
	"github.com/hilgpu/hilgpu/bus/channel"
	"github.com/hilgpu/hilgpu/bus/datalink"
	"github.com/hilgpu/hilgpu/bus/endpoint"
	"github.com/hilgpu/hilgpu/bus/ether"
	"github.com/hilgpu/hilgpu/bus/fault"
	"github.com/hilgpu/hilgpu/bus/inproc"
	"github.com/hilgpu/hilgpu/bus/line"
	"github.com/hilgpu/hilgpu/bus/nettlp"
	"github.com/hilgpu/hilgpu/bus/rootport"
	"github.com/hilgpu/hilgpu/bus/serial"
	"github.com/hilgpu/hilgpu/bus/tlp"
	"github.com/hilgpu/hilgpu/firmware"
	"github.com/hilgpu/hilgpu/firmware/log"
	"github.com/hilgpu/hilgpu/firmware/mcu"
	"github.com/hilgpu/hilgpu/firmware/message"
	"github.com/hilgpu/hilgpu/rtl/abi/regmap"
	"github.com/hilgpu/hilgpu/rtl/gpu"
	"github.com/hilgpu/hilgpu/rtl/hostbfm"
	"github.com/hilgpu/hilgpu/rtl/lockstep"
	"github.com/hilgpu/hilgpu/rtl/lockstep/mutant"
	"github.com/hilgpu/hilgpu/rtl/lockstep/property"
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
	"github.com/hilgpu/hilgpu/testbench/command/record"
	"github.com/hilgpu/hilgpu/testbench/command/signals"
	"github.com/hilgpu/hilgpu/testbench/compose"
	"github.com/hilgpu/hilgpu/testbench/device/bare"
	"github.com/hilgpu/hilgpu/testbench/device/bringup"
	"github.com/hilgpu/hilgpu/testbench/device/scoreboard"
	"github.com/hilgpu/hilgpu/testbench/device/storm"
	"github.com/hilgpu/hilgpu/testbench/device/transfer"
	"github.com/hilgpu/hilgpu/testbench/drivertest/starter"
	"github.com/hilgpu/hilgpu/testbench/eventlog"
	"github.com/hilgpu/hilgpu/testbench/figures"
	"github.com/hilgpu/hilgpu/testbench/inspect"
	"github.com/hilgpu/hilgpu/testbench/lists"
	"github.com/hilgpu/hilgpu/testbench/output"
	"github.com/hilgpu/hilgpu/testbench/report"
	"github.com/hilgpu/hilgpu/testbench/session"
	"github.com/hilgpu/hilgpu/testbench/stress"
	"github.com/hilgpu/hilgpu/testbench/suite"
	"github.com/hilgpu/hilgpu/testbench/why"
)

// The exit codes, which Text lists; exits describes them.
const (
	OK = iota
	Check
	Usage
	NoDevice
	Link
	Device
	Map
	Contract

	Signal = 128 // plus the number of the signal
)

// An exit describes an exit code.
type exit struct {
	kind string // kind of the error in a JSON document
	doc  string
}

// exits returns the exit codes from 0 on.
func exits() []exit {
	return []exit{
		OK:       {"", "success"},
		Check:    {"check", "a check failed, or hilgpu has an internal error"},
		Usage:    {"usage", "usage or bad input"},
		NoDevice: {"no_device", "no device answered, or it is not this GPU"},
		Link:     {"link", "the link to the device failed"},
		Device:   {"device", "the device faulted, did not start or did not answer in time"},
		Map:      {"register_map", "the device has another register map"},
		Contract: {"contract", "a driver broke a contract"},
	}
}

// Kind returns the kind of error of an exit code.
func Kind(code int) string {
	if all := exits(); code < len(all) {
		return all[code].kind
	}
	return "interrupted"
}

// Text lists the exit codes, one per line.
func Text() string {
	var b strings.Builder
	for code, e := range exits() {
		fmt.Fprintf(&b, "  %d  %-12s  %s\n", code, e.kind, e.doc)
	}
	return b.String()
}

// ErrInput is wrapped by errors of invalid input on the command line.
var ErrInput = errors.New("bad input")

// ErrCheck is wrapped by the error of a failed check.
var ErrCheck = errors.New("check failed")

// Checked wraps err in ErrCheck if it is a defect that the workload checks
// for, and returns other errors unchanged.
func Checked(err error) error {
	var differs *lockstep.Divergence
	found := errors.As(err, &differs)
	for _, e := range []error{scoreboard.ErrDiffers, storm.ErrDiffers, lists.ErrContents, stress.ErrFailed, session.ErrFailed, lockstep.ErrPanic, hostbfm.ErrProtocol} {
		found = found || errors.Is(err, e)
	}
	if found {
		return fmt.Errorf("%w: %w", ErrCheck, err)
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
		{ErrCheck, Check},
		{ErrInput, Usage}, {record.ErrOption, Usage}, {output.ErrWrite, Usage},
		{boards.ErrSelector, Usage}, {bus.ErrRecorded, Usage}, {observer.ErrReadOnly, Usage}, {testbench.ErrQueues, Usage},

		// Identity of the device.
		{serial.ErrMissing, NoDevice}, {serial.ErrAmbiguous, NoDevice}, {serial.ErrNotPort, NoDevice},
		{regs.ErrDevice, NoDevice}, {observer.ErrServer, NoDevice}, {mcu.ErrMissing, NoDevice},
		{datalink.ErrMapHash, Map}, {regs.ErrMapHash, Map},

		// Connection to the device.
		{serial.ErrBusy, Link}, {serial.ErrForbidden, Link}, {serial.ErrUnplugged, Link},
		{bus.ErrCRC, Link}, {bus.ErrLinkDown, Link}, {bus.ErrStale, Link}, {bus.ErrClosed, Link},
		{channel.ErrSession, Link}, {channel.ErrStalled, Link},
		{datalink.ErrNotUp, Link}, {datalink.ErrFull, Link}, {datalink.ErrSize, Link}, {datalink.ErrClosed, Link},
		{datalink.ErrOpen, Link}, {datalink.ErrVersion, Link}, {datalink.ErrRefused, Link}, {datalink.ErrToken, Link}, {datalink.ErrReplay, Link}, {datalink.ErrDead, Link},
		{datalink.ErrPeerDown, Link}, {datalink.ErrNewEpoch, Link}, {datalink.ErrProtocol, Link},
		{endpoint.ErrFull, Link}, {endpoint.ErrPoisoned, Link}, {endpoint.ErrUnexpected, Link},
		{line.ErrCut, Link}, {tlp.ErrMalformed, Link}, {tlp.ErrUnsupported, Link},
		{ether.ErrForbidden, Link}, {ether.ErrDown, Link}, {ether.ErrBusy, Link},
		{nettlp.ErrPeer, Link}, {nettlp.ErrSession, Link}, {nettlp.ErrFrame, Link}, {stress.ErrLink, Link},

		// The device itself.
		{ether.ErrInterface, NoDevice}, {bare.ErrDevice, NoDevice}, {hal.ErrNoDevice, NoDevice}, {ddi.StatusNoSuchDevice, NoDevice},
		{bare.ErrMap, Map}, {ddi.StatusRevisionMismatch, Map},
		{testbench.ErrDevice, Device}, {dxgkrnl.ErrStart, Device}, {hal.ErrEnumerate, Device},
		{hal.ErrNotPinned, Device}, {hal.ErrMessage, Device},
		{bus.ErrTimeout, Device}, {bus.ErrNoAnswer, Device}, {bus.ErrUnsupported, Device}, {bus.ErrAbort, Device}, {rootport.ErrPoisoned, Device},
		{rootport.ErrProtocol, Device}, {inproc.ErrProtocol, Device}, {endpoint.ErrProtocol, Device},
		{bare.ErrStuck, Device}, {bare.ErrFault, Device}, {bare.ErrLost, Device}, {bare.ErrClockStopped, Device},
		{bare.ErrHost, Device}, {transfer.ErrWrong, Device}, {figures.ErrStuck, Device}, {sim.ErrSimulation, Device},
		{dirty.ErrNotIdle, Device}, {mcu.ErrReset, Device}, {mcu.ErrRunning, Device}, {mcu.ErrWait, Device}, {mcu.ErrAccess, Device},
		{firmware.ErrLoad, Device}, {firmware.ErrHung, Device}, {firmware.ErrFailed, Device}, {firmware.ErrTrap, Device},
		{message.ErrArea, Device}, {message.ErrTimeout, Device}, {message.ErrHung, Device}, {message.ErrSequence, Device}, {message.ErrStatus, Device},
		{log.ErrRing, Device},
		{ddi.DXGIDeviceRemoved, Device}, {ddi.DXGIDeviceHung, Device}, {ddi.StatusIOTimeout, Device},

		// Options, names, files and tools of the command line.
		{firmware.ErrTruncated, Usage}, {firmware.ErrMagic, Usage}, {firmware.ErrVersion, Usage}, {firmware.ErrCRC, Usage}, {firmware.ErrLayout, Usage},
		{firmware.ErrFormat, Usage}, {firmware.ErrMemory, Usage}, {firmware.ErrOptions, Usage},
		{message.ErrOptions, Usage}, {message.ErrPayload, Usage}, {log.ErrTable, Usage}, {log.ErrBuild, Usage},
		{serial.ErrOption, Usage}, {ether.ErrMAC, Usage}, {ether.ErrMTU, Usage}, {ether.ErrSystem, Usage}, {nettlp.ErrAddress, Usage}, {nettlp.ErrSystem, Usage}, {serial.ErrRate, Usage}, {fault.ErrConfig, Usage}, {hwfault.ErrFault, Usage},
		{inproc.ErrOptions, Usage}, {rootport.ErrOptions, Usage}, {endpoint.ErrOptions, Usage}, {line.ErrOptions, Usage},
		{serve.ErrOptions, Usage}, {serve.ErrListen, Usage}, {turns.ErrListen, Usage}, {wave.ErrOptions, Usage}, {bringup.ErrOptions, Usage}, {gpu.ErrConfig, Usage},
		{regmap.ErrMap, Usage}, {export.ErrFormat, Usage}, {turns.ErrAddress, Usage}, {observer.ErrAddress, Usage}, {inspect.ErrListen, Usage}, {turns.ErrBoards, Usage},
		{mcu.ErrImage, Usage}, {mcu.ErrPoint, Usage}, {mcu.ErrAddress, Usage}, {regs.ErrName, Usage}, {regs.ErrValue, Usage}, {regs.ErrRefused, Usage}, {regs.ErrSnapshot, Usage},
		{eventlog.ErrFormat, Usage}, {eventlog.ErrVersion, Usage}, {eventlog.ErrCorrupt, Usage}, {eventlog.ErrMap, Map}, {why.ErrQuestion, Usage}, {why.ErrSeveral, Usage}, {report.ErrFolder, Usage}, {capture.ErrFormat, Usage}, {capture.ErrPacket, Usage}, {rule.ErrName, Usage}, {bare.ErrRing, Usage},
		{starter.ErrInput, Usage}, {suite.ErrTier, Usage}, {suite.ErrBaseline, Usage}, {compose.ErrInput, Usage}, {lists.ErrInput, Usage}, {transfer.ErrInput, Usage}, {storm.ErrInput, Usage}, {stress.ErrInput, Usage},
		{mutant.ErrCount, Usage}, {synth.ErrTarget, Usage}, {synth.ErrTable, Usage}, {synth.ErrSize, Usage}, {synth.ErrDir, Usage}, {gateware.ErrBoard, Usage}, {gateware.ErrAddress, Usage}, {gateware.ErrFile, Usage},
		{sim.ErrSim, Usage}, {testbench.ErrDrivers, Usage}, {hal.ErrMemory, Usage}, {ddi.EOutOfMemory, Usage},
		{sim.ErrSource, Usage}, {verilog.ErrSource, Usage}, {verilog.ErrSubset, Usage},
		{sim.ErrTool, Usage}, {synth.ErrTool, Usage},

		// Findings, and tools that failed.
		{regs.ErrReadBack, Check}, {scoreboard.ErrDiffers, Check}, {storm.ErrDiffers, Check}, {lists.ErrContents, Check}, {stress.ErrFailed, Check},
		{lockstep.ErrPanic, Check}, {hostbfm.ErrProtocol, Check}, {session.ErrFailed, Check}, {lockstep.ErrVariants, Check},
		{mutant.ErrControl, Check}, {mutant.ErrText, Check}, {mutant.ErrYosys, Check}, {property.ErrYosys, Check},
		{figures.ErrDigest, Check}, {figures.ErrEdit, Check}, {figures.ErrAwake, Check},
		{synth.ErrYosys, Check}, {synth.ErrPlace, Check}, {gateware.ErrProgram, Check}, {sim.ErrBuild, Check}, {sim.ErrManifest, Check},
		{bus.ErrArgument, Check}, {context.Canceled, Check},
	}
}

// Code classifies an error. An error in no class is a defect of the program
// and has the code of a failed check.
func Code(err error) int {
	var broken *dxgkrnl.Bugcheck
	var violation *verifier.Violation
	var usage UsageError
	var remote *Remote
	var signalled signals.Error
	var stopped *dxgkrnl.DeviceError
	switch {
	case err == nil:
		return OK
	case errors.As(err, &signalled):
		return Signal + int(signalled.Signal)
	case errors.As(err, &usage):
		return Usage
	case errors.As(err, &remote):
		return remote.Code
	case errors.As(err, &broken), errors.As(err, &violation) && violation.Rule.Fault != rule.DriverOrDevice:
		return Contract
	}
	for _, c := range classes() {
		if errors.Is(err, c.err) {
			return c.code
		}
	}
	switch {
	case errors.As(err, &stopped):
		return Device
	case violation != nil:
		return Contract
	}
	return Check
}

// A Remote is the error of another process that ran a part of the command.
type Remote struct {
	Code int
	Text string
	More string // lines that follow the error on standard error
	Err  error  // the cause as far as it is known, or nil
}

// Error is the text of the error.
func (r *Remote) Error() string { return r.Text }

// Unwrap returns the cause.
func (r *Remote) Unwrap() error { return r.Err }

// A UsageError is an error of the command line detected before the command did
// anything.
type UsageError struct{ Err error }

// Error is the text of the error.
func (e UsageError) Error() string { return e.Err.Error() }

// Unwrap returns the error.
func (e UsageError) Unwrap() error { return e.Err }
