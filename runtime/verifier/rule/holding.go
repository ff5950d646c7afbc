package rule

// holdingRules are the rules on what a user-mode driver returns, and on what it
// holds of the graphics kernel.
func holdingRules() []Rule {
	return []Rule{
		{Name: "size-range", Title: "The size of private memory is 0 to 1 MiB.", Fault: Driver, Source: srcOurs,
			Catches: "a Calc function or CheckDeferredContextHandleSizes that returns a negative number or one above 1,048,576.",
			Example: "pfnCalcPrivateResourceSize: returns -1, want 0 to 1048576"},
		{Name: "map-result", Title: "A map returns all rows of the subresource.", Fault: Driver, Source: "documentation of umddi.Mapped",
			Catches: "a map function that reports no error and returns less memory than the rows need with its RowPitch, or a RowPitch that is less than a row.",
			Example: "pfnStagingResourceMap: Data has 0 bytes, want at least 256: 1 rows of resource 7 with a pitch of 0, or an error in pfnSetErrorCb"},
		{Name: "present-result", Title: "Present returns an error of its page.", Fault: Driver, Source: "DXGI_DDI_BASE_FUNCTIONS, pfnPresent",
			Catches: "an error other than E_OUTOFMEMORY, DXGI_DDI_ERR_WASSTILLDRAWING and D3DDDIERR_DEVICEREMOVED.",
			Example: "pfnPresent: returns E_FAIL, want S_OK, E_OUTOFMEMORY, DXGI_DDI_ERR_WASSTILLDRAWING or D3DDDIERR_DEVICEREMOVED"},
		{Name: "callback-refused", Title: "The kernel accepts what the driver passes to it.", Fault: Driver, Source: "PFND3DDDI_RENDERCB and the pages of the other callbacks, return value",
			Catches: "a callback that returns an error other than E_OUTOFMEMORY, DXGI_DDI_ERR_WASSTILLDRAWING and D3DDDIERR_DEVICEREMOVED: a wrong handle, length or list, or a command buffer that the miniport refuses. One of the two drivers is wrong.",
			Example: "pfnRenderCb: returns E_INVALIDARG since DxgkDdiRender returned STATUS_INVALID_PARAMETER, called in pfnFlush with Context 0x2, CommandOffset 0, CommandLength 20 of 65536, NumAllocations 1 of 256, NumPatchLocations 0 of 8192"},
		{Name: "buffer-stale", Title: "After pfnRenderCb the driver records to the buffers that it returned.", Fault: Driver, Source: "D3DDDICB_RENDER, pNewCommandBuffer, pNewAllocationList, pNewPatchLocationList",
			Catches: "a write to the beginning of the command buffer, the allocation list or the patch location list of the context's last submission, found at the next pfnRenderCb. The checker overwrites these when the kernel has read them.",
			Example: "pfnRenderCb: byte 0 of the command buffer was written after the buffers were submitted, want those that pfnRenderCb returned"},
		{Name: "lock-held", Title: "An allocation is unlocked before it is freed.", Fault: Driver, Source: "PFND3DDDI_LOCKCB; PFND3DDDI_UNLOCKCB; PFND3DDDI_DEALLOCATECB",
			Catches: "pfnDeallocateCb of an allocation with more pfnLockCb than pfnUnlockCb. After a callback that returned D3DDDIERR_DEVICEREMOVED it is not checked.",
			Example: "pfnDeallocateCb: allocation 0x3 is locked once: the pfnLockCb in pfnStagingResourceMap lacks a pfnUnlockCb"},
		{Name: "lock-unmapped", Title: "The lock of a map ends before the next map.", Fault: Driver, Source: "PFND3DDDI_LOCKCB; PFND3DDDI_UNLOCKCB; PFND3D10DDI_RESOURCEUNMAP",
			Catches: "a map function of the immediate context that locks an allocation for which map functions hold more locks than subresources are mapped. A driver may keep an allocation locked, but not lock it again at each map.",
			Example: "pfnStagingResourceMap: allocation 0x3 has 2 pfnLockCb of map functions and 1 subresource is mapped, want the pfnUnlockCb of the earlier ones in pfnStagingResourceUnmap"},
		{Name: "callback-device", Title: "A callback gets the runtime's handle of the device.", Fault: Driver, Source: "D3D10DDIARG_CREATEDEVICE, hRTDevice",
			Catches: "a callback of the graphics kernel or of DXGI with the handle of another device.",
			Example: "pfnLockCb: in pfnStagingResourceMap, hDevice is not the hRTDevice that pfnCreateDevice gave for context 1"},
		{Name: "removed-report", Title: "D3DDDIERR_DEVICEREMOVED is reported after a callback failed.", Fault: Driver, Warning: true, Source: srcErrors,
			Catches: "SetErrorCb, or a result of Present, with D3DDDIERR_DEVICEREMOVED on a device of which no callback has returned an error. A driver that is out of memory in a function without E_OUTOFMEMORY may do so.",
			Example: "pfnQueryGetData: reports D3DDDIERR_DEVICEREMOVED, and no callback has failed; query 3 has 12 bytes of private memory as pfnCalcPrivateQuerySize returned and is from pfnCreateQuery"},
		{Name: "kernel-leak", Title: "A driver frees the allocations and the contexts of a device.", Fault: Driver, Source: "PFND3D10DDI_DESTROYDEVICE; PFND3DDDI_DEALLOCATECB; PFND3DDDI_DESTROYCONTEXTCB",
			Catches: "allocations or contexts of the kernel that exist when pfnDestroyDevice returns, or a pfnCreateDevice that failed. After a callback that returned D3DDDIERR_DEVICEREMOVED it is not checked.",
			Example: "pfnDestroyDevice: returns and leaves 2 allocations of pfnAllocateCb without pfnDeallocateCb (0x3 from pfnCreateResource) and 1 context of pfnCreateContextCb without pfnDestroyContextCb"},
	}
}
