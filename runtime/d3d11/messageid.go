package d3d11

import "fmt"

// MessageID is D3D11_MESSAGE_ID.
type MessageID uint32

// The IDs with a number in d3d11sdklayers.h, where DEVICE_, RESOURCE_ and
// ORPREDICATE are left out of the names here.
const (
	MessageStringFromApplication                              MessageID = 11
	MessageCorruptedThis                                      MessageID = 12
	MessageGetPrivateDataMoreData                             MessageID = 51
	MessageCreateBufferUnrecognizedUsage                      MessageID = 59
	MessageCreateBufferUnrecognizedBindFlags                  MessageID = 60
	MessageCreateBufferUnrecognizedCPUAccessFlags             MessageID = 61
	MessageCreateBufferUnrecognizedMiscFlags                  MessageID = 62
	MessageCreateBufferInvalidCPUAccessFlags                  MessageID = 63
	MessageCreateBufferInvalidBindFlags                       MessageID = 64
	MessageCreateBufferInvalidInitialData                     MessageID = 65
	MessageCreateBufferInvalidDimensions                      MessageID = 66
	MessageCreateBufferInvalidMiscFlags                       MessageID = 68
	MessageCreateBufferInvalidArgReturn                       MessageID = 69
	MessageCreateBufferOutOfMemoryReturn                      MessageID = 70
	MessageCreateBufferInvalidConstantBufferBindings          MessageID = 72
	MessageCreateTexture2DUnrecognizedFormat                  MessageID = 91
	MessageCreateTexture2DUnsupportedFormat                   MessageID = 92
	MessageCreateTexture2DInvalidSamples                      MessageID = 93
	MessageCreateTexture2DUnrecognizedUsage                   MessageID = 94
	MessageCreateTexture2DUnrecognizedBindFlags               MessageID = 95
	MessageCreateTexture2DUnrecognizedCPUAccessFlags          MessageID = 96
	MessageCreateTexture2DUnrecognizedMiscFlags               MessageID = 97
	MessageCreateTexture2DInvalidCPUAccessFlags               MessageID = 98
	MessageCreateTexture2DInvalidBindFlags                    MessageID = 99
	MessageCreateTexture2DInvalidInitialData                  MessageID = 100
	MessageCreateTexture2DInvalidDimensions                   MessageID = 101
	MessageCreateTexture2DInvalidMipLevels                    MessageID = 102
	MessageCreateTexture2DInvalidMiscFlags                    MessageID = 103
	MessageCreateTexture2DInvalidArgReturn                    MessageID = 104
	MessageCreateTexture2DOutOfMemoryReturn                   MessageID = 105
	MessageCreateRenderTargetViewUnrecognizedFormat           MessageID = 133
	MessageCreateRenderTargetViewUnsupportedFormat            MessageID = 134
	MessageCreateRenderTargetViewInvalidDesc                  MessageID = 135
	MessageCreateRenderTargetViewInvalidFormat                MessageID = 136
	MessageCreateRenderTargetViewInvalidDimensions            MessageID = 137
	MessageCreateRenderTargetViewInvalidResource              MessageID = 138
	MessageCreateRenderTargetViewInvalidArgReturn             MessageID = 140
	MessageCreateRenderTargetViewOutOfMemoryReturn            MessageID = 141
	MessageCreateQueryInvalidQuery                            MessageID = 232
	MessageCreateQueryInvalidMiscFlags                        MessageID = 233
	MessageCreateQueryUnexpectedMiscFlag                      MessageID = 234
	MessageCreateQueryNullDesc                                MessageID = 235
	MessageIASetPrimitiveTopologyUnrecognized                 MessageID = 236
	MessageIASetVertexBuffersInvalidBuffer                    MessageID = 238
	MessageIASetIndexBufferInvalidBuffer                      MessageID = 241
	MessageVSSetConstantBuffersInvalidBuffer                  MessageID = 246
	MessageGSSetConstantBuffersInvalidBuffer                  MessageID = 250
	MessagePSSetConstantBuffersInvalidBuffer                  MessageID = 256
	MessageRSSetViewportsInvalidViewport                      MessageID = 259
	MessageCopySubresourceRegionInvalidDestinationSubresource MessageID = 278
	MessageCopySubresourceRegionInvalidSourceSubresource      MessageID = 279
	MessageCopySubresourceRegionInvalidSourceBox              MessageID = 280
	MessageCopySubresourceRegionInvalidSource                 MessageID = 281
	MessageCopySubresourceRegionInvalidDestinationState       MessageID = 282
	MessageCopySubresourceRegionInvalidSourceState            MessageID = 283
	MessageCopyResourceInvalidSource                          MessageID = 284
	MessageCopyResourceInvalidDestinationState                MessageID = 285
	MessageCopyResourceInvalidSourceState                     MessageID = 286
	MessageUpdateSubresourceInvalidDestinationSubresource     MessageID = 287
	MessageUpdateSubresourceInvalidDestinationBox             MessageID = 288
	MessageUpdateSubresourceInvalidDestinationState           MessageID = 289
	MessageDeviceRemovalPossiblyAtFault                       MessageID = 379
	MessageDeviceRemovalNotAtFault                            MessageID = 380
	MessageOMSetRenderTargetsInvalidView                      MessageID = 388
	MessageCreateQueryOutOfMemoryReturn                       MessageID = 394
	MessageCreatePredicateOutOfMemoryReturn                   MessageID = 395
	MessageSetPredicationInvalidPredicateState                MessageID = 404
	MessageQueryBeginUnsupported                              MessageID = 405
	MessagePredicateBeginDuringPredication                    MessageID = 406
	MessageQueryBeginDuplicate                                MessageID = 407
	MessagePredicateEndDuringPredication                      MessageID = 409
	MessageQueryGetDataInvalidDataSize                        MessageID = 412
	MessageQueryGetDataInvalidFlags                           MessageID = 413
	MessageQueryGetDataInvalidCall                            MessageID = 414

	MessageCreateDeferredContextInvalidFlags      MessageID = 0x200009
	MessageCreateDeferredContextSingleThreaded    MessageID = 0x20000a
	MessageCreateDeferredContextOutOfMemoryReturn MessageID = 0x20000d
	MessageFinishCommandListOnImmediateContext    MessageID = 0x20000e
	MessageFinishCommandListOutOfMemoryReturn     MessageID = 0x20000f
	MessageFinishCommandListInvalidCallReturn     MessageID = 0x200010
	MessageHSSetConstantBuffersInvalidBuffer      MessageID = 0x20001f
	MessageDSSetConstantBuffersInvalidBuffer      MessageID = 0x20002f
	MessageMapInvalidMapType                      MessageID = 0x20003a
	MessageMapInvalidSubresource                  MessageID = 0x20003b
	MessageMapInvalidFlags                        MessageID = 0x20003c
	MessageMapAlreadyMapped                       MessageID = 0x20003d
	MessageMapOutOfMemoryReturn                   MessageID = 0x20003f
	MessageMapWithoutInitialDiscard               MessageID = 0x200040
	MessageUnmapInvalidSubresource                MessageID = 0x200041
	MessageUnmapNotMapped                         MessageID = 0x200042
	MessageCSSetConstantBuffersInvalidBuffer      MessageID = 0x2000ae
	MessageCreateBufferInvalidStructureStride     MessageID = 0x2000bb
	MessageCheckFormatSupportNotSupported         MessageID = 0x2000f9

	MessageCreateDeviceContextStateInvalidFlags MessageID = 0x300016
	MessageUpdateSubresourceEmptyDestBox        MessageID = 0x30015d
	MessageCopySubresourceRegionEmptySourceBox  MessageID = 0x30015e
)

