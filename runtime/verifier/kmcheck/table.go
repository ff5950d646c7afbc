package kmcheck

import (
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/verifier"
)

// A spec describes a function of the driver or a callback. Levels are those in
// the requirements of the function's page.
type spec struct {
	level ddi.IRQL // of a function: at which it is called; of a callback: the highest level
	any   bool     // of a function: it may be called at any level
	class class    // of a function
	in    state    // of a function: states of the adapter in which it may be called

	returns []ddi.Status // failures that a function may return; nil: any
	judged  bool         // the graphics kernel checks what a function returns

	calls uint64 // of a callback: that have returned
}

// A class is a synchronization class of functions of the driver.
type class uint8

// The classes ("Threading and Synchronization" of the WDK: zero, first and third
// level). A free function may run at any time; the interrupt path does.
const (
	reentrant class = iota
	free
	scheduler // one thread at a time runs in a function of the GPU scheduler class
	exclusive // no other thread runs in any function but the free ones
)

var classNames = [...]string{reentrant: "reentrant", free: "free", scheduler: "GPU scheduler class", exclusive: "exclusive"}

// String returns the name of the class.
func (c class) String() string { return classNames[c] }

// functions are the functions of the driver, by their WDK names.
var functions = map[string]spec{
	"DxgkDdiAddDevice":    {class: exclusive, in: removed},
	"DxgkDdiStartDevice":  {class: exclusive, in: added},
	"DxgkDdiStopDevice":   {class: exclusive, in: started},
	"DxgkDdiRemoveDevice": {class: exclusive, in: added},

	"DxgkDdiInterruptRoutine": {level: ddi.DIRQL, class: free, in: added | started},
	"DxgkDdiDpcRoutine":       {level: ddi.DispatchLevel, class: free, in: added | started},
	"DxgkDdiCollectDbgInfo":   {any: true, class: free, in: added | started},

	"DxgkDdiQueryAdapterInfo":  {in: started},
	"DxgkDdiCreateDevice":      {in: started, returns: createDeviceErrors},
	"DxgkDdiDestroyDevice":     {in: started},
	"DxgkDdiCreateContext":     {in: started, returns: createContextErrors},
	"DxgkDdiDestroyContext":    {in: started},
	"DxgkDdiCreateAllocation":  {in: started, returns: createAllocationErrors},
	"DxgkDdiDestroyAllocation": {in: started},
	"DxgkDdiOpenAllocation":    {in: started, returns: createAllocationErrors},
	"DxgkDdiCloseAllocation":   {in: started},
	"DxgkDdiRender":            {in: started, returns: renderErrors},
	"DxgkDdiRenderKm":          {in: started, returns: renderKmErrors},
	"DxgkDdiPresent":           {in: started, returns: renderErrors},
	"DxgkDdiQueryCurrentFence": {in: started},
	"DxgkDdiEscape":            {in: started, returns: escapeErrors},

	"DxgkDdiBuildPagingBuffer": {class: scheduler, in: started, judged: true},
	"DxgkDdiPatch":             {class: scheduler, in: started, judged: true},
	"DxgkDdiSubmitCommand":     {level: ddi.DispatchLevel, class: scheduler, in: started, judged: true},
	"DxgkDdiPreemptCommand":    {level: ddi.DispatchLevel, class: scheduler, in: started, judged: true},
	"DxgkDdiCancelCommand":     {in: started, judged: true},

	"DxgkDdiQueryEngineStatus":         {class: scheduler, in: started},
	"DxgkDdiQueryDependentEngineGroup": {class: scheduler, in: started},
	"DxgkDdiResetEngine":               {class: scheduler, in: started},

	"DxgkDdiResetFromTimeout":   {class: exclusive, in: started},
	"DxgkDdiRestartFromTimeout": {class: exclusive, in: started},
}

// callbacks are the callbacks, by their WDK names. Those that a page puts at
// PASSIVE_LEVEL may wait or touch pageable memory. The graphics kernel itself
// checks the levels of NotifyInterrupt and NotifyDpc.
var callbacks = map[string]spec{
	"DxgkCbGetDeviceInformation": {level: ddi.PassiveLevel},
	"DxgkCbMapMemory":            {level: ddi.PassiveLevel},
	"DxgkCbUnmapMemory":          {level: ddi.PassiveLevel},
	"DxgkCbReadDeviceSpace":      {level: ddi.PassiveLevel},
	"DxgkCbWriteDeviceSpace":     {level: ddi.PassiveLevel},
	"DxgkCbSynchronizeExecution": {level: ddi.DispatchLevel},
	"MmAllocateContiguousMemory": {level: ddi.DispatchLevel},
	"MmFreeContiguousMemory":     {level: ddi.DispatchLevel},
	"DxgkCbNotifyInterrupt":      {level: ddi.DIRQL},
	"DxgkCbQueueDpc":             {level: ddi.DIRQL},
	"DxgkCbNotifyDpc":            {level: ddi.DIRQL},
	"DxgkCbLogEtwEvent":          {level: ddi.DIRQL},
	"READ_REGISTER_ULONG":        {level: ddi.DIRQL},
	"WRITE_REGISTER_ULONG":       {level: ddi.DIRQL},
}

// specOf returns the description of a function, or nil for a function that the
// tables lack. k.mu is held.
func (k *Checker) specOf(f *verifier.Func) *spec {
	if s, ok := k.specs[f]; ok {
		return s
	}
	table := functions
	if f.Callback {
		table = callbacks
	}
	var p *spec
	if s, ok := table[f.Name]; ok {
		p = &s
	}
	k.specs[f] = p
	return p
}
