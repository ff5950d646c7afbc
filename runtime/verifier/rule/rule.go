// Package rule is the table of the rules of both driver interfaces that package
// verifier and the graphics kernel check. Tools and documents use it too. It contains only data.
package rule

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A Fault is the side that breaks a rule.
type Fault string

// The sides of the interface. Either is for changes of shared memory that cannot
// be attributed to one side.
const (
	Driver  Fault = "driver"
	Runtime Fault = "runtime"
	Either  Fault = "driver or runtime"

	DriverOrDevice Fault = "driver or device" // for work of the driver that the device did not do
)

// A Rule is one rule of the interface.
type Rule struct {
	Name    string `json:"name"`    // stable; the argument of --waive
	Title   string `json:"title"`   // the rule, as a sentence
	Fault   Fault  `json:"fault"`   // who breaks it
	Warning bool   `json:"warning"` // accepted deviation: counted, never stops
	Source  string `json:"source"`  // document and section
	Catches string `json:"catches"` // what is checked, and when
	Example string `json:"example"` // text of a violation

	Code uint32 `json:"code,omitempty"` // bugcheck of the graphics kernel (bugcodes.h), or 0
	P1   uint32 `json:"p1,omitempty"`   // its first parameter
}

// A Severity tells what a violation does to the system under test.
type Severity string

// The severities.
const (
	Counted Severity = "warning" // it is counted
	Stops   Severity = "error"   // it stops the system, unless violations are collected
	Fatal   Severity = "fatal"   // it always stops the system
)

// Severity returns the severity of the rule.
func (r Rule) Severity() Severity {
	switch {
	case r.Warning:
		return Counted
	case r.Code != 0 || r.Name == driverPanic || r.Name == systemPanic || r.Name == callHang || r.Name == driverExit || r.Name == goexit:
		return Fatal
	}
	return Stops
}

// ByCode returns the rule of a bugcheck of the graphics kernel.
func ByCode(code, p1 uint32) (Rule, bool) {
	for _, r := range KernelMode() {
		if r.Code == code && r.P1 == p1 && code != 0 {
			return r, true
		}
	}
	return Rule{}, false
}

// ErrName is returned, wrapped, for an unknown rule name.
var ErrName = errors.New("verifier: no such rule")

// Sources of the rules: pages of the Windows driver documentation.
const (
	srcLists    = "Supporting Command Lists"
	srcDiagram  = "Supporting Command Lists, state diagram of command-list handles"
	srcSmall    = "Supporting Command Lists, Optimization for Small Command Lists"
	srcLocal    = "Using Context-Local DDI Handles"
	srcExclude  = "Excluding DDI Functions for Deferred Contexts"
	srcErrors   = "Handling Errors"
	srcThreads  = "Supporting Threading, Command Lists, and 3D Pipeline"
	srcChanges  = "Changes from Direct3D 10"
	srcRefresh  = "Using the State-Refresh Callback Functions"
	srcIntro    = "Introduction to Deferred Contexts"
	srcHandles  = "documentation of ddi.Object and umddi.DeviceFuncs"
	srcOurs     = "documentation of ddi.Object"
	srcSubmit   = "Submitting a Command Buffer; PFND3DDDI_RENDERCB"
	srcRelocate = "PFND3D10DDI_RELOCATEDEVICEFUNCS; Supporting Threading, Command Lists, and 3D Pipeline"
)

// All returns all rules, in the order of tools and documents.
func All() []Rule {
	return slices.Concat(UserMode(), Calls(), KernelMode(), Access())
}

// UserMode returns the rules of the user-mode interface, which verifier.Checker
// checks.
func UserMode() []Rule {
	return slices.Concat(listRules(), threadRules(), sizeRules(), errorRules(), handleRules(), refreshRules(), memoryRules(), mapRules(), holdingRules())
}

