package breaks

import (
	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

// stopping is a miniport whose reports of preemptions are changed, or left out if edit returns false.
func stopping(edit func(arg *kmddi.NotifyInterrupt) bool) change {
	return kernelCallbacks(func(cb *kmddi.DxgkrnlInterface) {
		notify := cb.NotifyInterrupt
		cb.NotifyInterrupt = func(t *ddi.Thread, h kmddi.HDxgkrnl, arg kmddi.NotifyInterrupt) {
			if arg.InterruptType != kmddi.InterruptDMAPreempted || edit(&arg) {
				notify(t, h, arg)
			}
		}
	})
}

// unqueued makes a miniport answer a preemption at once, and not call DxgkCbQueueDpc.
func unqueued(d *interrupted) {
	var last uint32
	kernelTable(d.DriverInitializationData, func(cb *kmddi.DxgkrnlInterface) {
		notify := cb.NotifyInterrupt
		cb.NotifyInterrupt = func(t *ddi.Thread, h kmddi.HDxgkrnl, arg kmddi.NotifyInterrupt) {
			if arg.InterruptType == kmddi.InterruptDMACompleted && arg.NodeOrdinal == 0 {
				last = arg.FenceID
			}
			notify(t, h, arg)
		}
	})
	d.PreemptCommand = func(t *ddi.Thread, _ kmddi.HAdapter, arg kmddi.PreemptCommand) ddi.Status {
		d.cb.SynchronizeExecution(t, d.cb.DeviceHandle, 0, func(t *ddi.Thread) bool {
			d.cb.NotifyInterrupt(t, d.cb.DeviceHandle, kmddi.NotifyInterrupt{
				InterruptType: kmddi.InterruptDMAPreempted, FenceID: arg.PreemptionFenceID, LastCompletedFenceID: last, NodeOrdinal: arg.NodeOrdinal,
			})
			return true
		})
		return ddi.StatusSuccess
	}
}

// preemptBreaks are mistakes with preemptions. The small drivers do not preempt.
func preemptBreaks() []Break {
	const command, notify = "DxgkDdiPreemptCommand", "DxgkCbNotifyInterrupt"
	broken := func(name string, pitfall int, mistake, doc, rule, function string, drivers change) Break {
		return Break{Name: name, Pitfall: pitfall, Mistake: mistake, Doc: doc, Rule: rule, Function: function, Own: true, Work: Late, Drivers: drivers}
	}
	return []Break{
		broken("preemption as the last completed fence", 2, preemptIdle, "The miniport reports the fence of the preemption as the last completed one.", "fence-reported", notify,
			stopping(func(arg *kmddi.NotifyInterrupt) bool {
				arg.LastCompletedFenceID = arg.FenceID
				return true
			})),
		broken("last completed fence too high", 2, preemptAhead, "The miniport reports the fence after the last completed one with a preemption.", "preempt-completed", notify,
			stopping(func(arg *kmddi.NotifyInterrupt) bool {
				arg.LastCompletedFenceID++
				return true
			})),
		broken("preemption ignored", 3, answerNone, "DxgkDdiPreemptCommand succeeds and does nothing.", "preempt-time-out", command,
			miniport(func(d *kmddi.DriverInitializationData) {
				d.PreemptCommand = func(*ddi.Thread, kmddi.HAdapter, kmddi.PreemptCommand) ddi.Status { return ddi.StatusSuccess }
			})),
		broken("answer of a preemption dropped", 3, answerLost, "The miniport does not report that a node has stopped.", "preempt-time-out", command,
			stopping(func(*kmddi.NotifyInterrupt) bool { return false })),
		broken("answer of a preemption without a DPC", 3, answerNoDpc, "DxgkDdiPreemptCommand reports that the node has stopped, and does not call DxgkCbQueueDpc.", "preempt-time-out", command, withCallbacks(unqueued)),
	}
}