// The IDs of this runtime, which are not in the header.
const (
	MessageDeviceRemoved                 MessageID = 0x400000 // the call needs a device that works
	MessageInvalidObject                 MessageID = 0x400001 // an object is nil, released, or of another device
	MessageInvalidSlots                  MessageID = 0x400002 // the slots do not exist
	MessageInvalidArgument               MessageID = 0x400003 // another argument is invalid
	MessageInvalidState                  MessageID = 0x400004 // the state of the object forbids the call
	MessageDriverFailed                  MessageID = 0x400005 // the driver reported an error
	MessageExecuteCommandListMapped      MessageID = 0x400006 // the list uses a resource that is mapped
	MessageExecuteCommandListActiveQuery MessageID = 0x400007 // the list uses a query that is active
	MessagePrivateDataNotFound           MessageID = 0x400008 // there is no private data with the GUID
	MessageLeaveWithoutEnter             MessageID = 0x400009 // Leave was called without Enter
)

// messageNames are the names of the IDs without D3D11_MESSAGE_ID_.
var messageNames = map[MessageID]string{
	MessageStringFromApplication:                              "STRING_FROM_APPLICATION",
	MessageCorruptedThis:                                      "CORRUPTED_THIS",
	MessageGetPrivateDataMoreData:                             "GETPRIVATEDATA_MOREDATA",
	MessageCreateBufferUnrecognizedUsage:                      "CREATEBUFFER_UNRECOGNIZEDUSAGE",
	MessageCreateBufferUnrecognizedBindFlags:                  "CREATEBUFFER_UNRECOGNIZEDBINDFLAGS",
	MessageCreateBufferUnrecognizedCPUAccessFlags:             "CREATEBUFFER_UNRECOGNIZEDCPUACCESSFLAGS",
	MessageCreateBufferUnrecognizedMiscFlags:                  "CREATEBUFFER_UNRECOGNIZEDMISCFLAGS",
	MessageCreateBufferInvalidCPUAccessFlags:                  "CREATEBUFFER_INVALIDCPUACCESSFLAGS",
	MessageCreateBufferInvalidBindFlags:                       "CREATEBUFFER_INVALIDBINDFLAGS",
	MessageCreateBufferInvalidInitialData:                     "CREATEBUFFER_INVALIDINITIALDATA",
	MessageCreateBufferInvalidDimensions:                      "CREATEBUFFER_INVALIDDIMENSIONS",
	MessageCreateBufferInvalidMiscFlags:                       "CREATEBUFFER_INVALIDMISCFLAGS",
	MessageCreateBufferInvalidArgReturn:                       "CREATEBUFFER_INVALIDARG_RETURN",
	MessageCreateBufferOutOfMemoryReturn:                      "CREATEBUFFER_OUTOFMEMORY_RETURN",
	MessageCreateBufferInvalidConstantBufferBindings:          "CREATEBUFFER_INVALIDCONSTANTBUFFERBINDINGS",
	MessageCreateTexture2DUnrecognizedFormat:                  "CREATETEXTURE2D_UNRECOGNIZEDFORMAT",
	MessageCreateTexture2DUnsupportedFormat:                   "CREATETEXTURE2D_UNSUPPORTEDFORMAT",
	MessageCreateTexture2DInvalidSamples:                      "CREATETEXTURE2D_INVALIDSAMPLES",
	MessageCreateTexture2DUnrecognizedUsage:                   "CREATETEXTURE2D_UNRECOGNIZEDUSAGE",
	MessageCreateTexture2DUnrecognizedBindFlags:               "CREATETEXTURE2D_UNRECOGNIZEDBINDFLAGS",
	MessageCreateTexture2DUnrecognizedCPUAccessFlags:          "CREATETEXTURE2D_UNRECOGNIZEDCPUACCESSFLAGS",
	MessageCreateTexture2DUnrecognizedMiscFlags:               "CREATETEXTURE2D_UNRECOGNIZEDMISCFLAGS",
	MessageCreateTexture2DInvalidCPUAccessFlags:               "CREATETEXTURE2D_INVALIDCPUACCESSFLAGS",
	MessageCreateTexture2DInvalidBindFlags:                    "CREATETEXTURE2D_INVALIDBINDFLAGS",
	MessageCreateTexture2DInvalidInitialData:                  "CREATETEXTURE2D_INVALIDINITIALDATA",
	MessageCreateTexture2DInvalidDimensions:                   "CREATETEXTURE2D_INVALIDDIMENSIONS",
	MessageCreateTexture2DInvalidMipLevels:                    "CREATETEXTURE2D_INVALIDMIPLEVELS",
	MessageCreateTexture2DInvalidMiscFlags:                    "CREATETEXTURE2D_INVALIDMISCFLAGS",
	MessageCreateTexture2DInvalidArgReturn:                    "CREATETEXTURE2D_INVALIDARG_RETURN",
	MessageCreateTexture2DOutOfMemoryReturn:                   "CREATETEXTURE2D_OUTOFMEMORY_RETURN",
	MessageCreateRenderTargetViewUnrecognizedFormat:           "CREATERENDERTARGETVIEW_UNRECOGNIZEDFORMAT",
	MessageCreateRenderTargetViewUnsupportedFormat:            "CREATERENDERTARGETVIEW_UNSUPPORTEDFORMAT",
	MessageCreateRenderTargetViewInvalidDesc:                  "CREATERENDERTARGETVIEW_INVALIDDESC",
	MessageCreateRenderTargetViewInvalidFormat:                "CREATERENDERTARGETVIEW_INVALIDFORMAT",
	MessageCreateRenderTargetViewInvalidDimensions:            "CREATERENDERTARGETVIEW_INVALIDDIMENSIONS",
	MessageCreateRenderTargetViewInvalidResource:              "CREATERENDERTARGETVIEW_INVALIDRESOURCE",
	MessageCreateRenderTargetViewInvalidArgReturn:             "CREATERENDERTARGETVIEW_INVALIDARG_RETURN",
	MessageCreateRenderTargetViewOutOfMemoryReturn:            "CREATERENDERTARGETVIEW_OUTOFMEMORY_RETURN",
	MessageCreateQueryInvalidQuery:                            "CREATEQUERYORPREDICATE_INVALIDQUERY",
	MessageCreateQueryInvalidMiscFlags:                        "CREATEQUERYORPREDICATE_INVALIDMISCFLAGS",
	MessageCreateQueryUnexpectedMiscFlag:                      "CREATEQUERYORPREDICATE_UNEXPECTEDMISCFLAG",
	MessageCreateQueryNullDesc:                                "CREATEQUERYORPREDICATE_NULLDESC",
	MessageIASetPrimitiveTopologyUnrecognized:                 "DEVICE_IASETPRIMITIVETOPOLOGY_TOPOLOGY_UNRECOGNIZED",
	MessageIASetVertexBuffersInvalidBuffer:                    "IASETVERTEXBUFFERS_INVALIDBUFFER",
	MessageIASetIndexBufferInvalidBuffer:                      "IASETINDEXBUFFER_INVALIDBUFFER",
	MessageVSSetConstantBuffersInvalidBuffer:                  "VSSETCONSTANTBUFFERS_INVALIDBUFFER",
	MessageGSSetConstantBuffersInvalidBuffer:                  "GSSETCONSTANTBUFFERS_INVALIDBUFFER",
	MessagePSSetConstantBuffersInvalidBuffer:                  "PSSETCONSTANTBUFFERS_INVALIDBUFFER",
	MessageRSSetViewportsInvalidViewport:                      "DEVICE_RSSETVIEWPORTS_INVALIDVIEWPORT",
	MessageCopySubresourceRegionInvalidDestinationSubresource: "COPYSUBRESOURCEREGION_INVALIDDESTINATIONSUBRESOURCE",
	MessageCopySubresourceRegionInvalidSourceSubresource:      "COPYSUBRESOURCEREGION_INVALIDSOURCESUBRESOURCE",
	MessageCopySubresourceRegionInvalidSourceBox:              "COPYSUBRESOURCEREGION_INVALIDSOURCEBOX",
	MessageCopySubresourceRegionInvalidSource:                 "COPYSUBRESOURCEREGION_INVALIDSOURCE",
	MessageCopySubresourceRegionInvalidDestinationState:       "COPYSUBRESOURCEREGION_INVALIDDESTINATIONSTATE",
	MessageCopySubresourceRegionInvalidSourceState:            "COPYSUBRESOURCEREGION_INVALIDSOURCESTATE",
	MessageCopyResourceInvalidSource:                          "COPYRESOURCE_INVALIDSOURCE",
	MessageCopyResourceInvalidDestinationState:                "COPYRESOURCE_INVALIDDESTINATIONSTATE",
	MessageCopyResourceInvalidSourceState:                     "COPYRESOURCE_INVALIDSOURCESTATE",
	MessageUpdateSubresourceInvalidDestinationSubresource:     "UPDATESUBRESOURCE_INVALIDDESTINATIONSUBRESOURCE",
	MessageUpdateSubresourceInvalidDestinationBox:             "UPDATESUBRESOURCE_INVALIDDESTINATIONBOX",
	MessageUpdateSubresourceInvalidDestinationState:           "UPDATESUBRESOURCE_INVALIDDESTINATIONSTATE",
	MessageDeviceRemovalPossiblyAtFault:                       "DEVICE_REMOVAL_PROCESS_POSSIBLY_AT_FAULT",
	MessageDeviceRemovalNotAtFault:                            "DEVICE_REMOVAL_PROCESS_NOT_AT_FAULT",
	MessageOMSetRenderTargetsInvalidView:                      "OMSETRENDERTARGETS_INVALIDVIEW",
	MessageCreateQueryOutOfMemoryReturn:                       "CREATEQUERY_OUTOFMEMORY_RETURN",
	MessageCreatePredicateOutOfMemoryReturn:                   "CREATEPREDICATE_OUTOFMEMORY_RETURN",
	MessageSetPredicationInvalidPredicateState:                "SETPREDICATION_INVALID_PREDICATE_STATE",
	MessageQueryBeginUnsupported:                              "QUERY_BEGIN_UNSUPPORTED",
	MessagePredicateBeginDuringPredication:                    "PREDICATE_BEGIN_DURING_PREDICATION",
	MessageQueryBeginDuplicate:                                "QUERY_BEGIN_DUPLICATE",
	MessagePredicateEndDuringPredication:                      "PREDICATE_END_DURING_PREDICATION",
	MessageQueryGetDataInvalidDataSize:                        "QUERY_GETDATA_INVALID_DATASIZE",
	MessageQueryGetDataInvalidFlags:                           "QUERY_GETDATA_INVALID_FLAGS",
	MessageQueryGetDataInvalidCall:                            "QUERY_GETDATA_INVALID_CALL",
	MessageCreateDeferredContextInvalidFlags:                  "CREATEDEFERREDCONTEXT_INVALID_COMMANDLISTFLAGS",
	MessageCreateDeferredContextSingleThreaded:                "CREATEDEFERREDCONTEXT_SINGLETHREADED",
	MessageCreateDeferredContextOutOfMemoryReturn:             "CREATEDEFERREDCONTEXT_OUTOFMEMORY_RETURN",
	MessageFinishCommandListOnImmediateContext:                "FINISHDISPLAYLIST_ONIMMEDIATECONTEXT",
	MessageFinishCommandListOutOfMemoryReturn:                 "FINISHDISPLAYLIST_OUTOFMEMORY_RETURN",
	MessageFinishCommandListInvalidCallReturn:                 "FINISHDISPLAYLIST_INVALID_CALL_RETURN",
	MessageHSSetConstantBuffersInvalidBuffer:                  "HSSETCONSTANTBUFFERS_INVALIDBUFFER",
	MessageDSSetConstantBuffersInvalidBuffer:                  "DSSETCONSTANTBUFFERS_INVALIDBUFFER",
	MessageMapInvalidMapType:                                  "RESOURCE_MAP_INVALIDMAPTYPE",
	MessageMapInvalidSubresource:                              "RESOURCE_MAP_INVALIDSUBRESOURCE",
	MessageMapInvalidFlags:                                    "RESOURCE_MAP_INVALIDFLAGS",
	MessageMapAlreadyMapped:                                   "RESOURCE_MAP_ALREADYMAPPED",
	MessageMapOutOfMemoryReturn:                               "RESOURCE_MAP_OUTOFMEMORY_RETURN",
	MessageMapWithoutInitialDiscard:                           "RESOURCE_MAP_WITHOUT_INITIAL_DISCARD",
	MessageUnmapInvalidSubresource:                            "RESOURCE_UNMAP_INVALIDSUBRESOURCE",
	MessageUnmapNotMapped:                                     "RESOURCE_UNMAP_NOTMAPPED",
	MessageCSSetConstantBuffersInvalidBuffer:                  "CSSETCONSTANTBUFFERS_INVALIDBUFFER",
	MessageCreateBufferInvalidStructureStride:                 "CREATEBUFFER_INVALIDSTRUCTURESTRIDE",
	MessageCheckFormatSupportNotSupported:                     "CHECKFORMATSUPPORT_FORMAT_NOT_SUPPORTED",
	MessageCreateDeviceContextStateInvalidFlags:               "CREATEDEVICECONTEXTSTATE_INVALIDFLAGS",
	MessageUpdateSubresourceEmptyDestBox:                      "UPDATESUBRESOURCE_EMPTYDESTBOX",
	MessageCopySubresourceRegionEmptySourceBox:                "COPYSUBRESOURCEREGION_EMPTYSOURCEBOX",
	MessageDeviceRemoved:                                      "DEVICE_REMOVED",
	MessageInvalidObject:                                      "INVALID_OBJECT",
	MessageInvalidSlots:                                       "INVALID_SLOTS",
	MessageInvalidArgument:                                    "INVALID_ARGUMENT",
	MessageInvalidState:                                       "INVALID_STATE",
	MessageDriverFailed:                                       "DRIVER_FAILED",
	MessageExecuteCommandListMapped:                           "EXECUTECOMMANDLIST_MAPPED",
	MessageExecuteCommandListActiveQuery:                      "EXECUTECOMMANDLIST_ACTIVEQUERY",
	MessagePrivateDataNotFound:                                "GETPRIVATEDATA_NOTFOUND",
	MessageLeaveWithoutEnter:                                  "MULTITHREAD_LEAVE_WITHOUT_ENTER",
}

// String returns the name of the ID in d3d11sdklayers.h, without
// D3D11_MESSAGE_ID_.
func (id MessageID) String() string {
	if n, ok := messageNames[id]; ok {
		return n
	}
	return fmt.Sprintf("MessageID(%d)", uint32(id))
}