// Named returns the rule with the given name. The error wraps ErrName and lists all names.
func Named(name string) (Rule, error) {
	var names []string
	for _, r := range All() {
		if r.Name == name {
			return r, nil
		}
		names = append(names, r.Name)
	}
	return Rule{}, fmt.Errorf("%w: %q, want one of %s", ErrName, name, strings.Join(names, ", "))
}

func listRules() []Rule {
	return []Rule{
		{Name: "list-state", Title: "A command-list handle follows only the transitions of the state diagram.", Fault: Runtime, Source: srcDiagram,
			Catches: "CommandListExecute of a handle that is not valid; RecycleDestroyCommandList of one that is not valid; RecycleCommandList of one that is not retired; RecycleCreateCommandList of one that is not in the cache of its context.",
			Example: "pfnCommandListExecute: command list 12 is retired, want valid"},
		{Name: "list-context", Title: "A retired command list returns to the deferred context that created it.", Fault: Runtime, Source: srcSmall,
			Catches: "RecycleCommandList or RecycleCreateCommandList on another deferred context.",
			Example: "pfnRecycleCommandList: command list 12 is of context 3, not of context 4"},
		{Name: "context-state", Title: "After its list is created or abandoned, a deferred context's handles are closed and the context is recycled or destroyed.", Fault: Runtime, Source: srcLists,
			Catches: "any other function on the context, except unbinding after AbandonCommandList; creation of a list, abandonment, recycling or destruction in the wrong state.",
			Example: "pfnResourceCopy: context 3 has its list created, want its handles closed, then a recycle or destroy call"},
		{Name: "context-open", Title: "A deferred context has no open handles when it is recycled or destroyed.", Fault: Runtime, Source: srcLists + ", destruction sequence",
			Catches: "RecycleCreateDeferredContext or DestroyDevice with open local handles.",
			Example: "pfnRecycleCreateDeferredContext: context 3 has 2 handles open"},
		{Name: "abandon-bound", Title: "After AbandonCommandList handles are unbound before they are closed.", Fault: Runtime, Source: srcLists + ", abandonment sequence",
			Catches: "the first function after the unbinding, a close, RecycleCreateDeferredContext or DestroyDevice, while a handle is still bound to the abandoned context.",
			Example: "pfnDestroyResource: resource 7 is bound to context 3, which was abandoned"},
		{Name: "list-open-work", Title: "A list is created only when all queries are ended and all resources unmapped.", Fault: Runtime, Source: srcLists,
			Catches: "CreateCommandList or RecycleCreateCommandList for a deferred context with a begun query or a mapped resource.",
			Example: "pfnCreateCommandList: context 3 has 1 resource mapped"},
		{Name: "execute-mapped", Title: "A list that maps a resource is not executed on a context that has it mapped.", Fault: Runtime, Source: srcLists,
			Catches: "CommandListExecute on a context that has mapped a subresource that the list maps.",
			Example: "pfnCommandListExecute: command list 12 maps subresource 0 of resource 7, which context 1 has mapped"},
		{Name: "execute-begun", Title: "A list that begins or ends a query is not executed on a context that has begun it.", Fault: Runtime, Source: srcLists,
			Catches: "CommandListExecute on a context that has begun a query that the list begins or ends.",
			Example: "pfnCommandListExecute: command list 12 uses query 9, which context 1 has begun"},
	}
}

