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
	{`^DxgkDdiPatch: argument 2\.(DmaBufferPhysicalAddress|SubmissionFenceID|PatchLocationList\.\[0\]\.SplitOffset)`, "our miniport does not read it"},
	{`^DxgkDdiPresent: argument 2\.AllocationList\.\[0\]`, "the first element of the list of a present is empty"},
	{`(ListSize|PrivateDataSize|Alignment|HwQueuePacketCap|: result 0\.Size) is 1 more`, "a driver may ask for more"},
	{`(ListSize|Segments\.\[0\]\.Size) is 1 less`, "a driver may ask for less"},
	{`PreferredSegment is 0|Alignment is 0|Cached is inverted|SupportedSegmentSet is 1 less`, "the kernel chooses"},
	{`^READ_REGISTER_ULONG is called twice|^DxgkCbNotifyDpc is called twice`, "it may be called twice"},
	{`^DxgkDdi(Destroy|Close)\w+: result 0 is a failure`, "the kernel ignores it: the object is gone"},
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
