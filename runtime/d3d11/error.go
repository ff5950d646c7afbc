package d3d11

import (
	"strings"

	"github.com/hilgpu/hilgpu/runtime/ddi"
)

// results is a set of errors that a DDI function may report through SetErrorCb
// (WDK, "Handling Errors"). Check* and Calc* have the empty set.
type results uint8

const (
	mayRemove         results = 1 << iota // DDIDeviceRemoved
	mayRunOutOfMemory                     // EOutOfMemory
	mayStillDraw                          // DDIStillDrawing

	// Not results, but other permissions of the running function: to refresh
	// the context's state, and to report to the device's core layer from a
	// function of a deferred context.
	inContext
	atDevice

	mayCreate  = mayRemove | mayRunOutOfMemory
	maySet     = mayRemove | inContext
	mayMap     = mayRemove | mayRunOutOfMemory | inContext
	mayMove    = mayRemove | mayRunOutOfMemory | inContext
	mayGet     = mayRemove | mayStillDraw | inContext
	mayOpen    = mayCreate | atDevice | inContext
	mayRecycle = mayRemove | atDevice | inContext
)

// has reports whether hr is in the set.
func (s results) has(hr ddi.HRESULT) bool {
	switch hr {
	case ddi.DDIDeviceRemoved:
		return s&mayRemove != 0
	case ddi.EOutOfMemory:
		return s&mayRunOutOfMemory != 0
	case ddi.DDIStillDrawing:
		return s&mayStillDraw != 0
	}
	return false
}

// String lists the errors of the set, as "A, B or C".
func (s results) String() string {
	var names []string
	for _, hr := range []ddi.HRESULT{ddi.DDIDeviceRemoved, ddi.EOutOfMemory, ddi.DDIStillDrawing} {
		if s.has(hr) {
			names = append(names, hr.Error())
		}
	}
	if len(names) == 0 {
		return "no error"
	}
	return strings.Join(names, " or ")
}

// A call is a thread of the runtime and the DDI function running on it. It is
// used by one goroutine at a time, or by the holder of the device's serial
// lock.
type call struct {
	dev    *Device
	ctx    *Context // the deferred context of this thread, or nil
	thread ddi.Thread

	running    bool
	presenting bool
	allowed    results
	entry      string      // the function that runs, or the last one, as in the WDK
	hr         ddi.HRESULT // the first error, or DXGIDeviceRemoved
	blame      string      // the function that failed last
	breaks     []Message   // messages to break on when the function has ended
}

// begin enters a DDI function that may report the results in allowed. entry is
// its name.
func (k *call) begin(entry string, allowed results) *ddi.Thread {
	if k.dev.serialized {
		k.dev.serial.Lock()
	}
	k.running = true
	k.allowed = allowed
	k.entry = entry
	k.hr = ddi.OK
	return &k.thread
}

// end leaves the DDI function and returns the reported error. If the system was
// stopped, the function did not end, and its results mean nothing.
func (k *call) end() ddi.HRESULT {
	k.running = false
	hr := k.hr
	if k.dev.halted() {
		hr = ddi.DXGIDeviceRemoved
	}
	if k.breaks != nil {
		k.endAndBreak()
	} else if k.dev.serialized {
		k.dev.serial.Unlock()
	}
	return hr
}

// endAndBreak leaves the DDI function and breaks on messages, outside of the
// lock.
func (k *call) endAndBreak() {
	breaks := k.breaks
	k.breaks = nil
	if k.dev.serialized {
		k.dev.serial.Unlock()
	}
	for _, m := range breaks {
		k.dev.queue.breakOn(m)
	}
}

// contractBroken removes the device because the driver broke its contract in
// the last function without reporting an error.
func (k *call) contractBroken(format string, args ...any) ddi.HRESULT {
	k.dev.removeBroken(k, k.entry+" "+format, args...)
	return ddi.DXGIDeviceRemoved
}

// report implements SetErrorCb for a function running on k. k is nil if none
// runs on the thread.
func (d *Device) report(k *call, hr ddi.HRESULT) {
	switch {
	case k == nil || !k.running:
		d.removeBroken(nil, "the driver reported %v outside of its functions", hr)
		return
	case !k.allowed.has(hr):
		d.removeBroken(k, "%s reported %v, want %v", k.entry, hr, k.allowed)
	case hr == ddi.DDIDeviceRemoved:
		d.removeLost(k, k.entry+" reported "+hr.Error())
	default:
		if k.hr == ddi.OK {
			k.hr, k.blame = hr, k.entry
		}
		return
	}
	k.hr = ddi.DXGIDeviceRemoved
}
