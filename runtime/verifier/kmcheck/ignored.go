package kmcheck

import (
	"fmt"
	"maps"
	"slices"

	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
	"github.com/hilgpu/hilgpu/runtime/verifier"
)

// engineTimeout is VIDEO_ENGINE_TIMEOUT_DETECTED, the reason of
// DxgkDdiCollectDbgInfo after a node has made no progress.
const engineTimeout = 0x141

// checkIgnored checks, when a node has timed out, that the driver told the device
// about the oldest submission. One that the driver has reported as faulted has not timed out.
func (k *Checker) checkIgnored(fr *frame) {
	if fr.args[1].(kmddi.CollectDbgInfo).Reason != engineTimeout {
		return
	}
	for _, node := range slices.Sorted(maps.Keys(k.queues)) {
		q := k.queues[node]
		if len(q.pending) == 0 || q.pending[0].empty || q.pending[0].fails || q.pending[0].writes != k.writes {
			continue
		}
		k.m.Report(verifier.Report{
			Rule: "submit-ignored", Thread: fr.t, Func: &verifier.Func{Name: "DxgkDdiSubmitCommand"},
			Text: fmt.Sprintf("node %d: fence %d timed out, and the driver has written no register since its submission (WRITE_REGISTER_ULONG); its %s",
				node, q.pending[0].fence, writersOf(q.pending[0])),
		})
		return
	}
}

// writersOf names the functions that wrote a buffer.
func writersOf(p pending) string {
	if p.flags.Paging {
		return "paging buffer was written by DxgkDdiBuildPagingBuffer"
	}
	return "DMA buffer was written by " + writerOf(p.writer, p.flags) + " and patched by " + patchFunction
}

// writerOf returns the function that wrote a buffer. If its call is not known, the flags of the
// submission tell.
func writerOf(w writing, f kmddi.SubmitFlags) string {
	switch {
	case w.function != "":
		return w.function
	case f.Present:
		return "DxgkDdiPresent"
	}
	return "DxgkDdiRender"
}
