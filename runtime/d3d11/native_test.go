package d3d11

import "testing"

// TestNative runs tests that do not depend on who records, with a driver that
// supports command lists (newBench).
func TestNative(t *testing.T) {
	for name, test := range map[string]func(*testing.T){
		"BoxSequence":                         TestBoxSequence,
		"CopyOfNothing":                       TestCopyOfNothing,
		"MappedTakesNoPart":                   TestMappedResourceIsNotCopied,
		"MappedOnADeferredContextTakesNoPart": TestMappedOnADeferredContextIsNotCopied,
		"UpdateSubresource":                   TestUpdateSubresource,
		"DeferredUpdateCopiesAtOnce":          TestDeferredUpdateCopiesAtOnce,
		"ClearRenderTargetView":               TestClearRenderTargetView,
		"CreateDevice":                        TestCreateDevice,
		"ErrorCategories":                     TestErrorCategories,
		"AfterRemoval":                        TestAfterRemoval,
		"CloseEndsEverything":                 TestCloseEndsEverything,
		"Contexts":                            TestContexts,
		"FinishOnTheImmediateContext":         TestFinishOnTheImmediateContext,
		"FlushOfADeferredContext":             TestFlushOfADeferredContext,
		"DeferredContextInheritsNothing":      TestDeferredContextInheritsNothing,
		"StateAfterFinish":                    TestStateAfterFinish,
		"StateAfterExecute":                   TestStateAfterExecute,
		"ListDoesNothingBeforeItExecutes":     TestListDoesNothingBeforeItExecutes,
		"ListReadsAtExecution":                TestListReadsAtExecution,
		"OrderOfExecutionDecides":             TestOrderOfExecutionDecides,
		"NestedLists":                         TestNestedLists,
		"DeepNesting":                         TestDeepNesting,
		"RepeatedNesting":                     TestRepeatedNesting,
		"ListSizeLimit":                       TestListSizeLimit,
		"ListSizeOfMaps":                      TestListSizeOfMaps,
		"ListTooLarge":                        TestListTooLarge,
		"ExecuteOfAMappedResource":            TestExecuteOfAMappedResource,
		"ExecuteWithMappedStaging":            TestExecuteWithMappedStaging,
		"RefusedExecution":                    TestRefusedExecution,
		"BeginTwice":                          TestBeginTwice,
		"ExecuteOfNothing":                    TestExecuteOfNothing,
		"Queries":                             TestQueries,
		"StateDuringLists":                    TestStateDuringLists,
		"MapTable":                            TestMapTable,
		"DeferredMap":                         TestDeferredMap,
		"DeferredMapOfATexture":               TestDeferredMapOfATexture,
		"UnmapElsewhereIsHarmless":            TestUnmapOnAnotherContext,
		"NoOverwriteAfterDiscard":             TestNoOverwriteAfterDiscard,
		"References":                          TestReferences,
		"KeptAlive":                           TestKeptAlive,
		"GetRevives":                          TestGetRevives,
		"ViewKeepsItsTexture":                 TestViewKeepsItsTexture,
		"StaleIsNoAlias":                      TestStaleIsNoAlias,
		"ReleasedDeferredContext":             TestReleasedDeferredContext,
		"ListsDoWhatTheImmediateContextDoes":  TestListsDoWhatTheImmediateContextDoes,
		"KeptStateIsTheImmediateContexts":     TestKeptStateIsTheImmediateContexts,
		"GetReturnsWhatWasSet":                TestGetReturnsWhatWasSet,
		"SetIsIgnored":                        TestSetIsIgnored,
		"SwapDeviceContextState":              TestSwapDeviceContextState,
	} {
		t.Run(name, test)
	}
}