func threadRules() []Rule {
	return []Rule{
		{Name: "context-overlap", Title: "Only one call at a time runs on a context.", Fault: Runtime, Source: srcThreads,
			Catches: "a function of the context's thread that is entered while another thread is in one: for example RecycleCommandList or CreateCommandList on a thread other than the deferred context's, functions of the immediate context on two threads, or CreateResource of a primary.",
			Example: "pfnRecycleCommandList: thread 1:2 is in pfnResourceCopy on context 3"},
		{Name: "free-threaded", Title: "Without CapsFreeThreaded, only one call at a time runs on a device.", Fault: Runtime, Source: srcThreads,
			Catches: "a function other than Calc* that is entered while another thread is in one.",
			Example: "pfnCreateResource: thread 1:2 is in pfnFlush, and the driver is not free-threaded"},
		{Name: "reentered", Title: "The runtime calls the driver from a callback only to refresh state.", Fault: Runtime, Source: srcRefresh,
			Catches: "a driver function that is entered in a callback other than a state refresh.",
			Example: "pfnFlush: called in pfnLockCb"},
		{Name: "callback-outside", Title: "The driver makes callbacks only while one of its functions runs on the thread.", Fault: Driver, Source: srcThreads,
			Catches: "a callback on a thread that is in no function of the driver.",
			Example: "pfnLockCb: no function of the driver runs on thread 1:2"},
		{Name: "submit-place", Title: "RenderCb is called on the immediate context's thread, and PresentCb in Present.", Fault: Driver, Source: srcSubmit,
			Catches: "RenderCb in a free-threaded function or one of a deferred context; PresentCb outside Present.",
			Example: "pfnRenderCb: in pfnCreateResource, want a function of the immediate context's thread"},
	}
}

func sizeRules() []Rule {
	return []Rule{
		{Name: "size-private", Title: "Private memory has the size that the driver returned.", Fault: Runtime, Source: srcHandles,
			Catches: "a Create function whose handle has a size different from the one that the Calc function of its kind returned on that thread, or, for an open, CalcDeferredContextHandleSize for the object; a Create function without a call of the Calc function. CreateDeferredContext is one of them: the memory is that of the context's handle.",
			Example: "pfnCreateResource: resource 7 has 8 bytes of private memory, want 12"},
		{Name: "size-varies", Title: "The size of a handle does not change.", Fault: Driver, Source: srcSmall,
			Catches: "CalcDeferredContextHandleSize that returns another size for the same handle.",
			Example: "pfnCalcDeferredContextHandleSize: 24 for resource 7, want 16 as before"},
		{Name: "size-check", Title: "CheckDeferredContextHandleSizes returns the same each time.", Fault: Driver, Source: srcLocal,
			Catches: "a different count or a different table; a table with fewer sizes than the count.",
			Example: "pfnCheckDeferredContextHandleSizes: 3 sizes, want 4 as before"},
		{Name: "size-member", Title: "The size of a local handle is in the table of CheckDeferredContextHandleSizes.", Fault: Driver, Source: srcLocal,
			Catches: "a size returned by CalcDeferredContextHandleSize that is not in the table for the type.",
			Example: "pfnCalcDeferredContextHandleSize: 20 for a resource, want one of [16 24]"},
	}
}

