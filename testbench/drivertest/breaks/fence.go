package breaks

import (
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

// notifies is a wrong use of DxgkCbNotifyInterrupt, which notify is.
func notifies(name string, pitfall int, doc, rule, function string, edit func(t *ddi.Thread, arg kmddi.NotifyInterrupt, notify func(kmddi.NotifyInterrupt))) Break {
	return Break{
		Name: name, Pitfall: pitfall, Doc: doc, Rule: rule, Function: function, Work: Draw, Seed: 2,
		Drivers: kernelCallbacks(func(cb *kmddi.DxgkrnlInterface) {
			f := cb.NotifyInterrupt
			cb.NotifyInterrupt = func(t *ddi.Thread, h kmddi.HDxgkrnl, arg kmddi.NotifyInterrupt) {
				edit(t, arg, func(arg kmddi.NotifyInterrupt) { f(t, h, arg) })
			}
		}),
	}
}

// fenceBreaks are mistakes with fences and interrupts.
func fenceBreaks() []Break {
	const notify = "DxgkCbNotifyInterrupt"
	simple := func(name string, pitfall int, doc, rule string, edit func(arg *kmddi.NotifyInterrupt)) Break {
		return notifies(name, pitfall, doc, rule, notify, func(_ *ddi.Thread, arg kmddi.NotifyInterrupt, notify func(kmddi.NotifyInterrupt)) {
			edit(&arg)
			notify(arg)
		})
	}
	held := notifies("fences out of order", 1, "The miniport holds a fence back and reports it after the next one.", "fence-reported", notify, nil)
	held.Drivers = kernelCallbacks(func(cb *kmddi.DxgkrnlInterface) {
		f := cb.NotifyInterrupt
		var first *kmddi.NotifyInterrupt
		cb.NotifyInterrupt = func(t *ddi.Thread, h kmddi.HDxgkrnl, arg kmddi.NotifyInterrupt) {
			f(t, h, arg)
			if first != nil {
				f(t, h, *first)
			}
			first = &arg
		}
	})
	wrapped := simple("fence of 31 bits", 28, "The miniport keeps 31 bits of a fence, which wraps around.", "fence-reported", func(arg *kmddi.NotifyInterrupt) { arg.FenceID &= 1<<31 - 1 })
	wrapped.Seed = 1
	lost := Break{
		Name: "interrupts ignored", Pitfall: 4, Doc: "The miniport does not handle interrupts, so only DxgkDdiQueryCurrentFence finds completed work.",
		Rule: "interrupt-ignored", Function: "DxgkDdiInterruptRoutine", Work: Draw,
		Drivers: miniport(func(d *kmddi.DriverInitializationData) {
			d.InterruptRoutine = func(*ddi.Thread, kmddi.HAdapter, uint32) bool { return false }
		}),
	}
	claimed := Break{
		Name: "interrupts claimed", Pitfall: 4, Doc: "The miniport claims interrupts and does nothing, so only DxgkDdiQueryCurrentFence finds completed work.",
		Rule: "interrupt-lost", Function: "DxgkDdiQueryCurrentFence", Work: Draw,
		Drivers: miniport(func(d *kmddi.DriverInitializationData) {
			d.InterruptRoutine = func(*ddi.Thread, kmddi.HAdapter, uint32) bool { return true }
		}),
	}
	guessed := Break{
		Name: "fence guessed", Pitfall: 1, Doc: "The miniport reports the fence that it submitted last, whatever the GPU has completed.",
		Rule: "fence-unseen", Function: notify, Work: Big,
	}
	guessed.Drivers = withSubmitted(func(arg kmddi.NotifyInterrupt, last uint32) kmddi.NotifyInterrupt {
		arg.FenceID = last
		return arg
	})
	unasked := simple("preemption reported", 2, "The miniport reports a preemption, which nothing asked for.", "fence-reported", func(arg *kmddi.NotifyInterrupt) { arg.InterruptType = 2 })
	unasked.Mistake = preemptAsked
	return []Break{
		notifies("fence twice", 4, "The miniport reports a fence twice.", "fence-twice", notify, func(_ *ddi.Thread, arg kmddi.NotifyInterrupt, notify func(kmddi.NotifyInterrupt)) {
			notify(arg)
			notify(arg)
		}),
		held, wrapped, lost, claimed, guessed,
		notifies("fence never reported", 4, "The miniport counts a fence as completed and does not report it.", "fence-query", "DxgkDdiQueryCurrentFence",
			func(*ddi.Thread, kmddi.NotifyInterrupt, func(kmddi.NotifyInterrupt)) {}),
		simple("fence not submitted", 1, "The miniport reports the fence after the last one.", "fence-reported", func(arg *kmddi.NotifyInterrupt) { arg.FenceID += 1000 }),
		simple("fence before the first", 1, "The miniport reports a fence that is 1 too small.", "fence-reported", func(arg *kmddi.NotifyInterrupt) { arg.FenceID-- }),
		simple("fence 0", 1, "The miniport reports the fence 0.", "fence-reported", func(arg *kmddi.NotifyInterrupt) { arg.FenceID = 0 }),
		simple("fence of no node", 29, "The miniport reports a fence of a node that does not exist.", "fence-reported", func(arg *kmddi.NotifyInterrupt) { arg.NodeOrdinal = 1 }),
		simple("fence of another engine", 29, "The miniport reports a fence of engine 1.", "interrupt-engine", func(arg *kmddi.NotifyInterrupt) { arg.EngineOrdinal = 1 }),
		simple("unknown type of interrupt", 0, "The miniport reports an interrupt of type 9.", "interrupt-type", func(arg *kmddi.NotifyInterrupt) { arg.InterruptType = 9 }),
		simple("type of interrupt 0", 0, "The miniport leaves the type of an interrupt 0.", "interrupt-type", func(arg *kmddi.NotifyInterrupt) { arg.InterruptType = 0 }),
		unasked,
		simple("status of a completed fence", 0, "The miniport gives a completed fence the status 1.", "interrupt-status", func(arg *kmddi.NotifyInterrupt) { arg.Status = 1 }),
		simple("fault of no fence", 0, "The miniport reports a fault of a fence that it was not given.", "fence-faulted", func(arg *kmddi.NotifyInterrupt) {
			arg.InterruptType, arg.FenceID = kmddi.InterruptDMAFaulted, arg.FenceID+1000
		}),
		{
			Name: "no QueueDpc", Pitfall: 5, Doc: "The miniport does not call DxgkCbQueueDpc after DxgkCbNotifyInterrupt.",
			Rule: "interrupt-dpc", Function: "DxgkDdiInterruptRoutine", Work: Draw, Drivers: kernelCallbacks(func(cb *kmddi.DxgkrnlInterface) {
				cb.QueueDpc = func(*ddi.Thread, kmddi.HDxgkrnl) bool { return true }
			}),
		},
		{
			Name: "QueueDpc first", Pitfall: 5, Doc: "The miniport calls DxgkCbQueueDpc before DxgkCbNotifyInterrupt.",
			Rule: "interrupt-dpc", Function: "DxgkDdiInterruptRoutine", Work: Draw, Drivers: kernelCallbacks(func(cb *kmddi.DxgkrnlInterface) {
				notify, queue := cb.NotifyInterrupt, cb.QueueDpc
				cb.NotifyInterrupt = func(t *ddi.Thread, h kmddi.HDxgkrnl, arg kmddi.NotifyInterrupt) {
					queue(t, h)
					notify(t, h, arg)
				}
				cb.QueueDpc = func(*ddi.Thread, kmddi.HDxgkrnl) bool { return true }
			}),
		},
		{
			Name: "no NotifyDpc", Pitfall: 5, Doc: "DxgkDdiDpcRoutine does nothing.",
			Rule: "dpc-notify", Function: "DxgkDdiDpcRoutine", Work: Draw, Drivers: miniport(func(d *kmddi.DriverInitializationData) {
				d.DpcRoutine = func(*ddi.Thread, kmddi.HAdapter) {}
			}),
		},
		{
			Name: "interrupt not claimed", Doc: "DxgkDdiInterruptRoutine returns FALSE for an interrupt that it reported.",
			Rule: "interrupt-claim", Function: "DxgkDdiInterruptRoutine", Work: Draw, Drivers: miniport(func(d *kmddi.DriverInitializationData) {
				f := d.InterruptRoutine
				d.InterruptRoutine = func(t *ddi.Thread, h kmddi.HAdapter, n uint32) bool {
					f(t, h, n)
					return false
				}
			}),
		},
		{
			Name: "fence reported at submission", Pitfall: 22, Mistake: emptyRender, Doc: "The miniport reports each fence in DxgkDdiSubmitCommand.",
			Rule: "fence-early", Function: notify, Work: Draw, Drivers: withCallbacks(func(d *interrupted) {
				f := d.SubmitCommand
				d.SubmitCommand = func(t *ddi.Thread, h kmddi.HAdapter, arg kmddi.SubmitCommand) ddi.Status {
					d.cb.SynchronizeExecution(t, d.cb.DeviceHandle, 0, func(t *ddi.Thread) bool {
						d.cb.NotifyInterrupt(t, d.cb.DeviceHandle, kmddi.NotifyInterrupt{
							InterruptType: kmddi.InterruptDMACompleted, FenceID: arg.SubmissionFenceID, NodeOrdinal: arg.NodeOrdinal,
						})
						return d.cb.QueueDpc(t, d.cb.DeviceHandle)
					})
					return f(t, h, arg)
				}
			}),
		},
		{
			Name: "submission without commands", Pitfall: 22, Mistake: emptyRender, Doc: "DxgkDdiSubmitCommand gives the GPU nothing and reports no fence.",
			Rule: "submit-ignored", Function: "DxgkDdiSubmitCommand", Work: Draw, Drivers: miniport(func(d *kmddi.DriverInitializationData) {
				d.SubmitCommand = func(*ddi.Thread, kmddi.HAdapter, kmddi.SubmitCommand) ddi.Status { return ddi.StatusSuccess }
			}),
		},
		{
			Name: "current fence refused", Pitfall: 4, Doc: "DxgkDdiQueryCurrentFence fails for a node that exists, and no interrupt is reported.",
			Rule: "call-failed", Function: "DxgkDdiQueryCurrentFence", Work: Draw, Drivers: miniport(func(d *kmddi.DriverInitializationData) {
				d.InterruptRoutine = func(*ddi.Thread, kmddi.HAdapter, uint32) bool { return false }
				d.QueryCurrentFence = func(*ddi.Thread, kmddi.HAdapter, kmddi.QueryCurrentFence) (kmddi.QueryCurrentFenceOut, ddi.Status) {
					return kmddi.QueryCurrentFenceOut{}, ddi.StatusInvalidParameter
				}
			}),
		},
		{
			Name: "current fence not submitted", Pitfall: 4, Own: true, Doc: "DxgkDdiQueryCurrentFence returns a fence that the node was not given.",
			Rule: "fence-reported", Function: "DxgkDdiQueryCurrentFence", Work: Recover, Drivers: miniport(func(d *kmddi.DriverInitializationData) {
				f := d.QueryCurrentFence
				d.QueryCurrentFence = func(t *ddi.Thread, h kmddi.HAdapter, arg kmddi.QueryCurrentFence) (kmddi.QueryCurrentFenceOut, ddi.Status) {
					out, s := f(t, h, arg)
					out.CurrentFence += 1000
					return out, s
				}
			}),
		},
	}
}

// withSubmitted changes what the miniport reports. last is the fence that it was
// given last.
func withSubmitted(edit func(arg kmddi.NotifyInterrupt, last uint32) kmddi.NotifyInterrupt) change {
	return miniport(func(d *kmddi.DriverInitializationData) {
		last := uint32(0)
		submit, start := d.SubmitCommand, d.StartDevice
		d.SubmitCommand = func(t *ddi.Thread, h kmddi.HAdapter, arg kmddi.SubmitCommand) ddi.Status {
			last = arg.SubmissionFenceID
			return submit(t, h, arg)
		}
		d.StartDevice = func(t *ddi.Thread, h kmddi.HAdapter, info kmddi.StartInfo, cb *kmddi.DxgkrnlInterface) (kmddi.StartDeviceOut, ddi.Status) {
			mine := *cb
			mine.NotifyInterrupt = func(t *ddi.Thread, h kmddi.HDxgkrnl, arg kmddi.NotifyInterrupt) {
				cb.NotifyInterrupt(t, h, edit(arg, last))
			}
			return start(t, h, info, &mine)
		}
	})
}
