package d3d11

import (
	"strings"

	"github.com/hilgpu/hilgpu/runtime/ddi"
)

// categoryOf returns the category of messages about a call of the API.
func categoryOf(call string) MessageCategory {
	switch call {
	case "D3D11CreateDevice":
		return CategoryInitialization
	case "AddRef", "Release":
		return CategoryCleanup
	case "Map", "Unmap", "CopyResource", "CopySubresourceRegion", "UpdateSubresource", "ClearRenderTargetView":
		return CategoryResourceManipulation
	case "GetData", "GetDeviceRemovedReason":
		return CategoryExecution
	case "SetPrivateData", "SetPrivateDataInterface", "GetPrivateData", "GetPrivateDataInterface", "Leave":
		return CategoryMiscellaneous
	}
	switch {
	case strings.HasPrefix(call, "Create"):
		return CategoryStateCreation
	case strings.Contains(call, "Set"):
		return CategoryStateSetting
	case strings.Contains(call, "Get"), strings.HasPrefix(call, "Check"):
		return CategoryStateGetting
	}
	return CategoryExecution
}

// generalID returns the ID of a failure without a more exact one.
func generalID(call string, hr ddi.HRESULT) MessageID {
	if hr == ddi.EOutOfMemory {
		return outOfMemoryID(call)
	}
	if hr != ddi.EInvalidArg {
		return MessageDriverFailed
	}
	switch call {
	case "CreateBuffer":
		return MessageCreateBufferInvalidArgReturn
	case "CreateTexture2D":
		return MessageCreateTexture2DInvalidArgReturn
	case "CreateRenderTargetView":
		return MessageCreateRenderTargetViewInvalidArgReturn
	}
	return MessageInvalidArgument
}

func outOfMemoryID(call string) MessageID {
	switch call {
	case "CreateBuffer":
		return MessageCreateBufferOutOfMemoryReturn
	case "CreateTexture2D":
		return MessageCreateTexture2DOutOfMemoryReturn
	case "CreateRenderTargetView":
		return MessageCreateRenderTargetViewOutOfMemoryReturn
	case "CreateQuery":
		return MessageCreateQueryOutOfMemoryReturn
	case "CreatePredicate":
		return MessageCreatePredicateOutOfMemoryReturn
	case "CreateDeferredContext":
		return MessageCreateDeferredContextOutOfMemoryReturn
	case "FinishCommandList":
		return MessageFinishCommandListOutOfMemoryReturn
	case "Map":
		return MessageMapOutOfMemoryReturn
	}
	return MessageDriverFailed
}
