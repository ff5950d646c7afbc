// Package rule is the table of the rules of the user-mode interface that package
// verifier watches, for tools and documents too. It is data only.
package rule

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A Fault says who breaks a rule.
type Fault string

// The sides of the interface. Either is at fault where a change of shared memory
// does not tell who made it.
const (
	Driver  Fault = "driver"
	Runtime Fault = "runtime"
	Either  Fault = "driver or runtime"
)

// A Rule is one rule of the interface, which a driver or the runtime can break.
type Rule struct {
	Name    string `json:"name"`    // stable, as --waive takes it
	Title   string `json:"title"`   // the rule, as a sentence
	Fault   Fault  `json:"fault"`   // who breaks it
	Warning bool   `json:"warning"` // a deviation that is accepted: counted, never a stop
	Source  string `json:"source"`  // document and section
	Catches string `json:"catches"` // what is looked at, and when
	Example string `json:"example"` // text of a violation
}

// ErrName is returned, wrapped, for the name of a rule that does not exist.
var ErrName = errors.New("verifier: no such rule")

// Documents that the rules come from: pages of the Windows driver documentation.
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

// All returns every rule, in the order in which tools list them.
func All() []Rule {
	return slices.Concat(listRules(), threadRules(), sizeRules(), errorRules(), handleRules(), refreshRules(), memoryRules(), mapRules())
}

// Named returns the rule of that name. The error wraps ErrName, with all names.
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
		{Name: "list-state", Title: "A command-list handle takes the transitions of the state diagram, and no others.", Fault: Runtime, Source: srcDiagram,
			Catches: "CommandListExecute of a handle that is not valid; RecycleDestroyCommandList of one that is not valid; RecycleCommandList of one that is not retired; RecycleCreateCommandList of one that is not in the cache of its context.",
			Example: "pfnCommandListExecute: command list 12 is retired, want valid"},
		{Name: "list-context", Title: "A retired command list goes back to the deferred context that made it.", Fault: Runtime, Source: srcSmall,
			Catches: "RecycleCommandList on another deferred context; RecycleCreateCommandList for another one.",
			Example: "pfnRecycleCommandList: command list 12 is of context 3, not of context 4"},
		{Name: "context-state", Title: "After its list is made or abandoned, a deferred context's handles are closed, and it is recycled or destroyed.", Fault: Runtime, Source: srcLists,
			Catches: "any other function on it, but unbinding after AbandonCommandList; a list, an abandonment, a recycling or a destruction in the wrong state.",
			Example: "pfnResourceCopy: context 3 has its list made, want it closed and recycled or destroyed"},
		{Name: "context-open", Title: "A deferred context is recycled or destroyed when no handle is open in it.", Fault: Runtime, Source: srcLists + ", destruction sequence",
			Catches: "RecycleCreateDeferredContext and DestroyDevice with local handles left.",
			Example: "pfnRecycleCreateDeferredContext: context 3 has 2 handles open"},
		{Name: "abandon-bound", Title: "After AbandonCommandList handles are unbound before they are closed.", Fault: Runtime, Source: srcLists + ", abandonment sequence",
			Catches: "a close of a local handle that an abandoned context has bound.",
			Example: "pfnDestroyResource: resource 7 is bound to context 3, which was abandoned"},
		{Name: "list-open-work", Title: "A list is made when queries are ended and resources unmapped.", Fault: Runtime, Source: srcLists,
			Catches: "CreateCommandList and RecycleCreateCommandList of a deferred context with a begun query or a mapped resource.",
			Example: "pfnCreateCommandList: context 3 has 1 resource mapped"},
		{Name: "execute-mapped", Title: "A list that recorded the map of a resource is not executed where that is mapped.", Fault: Runtime, Source: srcLists,
			Catches: "CommandListExecute on a context that has mapped a subresource that the list maps.",
			Example: "pfnCommandListExecute: command list 12 maps subresource 0 of resource 7, which context 1 has mapped"},
		{Name: "execute-begun", Title: "A list that began or ended a query is not executed where that is only begun.", Fault: Runtime, Source: srcLists,
			Catches: "CommandListExecute on a context that has begun a query that the list began or ended.",
			Example: "pfnCommandListExecute: command list 12 uses query 9, which context 1 has begun"},
	}
}

