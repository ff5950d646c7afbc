package kmcheck

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
	"github.com/hilgpu/hilgpu/runtime/verifier"
)

// queryFence is used more than once.
const queryFence = "DxgkDdiQueryCurrentFence"

// maxMade is the number of callbacks in the text of a failure.
const maxMade = 8

// A made is a callback that has returned, with what it returned.
type made struct {
	in    uint64 // function of the driver that made it, in the order of those of the driver
	call  uint64 // in the order of all calls
	f     *verifier.Func
	args  []any
	value uint32 // that was read
	reads bool
	s     ddi.Status
}

// String shows the callback, as in "READ_REGISTER_ULONG 0x10 = 0x5".
func (c made) String() string {
	var b strings.Builder
	b.WriteString(c.f.Name)
	for i, a := range c.args {
		n, ok := numberOf(a)
		switch {
		case !ok:
		case c.f.Params[i] == "v":
			fmt.Fprintf(&b, " = %#x", n)
		default:
			fmt.Fprintf(&b, " %#x", n)
		}
	}
	switch {
	case c.s != ddi.StatusSuccess:
		fmt.Fprintf(&b, ", which returned %v", c.s)
	case c.reads:
		fmt.Fprintf(&b, " = %#x", c.value)
	}
	return b.String()
}

// numberOf returns a number among the arguments of a callback.
func numberOf(a any) (uint64, bool) {
	switch v := a.(type) {
	case int:
		return uint64(v), true
	case uint32:
		return uint64(v), true
	case uint64:
		return v, true
	}
	return 0, false
}

// noteMade remembers a callback that has returned, for the text of a failure.
func (k *Checker) noteMade(fr *frame, results []any) {
	fr.spec.calls++
	in := fr.function()
	if in != nil {
		in.callbacks++
	}
	if in == nil || fr.f.Name == "DxgkCbUnmapMemory" || fr.f.Name == "MmFreeContiguousMemory" {
		return // a function that fails gives back what it holds
	}
	c := made{in: in.number, call: fr.call, f: fr.f, args: fr.args}
	c.s, _ = statusOf(results)
	if len(results) == 2 {
		c.value, c.reads = results[0].(uint32)
	}
	k.made[k.madeNext%maxMade] = c
	k.madeNext++
}

// function returns the function of the driver in which a callback is made, or nil.
func (fr *frame) function() *frame {
	in := fr.caller
	for in != nil && in.f.Callback {
		in = in.caller
	}
	return in
}

// checkFailed checks that a function that needs no more than the device did not
// fail while the device answered and the system gave memory.
func (k *Checker) checkFailed(fr *frame, s ddi.Status) {
	if !s.Failed() || !mustSucceed(fr) || k.refusesDevice(fr, s) && k.unseen() == "" || slices.ContainsFunc(fr.passed, lacking) {
		return
	}
	why, culprit := k.whyFailed(fr, s)
	r := verifier.Report{
		Rule: "call-failed", Thread: fr.t, Func: fr.f, Cause: s, Culprit: culprit,
		Text: fmt.Sprintf("returned %v%s; %s", s, why, k.madeBy(fr)),
	}
	if fr.f.Name == startDevice {
		r.Place = verifier.PlaceOf(fr.t)
		k.refusal = &r // DxgkDdiRemoveDevice follows, and may find a cause
		return
	}
	k.m.Report(r)
}

// whyFailed returns what the checker knows of a failure, and the culprit.
func (k *Checker) whyFailed(fr *frame, s ddi.Status) (string, *verifier.Culprit) {
	if k.refusesDevice(fr, s) {
		return ", but it has not looked at the device", verifier.Missing(k.unseen(), fr.f.Name)
	}
	culprit := k.failedBy(fr, s)
	if c, ok := k.refusedOf(fr); ok {
		return fmt.Sprintf(" since %s returned %v", c.f.Name, c.s), culprit
	}
	return ", but each of its accesses to the device was answered", culprit
}

// reportRefusal reports that the device did not start, when it is removed.
func (k *Checker) reportRefusal() {
	if r := k.refusal; r != nil {
		k.refusal = nil
		k.m.Report(*r)
	}
}

// refusesDevice reports whether a status means that the driver does not support the
// device, or the device not the settings of the driver.
func (k *Checker) refusesDevice(fr *frame, s ddi.Status) bool {
	switch s {
	case ddi.StatusNoSuchDevice, ddi.StatusRevisionMismatch:
		return fr.f.Name == startDevice
	case ddi.StatusNotSupported, ddi.StatusInvalidParameter, ddi.StatusDeviceNotReady:
		return fr.f.Name == startDevice && k.o.Configured
	}
	return false
}

// mustSucceed reports whether a function can fail only because of the device or a
// lack of memory. After a reset the device may be another one.
func mustSucceed(fr *frame) bool {
	switch fr.f.Name {
	case "DxgkDdiAddDevice", startDevice, stopDevice, "DxgkDdiRemoveDevice", queryFence,
		"DxgkDdiDestroyDevice", "DxgkDdiDestroyContext", "DxgkDdiDestroyAllocation", "DxgkDdiCloseAllocation":
		return true
	case "DxgkDdiQueryAdapterInfo":
		return fr.args[1].(kmddi.QueryAdapterInfo).Type != kmddi.InfoUMDriverPrivate // whose input is the application's
	}
	return false
}

// lacking reports whether a callback failed because memory or an answer was missing.
func lacking(s ddi.Status) bool {
	return s.Failed() && s != ddi.StatusInvalidHandle && s != ddi.StatusInvalidParameter
}

// startCallbacks are the callbacks with which a driver prepares a device.
var startCallbacks = []string{
	"DxgkCbGetDeviceInformation", "DxgkCbMapMemory", "READ_REGISTER_ULONG", "WRITE_REGISTER_ULONG", "MmAllocateContiguousMemory",
}

// madeBy lists the last callbacks of a function and, while the device starts, those
// that it has not reached.
func (k *Checker) madeBy(fr *frame) string {
	var last []string
	for _, c := range k.madeIn(fr) {
		last = append(last, c.String())
	}
	text := "it made no callback"
	switch {
	case last != nil:
		text = "its last callbacks are " + strings.Join(last, "; ")
	case k.madeNext == 0 && k.ran:
		text += ", nor did " + startDevice
	}
	switch fr.f.Name {
	case queryFence:
		text += fmt.Sprintf("; want the fence of node %d, read in the function of %s", fr.args[1].(kmddi.QueryCurrentFence).NodeOrdinal, synchronize)
	case startDevice:
		var missing []string
		for _, name := range startCallbacks {
			if k.callsOf(name) == 0 {
				missing = append(missing, name)
			}
		}
		if missing != nil {
			text += "; it has not reached " + strings.Join(missing, ", ")
		}
	}
	return text
}

// refusedOf returns the last callback of a function that failed.
func (k *Checker) refusedOf(fr *frame) (c made, ok bool) {
	for _, m := range k.madeIn(fr) {
		if m.s.Failed() {
			c, ok = m, true
		}
	}
	return c, ok
}

// callsOf returns how often a callback was made.
func (k *Checker) callsOf(name string) uint64 {
	for f, s := range k.specs {
		if f.Callback && f.Name == name {
			return s.calls
		}
	}
	return 0
}
