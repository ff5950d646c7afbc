package breaks

import (
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

// infoBreaks are impossible descriptions of the adapter and of objects.
func infoBreaks() []Break {
	adapter := func(name string, pitfall int, doc string, edit func(out *kmddi.QueryAdapterInfoOut)) Break {
		return Break{
			Name: name, Pitfall: pitfall, Doc: doc, Rule: "adapter-info", Function: "DxgkDdiQueryAdapterInfo", Work: Start,
			Drivers: miniport(func(d *kmddi.DriverInitializationData) {
				f := d.QueryAdapterInfo
				d.QueryAdapterInfo = func(t *ddi.Thread, h kmddi.HAdapter, arg kmddi.QueryAdapterInfo) (kmddi.QueryAdapterInfoOut, ddi.Status) {
					out, s := f(t, h, arg)
					edit(&out)
					return out, s
				}
			}),
		}
	}
	context := func(name, doc string, edit func(out *kmddi.ContextInfo)) Break {
		return Break{
			Name: name, Doc: doc, Rule: "context-info", Function: "DxgkDdiCreateContext",
			Drivers: miniport(func(d *kmddi.DriverInitializationData) {
				f := d.CreateContext
				d.CreateContext = func(t *ddi.Thread, dev kmddi.HDevice, ctx kmddi.HContext, arg kmddi.CreateContext) (kmddi.ContextInfo, ddi.Status) {
					out, s := f(t, dev, ctx, arg)
					edit(&out)
					return out, s
				}
			}),
		}
	}
	allocation := func(name, doc string, edit func(out *kmddi.AllocationInfo)) Break {
		return Break{
			Name: name, Doc: doc, Rule: "allocation-info", Function: "DxgkDdiCreateAllocation",
			Drivers: miniport(func(d *kmddi.DriverInitializationData) {
				f := d.CreateAllocation
				d.CreateAllocation = func(t *ddi.Thread, h kmddi.HAdapter, a kmddi.HAllocation, arg kmddi.CreateAllocation) (kmddi.AllocationInfo, ddi.Status) {
					out, s := f(t, h, a, arg)
					edit(&out)
					return out, s
				}
			}),
		}
	}
	type caps = kmddi.QueryAdapterInfoOut
	out := []Break{
		adapter("no node", 0, "NumberOfNodes is 0.", func(o *caps) { o.DriverCaps.NumberOfNodes = 0 }),
		adapter("1000 nodes", 0, "NumberOfNodes is 1000.", func(o *caps) { o.DriverCaps.NumberOfNodes = 1000 }),
		adapter("paging on no node", 29, "PagingNode is a node that does not exist.", func(o *caps) { o.DriverCaps.PagingNode = 1 }),
		adapter("nodes without MultiEngineAware", 30, "The miniport has two nodes and no MultiEngineAware.", func(o *caps) { o.DriverCaps.NumberOfNodes = 2 }),
		adapter("empty queue", 0, "HwQueuePacketCap is 0.", func(o *caps) { o.DriverCaps.HwQueuePacketCap = 0 }),
		adapter("no acceptable address", 0, "HighestAcceptableAddress is 0.", func(o *caps) { o.DriverCaps.HighestAcceptableAddress = 0 }),
		adapter("wrong version", 0, "WDDMVersion is 0.", func(o *caps) { o.DriverCaps.WDDMVersion = 0 }),
		adapter("preemption claimed", 3, "PreemptionAware is claimed without DxgkDdiPreemptCommand.", func(o *caps) { o.DriverCaps.PreemptionAware = true }),
		adapter("reset of a node claimed", 30, "SupportPerEngineTDR is claimed without DxgkDdiResetEngine.", func(o *caps) { o.DriverCaps.SupportPerEngineTDR = true }),
		adapter("no segment", 0, "There is no segment.", func(o *caps) { o.Segments.Segments = nil }),
		adapter("empty segment", 0, "A segment has no bytes.", func(o *caps) { o.Segments.Segments[0].Size = 0 }),
		adapter("endless segment", 0, "A segment ends above 2^64.", func(o *caps) { o.Segments.Segments[0].Size = 1<<64 - 1; o.Segments.Segments[0].BaseAddress = 16 }),
		adapter("overlapping segments", 0, "Two segments overlap.", func(o *caps) { o.Segments.Segments[0].BaseAddress = o.Segments.Segments[1].BaseAddress }),
		adapter("segment outside its BAR", 0, "A segment visible to the CPU is after the end of its BAR.", func(o *caps) {
			o.Segments.Segments[0].Flags.CPUVisible, o.Segments.Segments[0].BAROffset = true, 1<<40
		}),
		adapter("segment of no BAR", 0, "A segment visible to the CPU is in BAR 9.", func(o *caps) {
			o.Segments.Segments[0].Flags.CPUVisible, o.Segments.Segments[0].BAR = true, 9
		}),
		adapter("segment between two pages", 0, "A segment begins 4 bytes after a page.", func(o *caps) { o.Segments.Segments[0].BaseAddress += 4 }),
		adapter("paging buffers of 0 bytes", 0, "PagingBufferSize is 0.", func(o *caps) { o.Segments.PagingBufferSize = 0 }),
		adapter("paging buffers of 6 bytes", 0, "PagingBufferSize is no multiple of 4.", func(o *caps) { o.Segments.PagingBufferSize = 6 }),
		adapter("paging buffers in VRAM", 0, "PagingBufferSegmentID is 1.", func(o *caps) { o.Segments.PagingBufferSegmentID = 1 }),
		context("DMA buffer of 0 bytes", "DmaBufferSize is 0.", func(o *kmddi.ContextInfo) { o.DmaBufferSize = 0 }),
		context("DMA buffer of 6 bytes", "DmaBufferSize is no multiple of 4.", func(o *kmddi.ContextInfo) { o.DmaBufferSize = 6 }),
		context("DMA buffer of 4 GiB", "DmaBufferSize is almost 2^32.", func(o *kmddi.ContextInfo) { o.DmaBufferSize = 1<<32 - 4 }),
		context("no allocation list", "AllocationListSize is 0.", func(o *kmddi.ContextInfo) { o.AllocationListSize = 0 }),
		context("no patch list", "PatchLocationListSize is 0.", func(o *kmddi.ContextInfo) { o.PatchLocationListSize = 0 }),
		context("huge private data", "DmaBufferPrivateDataSize is 2^31.", func(o *kmddi.ContextInfo) { o.DmaBufferPrivateDataSize = 1 << 31 }),
		allocation("allocation of 0 bytes", "Size is 0.", func(o *kmddi.AllocationInfo) { o.Size = 0 }),
		allocation("alignment of 3", "Alignment is no power of two.", func(o *kmddi.AllocationInfo) { o.Alignment = 3 }),
		allocation("allocation in no segment", "SupportedSegmentSet is empty.", func(o *kmddi.AllocationInfo) { o.SupportedSegmentSet = 0 }),
		allocation("allocation in segment 9", "SupportedSegmentSet has a segment that does not exist.", func(o *kmddi.AllocationInfo) { o.SupportedSegmentSet |= 1 << 8 }),
		allocation("segment 9 preferred", "PreferredSegment does not exist.", func(o *kmddi.AllocationInfo) { o.PreferredSegment = 9 }),
		allocation("preferred segment not supported", "PreferredSegment is not in SupportedSegmentSet.", func(o *kmddi.AllocationInfo) {
			o.PreferredSegment, o.SupportedSegmentSet = 1, 2
		}),
		{
			Name: "start refused", Doc: "DxgkDdiStartDevice fails although the device works.", Rule: "call-failed", Function: "DxgkDdiStartDevice", Work: Start,
			Drivers: miniport(func(d *kmddi.DriverInitializationData) {
				d.StartDevice = func(*ddi.Thread, kmddi.HAdapter, kmddi.StartInfo, *kmddi.DxgkrnlInterface) (kmddi.StartDeviceOut, ddi.Status) {
					return kmddi.StartDeviceOut{}, ddi.StatusUnsuccessful
				}
			}),
		},
		{
			Name: "capabilities refused", Doc: "DxgkDdiQueryAdapterInfo fails.", Rule: "call-failed", Function: "DxgkDdiQueryAdapterInfo", Work: Start,
			Drivers: miniport(func(d *kmddi.DriverInitializationData) {
				d.QueryAdapterInfo = func(*ddi.Thread, kmddi.HAdapter, kmddi.QueryAdapterInfo) (kmddi.QueryAdapterInfoOut, ddi.Status) {
					return kmddi.QueryAdapterInfoOut{}, ddi.StatusNotSupported
				}
			}),
		},
		{
			Name: "device without an object", Doc: "DxgkDdiCreateDevice does not set Driver.", Own: true, Rule: "handle-refused", Function: "DxgkDdiCreateContext", Work: Draw,
			Drivers: miniport(func(d *kmddi.DriverInitializationData) {
				d.CreateDevice = func(*ddi.Thread, kmddi.HAdapter, kmddi.HDevice, kmddi.CreateDevice) ddi.Status {
					return ddi.StatusSuccess
				}
			}),
		},
		{
			Name: "displays reported", Doc: "DxgkDdiStartDevice reports two displays.", Rule: "start-displays", Function: "DxgkDdiStartDevice", Work: Start,
			Drivers: miniport(func(d *kmddi.DriverInitializationData) {
				f := d.StartDevice
				d.StartDevice = func(t *ddi.Thread, h kmddi.HAdapter, info kmddi.StartInfo, cb *kmddi.DxgkrnlInterface) (kmddi.StartDeviceOut, ddi.Status) {
					_, s := f(t, h, info, cb)
					return kmddi.StartDeviceOut{NumberOfVideoPresentSources: 2, NumberOfChildren: 2}, s
				}
			}),
		},
	}
	return append(drawn(out...), tableBreaks()...)
}

// tableBreaks are tables of the miniport without a required function.
func tableBreaks() []Break {
	missing := func(name string, clear func(d *kmddi.DriverInitializationData)) Break {
		return Break{
			Name: "no " + name, Doc: "The miniport leaves " + name + " nil.", Rule: "miniport-table", Function: "DriverEntry", Work: Start, Drivers: miniport(clear),
		}
	}
	return []Break{
		missing("DxgkDdiRender", func(d *kmddi.DriverInitializationData) { d.Render = nil }),
		missing("DxgkDdiCollectDbgInfo", func(d *kmddi.DriverInitializationData) { d.CollectDbgInfo = nil }),
		missing("DxgkDdiInterruptRoutine", func(d *kmddi.DriverInitializationData) { d.InterruptRoutine = nil }),
		missing("DxgkDdiRestartFromTimeout", func(d *kmddi.DriverInitializationData) {
			d.ResetFromTimeout = func(*ddi.Thread, kmddi.HAdapter) ddi.Status { return ddi.StatusSuccess }
		}),
		missing("version", func(d *kmddi.DriverInitializationData) { d.Version = 0 }),
	}
}

// lateFence makes a miniport report a fence in the DPC after the reset of a node.
func lateFence(d *interrupted) {
	reset, dpc, last, due := d.ResetEngine, d.DpcRoutine, uint32(0), false
	d.ResetEngine = func(t *ddi.Thread, h kmddi.HAdapter, arg kmddi.ResetEngine) (kmddi.ResetEngineOut, ddi.Status) {
		out, s := reset(t, h, arg)
		last, due = out.LastAbortedFenceID, true
		d.cb.QueueDpc(t, d.cb.DeviceHandle)
		return out, s
	}
	d.DpcRoutine = func(t *ddi.Thread, h kmddi.HAdapter) {
		if due {
			due = false
			d.cb.SynchronizeExecution(t, d.cb.DeviceHandle, 0, func(t *ddi.Thread) bool {
				d.cb.NotifyInterrupt(t, d.cb.DeviceHandle, kmddi.NotifyInterrupt{InterruptType: kmddi.InterruptDMACompleted, FenceID: last + 1})
				return true
			})
		}
		dpc(t, h)
	}
}

// firstFences makes a miniport report what was preempted with its first fence.
func firstFences(d *kmddi.DriverInitializationData) {
	submit, buffers, first := d.SubmitCommand, map[*byte]uint32{}, map[uint32]uint32{}
	d.SubmitCommand = func(t *ddi.Thread, h kmddi.HAdapter, arg kmddi.SubmitCommand) ddi.Status {
		buffer := &arg.DmaBufferPrivateData[0]
		if arg.Flags.Resubmission {
			first[arg.SubmissionFenceID] = buffers[buffer]
		}
		buffers[buffer] = arg.SubmissionFenceID
		return submit(t, h, arg)
	}
	kernelTable(d, func(cb *kmddi.DxgkrnlInterface) {
		notify := cb.NotifyInterrupt
		cb.NotifyInterrupt = func(t *ddi.Thread, h kmddi.HDxgkrnl, arg kmddi.NotifyInterrupt) {
			if old, ok := first[arg.FenceID]; ok && arg.InterruptType == kmddi.InterruptDMACompleted {
				arg.FenceID = old
			}
			notify(t, h, arg)
		}
	})
}

// nodeBreaks are mistakes in the reset of a node, and in what is submitted again.
func nodeBreaks() []Break {
	own := func(name string, pitfall int, doc, rule, function string, drivers change) Break {
		return Break{Name: name, Pitfall: pitfall, Doc: doc, Rule: rule, Function: function, Own: true, Work: Reset, Drivers: drivers}
	}
	resubmission := own("resubmission with its first fence", 27, "The miniport reports the fence of the first submission when a preempted one ends.", "fence-reported", "DxgkCbNotifyInterrupt",
		miniport(firstFences))
	resubmission.Work = Late
	return []Break{
		own("aborted fence that was not submitted", 25, "DxgkDdiResetEngine returns a fence that the node was not given.", "reset-fence", "DxgkDdiResetEngine",
			miniport(func(d *kmddi.DriverInitializationData) {
				f := d.ResetEngine
				d.ResetEngine = func(t *ddi.Thread, h kmddi.HAdapter, arg kmddi.ResetEngine) (kmddi.ResetEngineOut, ddi.Status) {
					out, s := f(t, h, arg)
					out.LastAbortedFenceID += 1000
					return out, s
				}
			})),
		own("fence reported after a reset", 25, "The miniport reports a fence that was lost in the reset after DxgkDdiResetEngine.", "reset-interrupt", "DxgkCbNotifyInterrupt", withCallbacks(lateFence)),
		resubmission,
	}
}

// resetBreaks are mistakes after a time-out.
func resetBreaks() []Break {
	own := func(name string, pitfall int, doc, rule, function string, edit func(d *kmddi.DriverInitializationData)) Break {
		return Break{Name: name, Pitfall: pitfall, Doc: doc, Rule: rule, Function: function, Own: true, Work: Recover, Drivers: miniport(edit)}
	}
	length := func(n func(buffer []byte) int) func(d *kmddi.DriverInitializationData) {
		return func(d *kmddi.DriverInitializationData) {
			d.CollectDbgInfo = func(_ *ddi.Thread, _ kmddi.HAdapter, arg kmddi.CollectDbgInfo) (kmddi.CollectDbgInfoOut, ddi.Status) {
				return kmddi.CollectDbgInfoOut{Length: n(arg.Buffer)}, ddi.StatusSuccess
			}
		}
	}
	return []Break{
		own("too much debug information", 0, "DxgkDdiCollectDbgInfo returns a length of one more than the buffer.", "debug-length", "DxgkDdiCollectDbgInfo", length(func(b []byte) int { return len(b) + 1 })),
		own("negative debug information", 0, "DxgkDdiCollectDbgInfo returns a length of -1.", "debug-length", "DxgkDdiCollectDbgInfo", length(func([]byte) int { return -1 })),
		own("transfer of 0 bytes refused", 25, "DxgkDdiBuildPagingBuffer refuses a TRANSFER of 0 bytes after a reset.", "paging-result", "DxgkDdiBuildPagingBuffer", func(d *kmddi.DriverInitializationData) {
			f := d.BuildPagingBuffer
			d.BuildPagingBuffer = func(t *ddi.Thread, h kmddi.HAdapter, arg kmddi.BuildPagingBuffer) (kmddi.BuildPagingBufferOut, ddi.Status) {
				if arg.Size == 0 {
					return kmddi.BuildPagingBufferOut{}, ddi.StatusInvalidParameter
				}
				return f(t, h, arg)
			}
		}),
	}
}