func threadRules() []Rule {
	return []Rule{
		{Name: "context-overlap", Title: "One call at a time runs on a context.", Fault: Runtime, Source: srcThreads,
			Catches: "a function of a context's thread that starts while another thread is in one: so RecycleCommandList and CreateCommandList off the deferred context's thread, immediate functions from two threads, CreateResource of a primary.",
			Example: "pfnRecycleCommandList: thread 1:2 is in pfnResourceCopy on context 3"},
		{Name: "free-threaded", Title: "Without CapsFreeThreaded one call at a time runs on a device.", Fault: Runtime, Source: srcThreads,
			Catches: "a function other than Calc* that starts while another thread is in one.",
			Example: "pfnCreateResource: thread 1:2 is in pfnFlush, and the driver is not free-threaded"},
		{Name: "reentered", Title: "In a callback the runtime calls the driver only to refresh state.", Fault: Runtime, Source: srcRefresh,
			Catches: "a driver function that starts in a callback that is not a state refresh.",
			Example: "pfnFlush: called in pfnLockCb"},
		{Name: "callback-outside", Title: "Callbacks are for functions of the driver that are running.", Fault: Driver, Source: srcThreads,
			Catches: "a callback on a thread that is in no function of the driver.",
			Example: "pfnLockCb: no function of the driver runs on thread 1:2"},
		{Name: "submit-place", Title: "Command buffers are submitted on the immediate context's thread, presents in Present.", Fault: Driver, Source: srcSubmit,
			Catches: "RenderCb in a free-threaded function or one of a deferred context; PresentCb outside Present.",
			Example: "pfnRenderCb: in pfnCreateResource, want a function of the immediate context's thread"},
	}
}

func sizeRules() []Rule {
	return []Rule{
		{Name: "size-private", Title: "Private memory has the size that the driver has answered.", Fault: Runtime, Source: srcHandles,
			Catches: "a Create function whose handle has memory of another size than the Calc function of its kind has returned on that thread, or CalcDeferredContextHandleSize for the object that is opened; a Calc function that was not asked.",
			Example: "pfnCreateResource: resource 7 has 8 bytes of private memory, want 12"},
		{Name: "size-varies", Title: "The size of a handle stays.", Fault: Driver, Source: srcSmall,
			Catches: "CalcDeferredContextHandleSize that answers otherwise for the same handle.",
			Example: "pfnCalcDeferredContextHandleSize: 24 for resource 7, 16 before"},
		{Name: "size-check", Title: "CheckDeferredContextHandleSizes answers the same each time.", Fault: Driver, Source: srcLocal,
			Catches: "another count, or another content of what it fills.",
			Example: "pfnCheckDeferredContextHandleSizes: 3 sizes, 4 before"},
		{Name: "size-member", Title: "The size of a local handle is one that CheckDeferredContextHandleSizes has named.", Fault: Driver, Source: srcLocal,
			Catches: "an answer of CalcDeferredContextHandleSize that is not in the table for its type.",
			Example: "pfnCalcDeferredContextHandleSize: 20 for a resource, want one of [16 24]"},
	}
}

func errorRules() []Rule {
	return []Rule{
		{Name: "error-status", Title: "A function reports only errors of its category.", Fault: Driver, Source: srcErrors,
			Catches: "SetErrorCb with a result that the running function may not report on its context: D3DDDIERR_DEVICEREMOVED is for all but Check and Calc functions and CreateDevice; E_OUTOFMEMORY for creates, maps, data movement, CommandListExecute and what a deferred context records; DXGI_DDI_ERR_WASSTILLDRAWING for QueryGetData and maps that may not wait.",
			Example: "pfnFlush: reports E_INVALIDARG, may report D3DDDIERR_DEVICEREMOVED"},
		{Name: "error-success", Title: "Success is not reported.", Fault: Driver, Source: srcErrors,
			Catches: "SetErrorCb with a result that is not an error.",
			Example: "pfnFlush: reports S_OK"},
		{Name: "error-outside", Title: "Errors are reported by functions that are running.", Fault: Driver, Source: srcErrors,
			Catches: "SetErrorCb on a thread that is in no function of the driver.",
			Example: "pfnSetErrorCb: no function of the driver runs on thread 1:2"},
		{Name: "error-layer", Title: "Errors go to the core layer of the context that they are about.", Fault: Driver, Source: srcLocal,
			Catches: "SetErrorCb with the handle of another core layer: the device's is that of the immediate context, of free-threaded functions and of the Create functions of deferred contexts.",
			Example: "pfnResourceCopy: on context 3, but the error goes to the core layer of context 1"},
		{Name: "error-create-layer", Title: "Create functions of a deferred context report to the device's core layer.", Fault: Driver, Warning: true, Source: srcLocal,
			Catches: "a Create function of a deferred context that reports to the context's own core layer.",
			Example: "pfnCreateResource: an error of an open goes to the core layer of context 3, not to the device's"},
		{Name: "recycle-result", Title: "The Recycle functions return E_OUTOFMEMORY and do not report it.", Fault: Driver, Source: srcSmall,
			Catches: "RecycleCreateCommandList and RecycleCreateDeferredContext that return anything but S_OK and E_OUTOFMEMORY, or report E_OUTOFMEMORY through SetErrorCb.",
			Example: "pfnRecycleCreateCommandList: returns E_FAIL, want S_OK or E_OUTOFMEMORY"},
	}
}