func errorRules() []Rule {
	return []Rule{
		{Name: "error-status", Title: "A function reports only errors of its category.", Fault: Driver, Source: srcErrors,
			Catches: "SetErrorCb with a result that the running function may not report on its context: all functions except Check, Calc and CreateDevice may report D3DDDIERR_DEVICEREMOVED; creates, maps, data movement, CommandListExecute and functions that a deferred context records may report E_OUTOFMEMORY; QueryGetData and maps with DO_NOT_WAIT may report DXGI_DDI_ERR_WASSTILLDRAWING.",
			Example: "pfnFlush: reports E_INVALIDARG, may report D3DDDIERR_DEVICEREMOVED"},
		{Name: "error-success", Title: "Success is not reported.", Fault: Driver, Source: srcErrors,
			Catches: "SetErrorCb with a result that is not an error.",
			Example: "pfnFlush: reports S_OK"},
		{Name: "error-outside", Title: "Errors are reported only while a driver function runs on the thread.", Fault: Driver, Source: srcErrors,
			Catches: "SetErrorCb on a thread that is in no function of the driver.",
			Example: "pfnSetErrorCb: no function of the driver runs on thread 1:2"},
		{Name: "error-layer", Title: "Errors are reported to the core layer of the context that they concern.", Fault: Driver, Source: srcLocal,
			Catches: "SetErrorCb with the handle of another core layer. The device's core layer is for the immediate context, free-threaded functions and the Create functions of deferred contexts.",
			Example: "pfnResourceCopy: on context 3, but the error goes to the core layer of context 1"},
		{Name: "error-create-layer", Title: "Create functions of a deferred context report errors to the device's core layer.", Fault: Driver, Warning: true, Source: srcLocal,
			Catches: "a Create function of a deferred context that reports to the context's own core layer.",
			Example: "pfnCreateResource: an error of an open goes to the core layer of context 3, not to the device's"},
		{Name: "recycle-result", Title: "The Recycle functions return E_OUTOFMEMORY instead of reporting it.", Fault: Driver, Source: srcSmall,
			Catches: "RecycleCreateCommandList or RecycleCreateDeferredContext that returns anything except S_OK and E_OUTOFMEMORY, or reports E_OUTOFMEMORY through SetErrorCb.",
			Example: "pfnRecycleCreateCommandList: returns E_FAIL, want S_OK or E_OUTOFMEMORY"},
		{Name: "open-failed", Title: "A driver opens an adapter and a device that the kernel has started.", Fault: DriverOrDevice, Source: "PFND3D10DDI_OPENADAPTER; PFND3D10DDI_CREATEDEVICE, return value",
			Catches: "OpenAdapter10_2 or pfnCreateDevice that returns an error other than E_OUTOFMEMORY and D3DDDIERR_DEVICEREMOVED although no callback failed. One of the two drivers is wrong, for example in the private data of DxgkDdiQueryAdapterInfo, or the device is one that they do not support.",
			Example: "pfnCreateDevice: returns E_FAIL after pfnQueryAdapterInfoCb returned 40 bytes of DxgkDdiQueryAdapterInfo, but no callback failed"},
	}
}

func handleRules() []Rule {
	return []Rule{
		{Name: "handle-unknown", Title: "Handles refer to created objects of the right kind.", Fault: Runtime, Source: srcHandles,
			Catches: "a device, context or object handle that was never created, has another kind, or is missing.",
			Example: "pfnResourceCopy: resource handle was never created"},
		{Name: "handle-destroyed", Title: "A destroyed handle is not used.", Fault: Runtime, Source: srcHandles,
			Catches: "use or second destruction of an object or a context.",
			Example: "pfnDestroyResource: resource 7 is destroyed"},
		{Name: "handle-failed", Title: "A handle whose creation reported an error is neither used nor destroyed.", Fault: Runtime, Source: srcErrors,
			Catches: "use or destruction of an object, list or context after its Create function failed.",
			Example: "pfnDestroyCommandList: command list 12 failed to be created"},
		{Name: "handle-foreign", Title: "A context gets only handles that belong to it.", Fault: Runtime, Source: srcLocal,
			Catches: "a handle of another device; the device's handle on a deferred context, except in RecycleCommandList; a local handle on the immediate context or on another deferred one; a function that the context lacks.",
			Example: "pfnResourceCopy: resource 7 is the device's, not local to context 3"},
		{Name: "handle-reused", Title: "A live handle is not created again.", Fault: Runtime, Source: srcHandles,
			Catches: "a Create function with a handle that was created and not yet destroyed.",
			Example: "pfnCreateResource: resource 7 exists"},
		{Name: "handle-leak", Title: "A device is destroyed after all its objects.", Fault: Runtime, Source: srcHandles,
			Catches: "DestroyDevice while objects, command lists or deferred contexts exist.",
			Example: "pfnDestroyDevice: leaves resource 7 and 2 others"},
		{Name: "view-order", Title: "A resource is created or opened before its views and destroyed or closed after them.", Fault: Runtime, Source: srcLocal,
			Catches: "opening a view in a deferred context where its resource is not open; destroying or closing a resource that still has views.",
			Example: "pfnDestroyResource: resource 7 has 1 view"},
		{Name: "local-open", Title: "A local handle is opened once, with only the object's driver handle.", Fault: Runtime, Source: srcLocal,
			Catches: "a Create function of a deferred context whose runtime handle is not the device's driver handle of a live object of the kind; an open of an object that is already open in the context; arguments other than the local handle of a view's resource.",
			Example: "pfnCreateResource: resource 7 is open in context 3"},
		{Name: "local-outlives", Title: "The device's handle is destroyed after the local ones.", Fault: Runtime, Source: srcLocal,
			Catches: "destruction or retirement of an object that is open in a deferred context.",
			Example: "pfnDestroyResource: resource 7 is open in 1 deferred context"},
	}
}

