package drivermutant

import (
	"regexp"
	"slices"
)

// A harmless change is no mistake: the interface allows the other value, or our
// drivers never look at it.
type harmless struct {
	match string // of the mutants' descriptions
	why   string
}

// harmlessChanges are the changes that All leaves out.
var harmlessChanges = []harmless{
	{`^pfnState\w+Cb|^pfnPerformAmortizedProcessingCb`, "a driver may refresh any existing state at any time, and need not"},
	{`^pfnDynamic(IA|Constant)BufferMap\w+: result 0\.(Row|Depth)Pitch`, "a buffer has no pitches"},
	{`^pfn\w+Discard: result 0\.DepthPitch|^pfnStagingResourceMap: result 0\.DepthPitch`, "a 2D texture has no depth"},
	{`result 0\.Data\.\[0\]`, "the content after a discard is undefined"},
	{`^pfnRenderCb: argument 2\.(New\w+|QueuedBufferCount)`, "the system fills it in"},
	{`^pfn(Allocate|CreateContext|Lock)Cb: argument 2\.(KMResource|Context|Command\w+|Allocation\w+|Patch\w+|Data)`, "the system fills it in"},
	{`HighestAcceptableAddress is 1|MaxAllocationListSlotID`, "no memory is that high, and the kernel uses no slots"},
	{`: argument \d\.(Flags|DriverID|SlotID|EngineAffinity|SystemDevice|SystemContext|DmaBufferPrivateData)\b`, "our miniport does not read it"},
	{`^DxgkDdi(Patch|SubmitCommand): argument 2\.(Device|Context|DmaBufferSize|DmaBuffer lacks)`, "our miniport does not read it"},
	{`^DxgkDdi(StartDevice: argument 2\.(AdapterLUID|RequiredDmaQueueEntry)|QueryAdapterInfo: argument 2\.InputData)`, "our miniport does not read it"},
	{`^DxgkDdi(InterruptRoutine: argument 2|CreateContext: argument 3\.NodeOrdinal is 0|Patch: argument 2\.NodeOrdinal)`, "our miniport treats all alike"},
	{`^DxgkDdiOpenAllocation: argument 3\.(Create|PrivateDriverData)|^DxgkDdiBuildPagingBuffer: argument 2\.Allocation`, "our miniport does not read it"},
	{`^DxgkDdi(Render|Present): argument 2\.MultipassOffset`, "our miniport reads one bit, and only after a return for a larger buffer"},
	{`^DxgkDdi\w+: result 0\.MultipassOffset`, "it means nothing after success, and after the other status our miniport sets one bit"},
	{`^DxgkDdiPatch: argument 2\.DmaBufferSubmission(StartOffset is (0|1 more)|EndOffset is 1 more)`, "our miniport uses it in a check only"},
	{`^DxgkDdi\w+: argument 2\.(DmaBuffer|PatchLocationListOut) lacks`, "a driver need not use all room"},
	{`PatchLocationListOut\.\[0\]\.(SlotID|DriverID)|^DxgkDdiRender: argument 2\.PatchLocationListOut\.\[0\]\.SplitOffset is 0`, "they belong to the driver, and it may allow an earlier split"},
	{`^DxgkDdi(Remove|Destroy|Close)\w+ is not called`, "our miniport only forgets memory of the Go heap there"},
	{`UMDriverPrivate lacks`, "the last bytes are reserved and 0"},
	{`PagingNode is 0|HwQueuePacketCap is 1 less`, "a driver may choose the node, and take less"},
	{`^(DxgkCb(GetDeviceInformation|ReadDeviceSpace|SynchronizeExecution|QueueDpc)|WRITE_REGISTER_ULONG|pfnSetErrorCb) is called twice`, "it may be called twice"},
	{`^DxgkCbReadDeviceSpace: argument 2 is 0|^DxgkCbSynchronizeExecution: argument 2 is 1 more`, "a legal call with the same effect on this device"},
	{`^MmFreeContiguousMemory(: argument 2\.Bytes\.\[0\]| is called after)`, "the content of freed memory and the order of calls do not matter"},
	{`^pfn(Ia|Vs|Hs|Ds|Gs|Ps|Cs)?Set(Topology|VertexBuffers|IndexBuffer|ConstantBuffers|RenderTargets|Viewports|ScissorRects) is not called`, "nothing draws with it"},
	{`^pfnCalcPrivate(Resource|RenderTargetView|Query|DeferredContext)Size: result 0 is 1 more`, "a driver may ask for more"},
	{`^pfn(CalcPrivateDeferredContextSize|RelocateDeviceFuncs|AbandonCommandList) is not called`, "our driver does nothing there, or the recycling that follows does it"},
	{`^pfnDestroyRenderTargetView is not called`, "our driver only forgets memory of the Go heap there"},
	{`^DxgkDdiPatch: argument 2\.(DmaBufferPhysicalAddress|SubmissionFenceID|PatchLocationList\.\[0\]\.SplitOffset)`, "our miniport does not read it"},
	{`^DxgkDdiPresent: argument 2\.AllocationList\.\[0\]`, "the first element of the list of a present is empty"},
	{`(ListSize|PrivateDataSize|Alignment|HwQueuePacketCap|: result 0\.Size) is 1 more`, "a driver may ask for more"},
	{`(ListSize|Segments\.\[0\]\.Size) is 1 less`, "a driver may ask for less"},
	{`PreferredSegment is 0|Alignment is 0|Cached is inverted|SupportedSegmentSet is 1 less`, "the kernel chooses"},
	{`^READ_REGISTER_ULONG is called twice|^DxgkCbNotifyDpc is called twice`, "it may be called twice"},
}

// withoutHarmless returns the mutants that are mistakes.
func withoutHarmless(all []*Mutant) []*Mutant {
	var res []*regexp.Regexp
	for _, h := range harmlessChanges {
		res = append(res, regexp.MustCompile(h.match))
	}
	return slices.DeleteFunc(all, func(m *Mutant) bool {
		return slices.ContainsFunc(res, func(re *regexp.Regexp) bool { return re.MatchString(m.String()) })
	})
}