func handleRules() []Rule {
	return []Rule{
		{Name: "handle-unknown", Title: "Handles are of objects that were made, and of the right kind.", Fault: Runtime, Source: srcHandles,
			Catches: "a device, context or object handle that no Create function has made, one of another kind, and none where one is needed.",
			Example: "pfnResourceCopy: resource handle was never created"},
		{Name: "handle-destroyed", Title: "A destroyed handle is not used.", Fault: Runtime, Source: srcHandles,
			Catches: "use and second destruction of an object or a context.",
			Example: "pfnDestroyResource: resource 7 is destroyed"},
		{Name: "handle-failed", Title: "A handle whose creation reported an error is neither used nor destroyed.", Fault: Runtime, Source: srcErrors,
			Catches: "use and destruction of an object, list or context after a failed Create function.",
			Example: "pfnDestroyCommandList: command list 12 failed to be created"},
		{Name: "handle-foreign", Title: "A context gets handles of its own.", Fault: Runtime, Source: srcLocal,
			Catches: "a handle of another device; the device's handle on a deferred context, RecycleCommandList apart; a local handle on the immediate context or on another deferred one; a function that the context does not have.",
			Example: "pfnResourceCopy: resource 7 is the device's, not local to context 3"},
		{Name: "handle-reused", Title: "A living handle is not created again.", Fault: Runtime, Source: srcHandles,
			Catches: "a Create function with a handle that was created and not destroyed.",
			Example: "pfnCreateResource: resource 7 exists"},
		{Name: "handle-leak", Title: "A device is destroyed after all that it made.", Fault: Runtime, Source: srcHandles,
			Catches: "DestroyDevice with objects, command lists or deferred contexts left.",
			Example: "pfnDestroyDevice: leaves resource 7 and 2 others"},
		{Name: "view-order", Title: "A resource is made or opened before its views and destroyed or closed after them.", Fault: Runtime, Source: srcLocal,
			Catches: "a view that is opened in a deferred context in which its resource is not, and a resource that is destroyed or closed with views left.",
			Example: "pfnDestroyResource: resource 7 has 1 view"},
		{Name: "local-open", Title: "A local handle is opened once, with the object's driver handle and nothing else.", Fault: Runtime, Source: srcLocal,
			Catches: "a Create function of a deferred context whose runtime handle is not the device's driver handle of a living object of the kind, one for an object that is open in the context, and arguments beyond the local handle of a view's resource.",
			Example: "pfnCreateResource: resource 7 is open in context 3"},
		{Name: "local-outlives", Title: "The device's handle is destroyed after the local ones.", Fault: Runtime, Source: srcLocal,
			Catches: "destruction or retirement of an object that is open in a deferred context.",
			Example: "pfnDestroyResource: resource 7 is open in 1 deferred context"},
	}
}

func refreshRules() []Rule {
	return []Rule{
		{Name: "refresh-stale", Title: "A state refresh shows what is bound.", Fault: Runtime, Source: srcLists + "; " + srcRefresh,
			Catches: "a Set function in a state-refresh callback that carries something else, or leaves out a slot that was asked for. Bound is: in a Set function the new state; in CommandListExecute the old one, and nothing after it; in CreateCommandList and RecycleCreateCommandList the deferred context's, and nothing after it; after AbandonCommandList what is not unbound yet.",
			Example: "pfnPsSetConstantBuffers: slot 2 has none in pfnStatePsConstBufCb, want resource 7"},
		{Name: "refresh-function", Title: "A state refresh calls the function that sets that state, on that context.", Fault: Runtime, Source: srcRefresh,
			Catches: "another function, or another context, in a state-refresh callback.",
			Example: "pfnSetViewports: called in pfnStateRsScissorCb, want pfnSetScissorRects"},
		{Name: "refresh-place", Title: "State is refreshed on the thread of its context.", Fault: Driver, Source: srcRefresh,
			Catches: "a state-refresh callback, or PerformAmortizedProcessingCb, with the core layer of a context that the running function is not a call on, and from a free-threaded or Calc function.",
			Example: "pfnStateIaIndexBufCb: in pfnCreateResource, which is not on context 1's thread"},
		{Name: "refresh-range", Title: "A refreshed range is one of slots that exist.", Fault: Driver, Source: srcRefresh,
			Catches: "a base that is no slot, a count below -1, an end beyond the last slot: such as base and count in the wrong order.",
			Example: "pfnStateHsConstBufCb: base 14, count 0 of 14 slots"},
		{Name: "refresh-amortized", Title: "PerformAmortizedProcessingCb comes after a submission, before state is refreshed.", Fault: Driver, Source: srcChanges,
			Catches: "a state-refresh callback on the immediate context after RenderCb, without PerformAmortizedProcessingCb between them.",
			Example: "pfnStateOmRenderTargetsCb: context 1 has submitted since pfnPerformAmortizedProcessingCb"},
	}
}