func refreshRules() []Rule {
	return []Rule{
		{Name: "refresh-stale", Title: "A state refresh sets the bound state.", Fault: Runtime, Source: srcLists + "; " + srcRefresh,
			Catches: "a Set function in a state-refresh callback that sets other state or omits a requested slot. The bound state is the new state in a Set function; the old state in CommandListExecute, and empty afterwards; the deferred context's state in CreateCommandList and RecycleCreateCommandList, and empty afterwards; after AbandonCommandList the state that is not yet unbound, and empty from the first close on.",
			Example: "pfnPsSetConstantBuffers: slot 2 has none in pfnStatePsConstBufCb, want resource 7"},
		{Name: "refresh-function", Title: "A state refresh calls the function that sets that state, on that context.", Fault: Runtime, Source: srcRefresh,
			Catches: "another function, or another context, in a state-refresh callback.",
			Example: "pfnSetViewports: called in pfnStateRsScissorCb, want pfnSetScissorRects"},
		{Name: "refresh-place", Title: "State is refreshed on the context's thread.", Fault: Driver, Source: srcRefresh,
			Catches: "a state-refresh callback or PerformAmortizedProcessingCb with the core layer of a context other than the running function's; or from a free-threaded function of the device, such as CreateResource or DestroyResource of a resource that is not a primary; or from a Calc or Check function, CreateDevice or CreateDeferredContext. Legal are the functions of the context's thread: on a deferred context also the opens, the closes, AbandonCommandList and DestroyDevice; on its device the functions that create its list or recycle it; on the immediate context also CreateResource and DestroyResource of a primary.",
			Example: "pfnStateIaIndexBufCb: in pfnCreateResource, which is not on context 1's thread"},
		{Name: "refresh-range", Title: "A refreshed range contains only existing slots.", Fault: Driver, Source: srcRefresh,
			Catches: "a base that is not a slot, a count below -1, or an end after the last slot; for example base and count in the wrong order.",
			Example: "pfnStateHsConstBufCb: base 14, count 0 of 14 slots"},
		{Name: "refresh-amortized", Title: "After a submission PerformAmortizedProcessingCb is called before state is refreshed.", Fault: Driver, Source: srcChanges,
			Catches: "a state-refresh callback on the immediate context after RenderCb without PerformAmortizedProcessingCb in between.",
			Example: "pfnStateOmRenderTargetsCb: context 1 has submitted since pfnPerformAmortizedProcessingCb"},
	}
}

func memoryRules() []Rule {
	return []Rule{
		{Name: "private-runtime", Title: "The runtime does not change private memory.", Fault: Runtime, Source: srcHandles + "; " + srcSmall,
			Catches: "bytes that changed while no driver function ran, from the return of a function that got the object to the entry of the next one, for example from RecycleDestroyCommandList to RecycleCreateCommandList.",
			Example: "pfnResourceCopy: byte 4 of the private memory of resource 7 went from 0x01 to 0xa5 and no function of the driver ran"},
		{Name: "private-outside", Title: "The driver writes an object's private memory only in functions that get the object.", Fault: Either, Source: srcOurs,
			Catches: "bytes that changed between two functions that get the object or its view. A submission, Flush, Present, CommandListExecute and the creation or abandonment of a list may write to every object of their context.",
			Example: "pfnResourceCopy: byte 4 of the private memory of resource 7 went from 0x01 to 0xa5 outside of its functions"},
		{Name: "private-moved", Title: "Private memory keeps its address and size.", Fault: Either, Source: srcSmall,
			Catches: "a handle whose memory has another address or size than at its creation, checked before and after each function that gets the handle; a deferred context whose memory has another when it is recycled or destroyed.",
			Example: "pfnRecycleCreateCommandList: the private memory of command list 12 has 32 bytes, want 48 as at its creation"},
		{Name: "private-spare", Title: "Private memory has no spare capacity.", Fault: Runtime, Source: srcOurs,
			Catches: "memory with capacity beyond its size at a Create function, through which a driver could reach memory of others.",
			Example: "pfnCreateResource: resource 7 has 12 bytes of private memory in room for 64"},
		{Name: "table-excluded", Title: "The table of a deferred context lacks functions of immediate contexts.", Fault: Driver, Source: srcExclude,
			Catches: "an entry for immediate contexts only that is not nil after CreateDeferredContext or RecycleCreateDeferredContext.",
			Example: "pfnCreateDeferredContext: pfnFlush is not nil"},
		{Name: "table-missing", Title: "Tables have all entries that the capabilities require.", Fault: Driver, Source: "D3D11DDI_DEVICEFUNCS; DXGI_DDI_BASE_FUNCTIONS; for entries of command lists: " + srcLists,
			Catches: "a driver that leaves an entry nil in a device's table, except pfnQueryBegin, pfnSetPredication, pfnResourceIsStagingBusy, pfnRelocateDeviceFuncs and, without CapsCommandListsBuild2, those of command lists; a recording entry that is nil in a deferred context's table.",
			Example: "pfnCreateDevice: pfnRecycleCreateCommandList is nil"},
		{Name: "table-relocate", Title: "RelocateDeviceFuncs does not change the free-threaded entries, and a table that has moved is not used.", Fault: Driver, Source: srcRelocate,
			Catches: "a Create, Destroy, Recycle, Calc or Check entry that RelocateDeviceFuncs replaces while another thread may be calling it; an entry that the driver sets in the table from which it has moved, found at the next relocation, the recycling or the destruction. The other entries of that table become nil, so a call through one of them fails at once.",
			Example: "pfnRelocateDeviceFuncs: pfnCalcPrivateResourceSize has changed"},
		{Name: "caps-threading", Title: "CapsCommandListsBuild2 requires CapsFreeThreaded.", Fault: Driver, Source: srcThreads,
			Catches: "GetCaps that returns CapsThreading with CapsCommandListsBuild2 but without CapsFreeThreaded.",
			Example: "pfnGetCaps: reports CapsCommandListsBuild2 without CapsFreeThreaded"},
	}
}

func mapRules() []Rule {
	return []Rule{
		{Name: "map-discard", Title: "The first map of a resource in a list discards it.", Fault: Runtime, Source: srcIntro,
			Catches: "DynamicIABufferMapNoOverwrite on a deferred context before a MapDiscard of the same handle in the same list. A copy to the resource, or the execution of a list that discards it, in between is legal.",
			Example: "pfnDynamicIABufferMapNoOverwrite: resource 7 was not discarded in this list"},
		{Name: "map-state", Title: "A subresource is mapped at most once at a time and unmapped by the same family of functions.", Fault: Runtime, Source: srcIntro,
			Catches: "a map of a mapped subresource; an unmap of an unmapped one or by a function of another family; a map function that does not match the usage and bindings of the resource.",
			Example: "pfnDynamicIABufferUnmap: subresource 0 of resource 7 is not mapped"},
	}
}