func memoryRules() []Rule {
	return []Rule{
		{Name: "private-runtime", Title: "The runtime leaves private memory alone.", Fault: Runtime, Source: srcHandles + "; " + srcSmall,
			Catches: "bytes that changed while no function of the driver ran, from the return of one to the next that gets the object: so also from RecycleDestroyCommandList to RecycleCreateCommandList.",
			Example: "pfnResourceCopy: byte 4 of the private memory of resource 7 went from 0x01 to 0xa5 and no function of the driver ran"},
		{Name: "private-outside", Title: "The driver writes an object's private memory in functions that get the object.", Fault: Either, Source: srcOurs,
			Catches: "bytes that changed between two functions that get the object or its view. A submission, Flush, Present, CommandListExecute and the making and abandoning of a list may write to all that belongs to their context.",
			Example: "pfnResourceCopy: byte 4 of the private memory of resource 7 went from 0x01 to 0xa5 outside of its functions"},
		{Name: "private-moved", Title: "Private memory stays where it is, and as large.", Fault: Either, Source: srcSmall,
			Catches: "a handle whose memory is another, or of another size, than at its creation: looked at before and after each function that gets it.",
			Example: "pfnRecycleCreateCommandList: the private memory of command list 12 has 32 bytes, 48 at its creation"},
		{Name: "private-spare", Title: "Private memory ends where its size says.", Fault: Runtime, Source: srcOurs,
			Catches: "memory with room behind it at a Create function, through which a driver would reach what belongs to another.",
			Example: "pfnCreateResource: resource 7 has 12 bytes of private memory in room for 64"},
		{Name: "table-excluded", Title: "The table of a deferred context lacks what deferred contexts cannot do.", Fault: Driver, Source: srcExclude,
			Catches: "an entry that is not nil after CreateDeferredContext or RecycleCreateDeferredContext and belongs to immediate contexts only.",
			Example: "pfnCreateDeferredContext: pfnFlush is not nil"},
		{Name: "table-missing", Title: "Tables have the entries that the capabilities promise.", Fault: Driver, Source: srcLists,
			Catches: "a driver with CapsCommandListsBuild2 that leaves an entry for command lists nil in a device's table, or one that records in a deferred context's.",
			Example: "pfnCreateDevice: pfnRecycleCreateCommandList is nil"},
		{Name: "table-relocate", Title: "RelocateDeviceFuncs leaves the free-threaded entries alone.", Fault: Driver, Source: srcRelocate,
			Catches: "a Create, Destroy, Calc or Check entry that is another after RelocateDeviceFuncs than before it: another thread may be calling it.",
			Example: "pfnRelocateDeviceFuncs: pfnCalcPrivateResourceSize has changed"},
		{Name: "caps-threading", Title: "CapsCommandListsBuild2 needs CapsFreeThreaded.", Fault: Driver, Source: srcThreads,
			Catches: "GetCaps that answers CapsThreading with the one and without the other.",
			Example: "pfnGetCaps: reports command lists without free threading"},
	}
}

func mapRules() []Rule {
	return []Rule{
		{Name: "map-discard", Title: "The first map of a resource in a list discards it.", Fault: Runtime, Source: srcIntro,
			Catches: "DynamicIABufferMapNoOverwrite on a deferred context before a MapDiscard of the same handle.",
			Example: "pfnDynamicIABufferMapNoOverwrite: resource 7 was not discarded in this list"},
		{Name: "map-state", Title: "A subresource is mapped once, and unmapped by the function of its family.", Fault: Runtime, Source: srcIntro,
			Catches: "a map of what is mapped, an unmap of what is not, one by a function of another family; a map function that the usage and the bindings of the resource do not call for.",
			Example: "pfnDynamicIABufferUnmap: subresource 0 of resource 7 is not mapped"},
	}
}
