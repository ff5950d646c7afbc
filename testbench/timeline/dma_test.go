package timeline_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/testbench/eventlog"
)

// The data of a packet is a slice from its first descriptor until it has ended or its node has stopped, and the flow of a submission that was taken back
// says so.
func TestDMA(t *testing.T) {
	at := func(time uint64, e eventlog.Event) eventlog.Event {
		e.Time = time
		return e
	}
	descriptor := func(packet, bytes uint64) eventlog.Event {
		return eventlog.New(eventlog.Descriptor, 1, packet, 0x100, 0x200, bytes, 0, 0)
	}
	log := logOf(t, eventlog.Header{Hz: 1e9, Observed: true},
		at(0, eventlog.New(eventlog.Open, 1e9, 1).WithText("emu")),
		at(100, eventlog.New(eventlog.Call, 1).WithText("Flush")),
		at(110, eventlog.New(eventlog.Queue, 1, 1, 7, 0x10, 0x1000, 0, 0x30).WithText("DxgkDdiRender")),
		at(120, eventlog.New(eventlog.Submit, 1)),
		at(300, descriptor(pkt.Host|0x1000, 4096)),
		at(400, descriptor(pkt.Host|0x1000, 64)),
		at(500, eventlog.New(eventlog.Executed, 1, pkt.Host|0x1000, uint64(pkt.OpCopy)<<24|5)),
		at(600, descriptor(pkt.Host|0x1018, 32)),
		at(700, eventlog.New(eventlog.Preempted, 1)),
		at(800, eventlog.New(eventlog.Queue, 2, 1, 8, 0x10, 0x1000, 0x18, 0x30).WithText("DxgkDdiRender")),
		at(810, eventlog.New(eventlog.Submit, 2)),
		at(900, descriptor(pkt.Host|0x1018, 16)),
		at(950, eventlog.New(eventlog.Executed, 1, pkt.Host|0x1018, uint64(pkt.OpCopy)<<24|5)),
		at(990, eventlog.New(eventlog.End)),
	)
	all, flows := check(t, written(t, log))
	assert.Equal(t, []span{{"4160 bytes, descriptors: 2", 300, 500}, {"32 bytes, descriptors: 1", 600, 700}, {"16 bytes, descriptors: 1", 900, 950}}, all["DMA/DMA of node 1"])
	for name := range all {
		assert.False(t, strings.HasPrefix(name, "DMA/") && name != "DMA/DMA of node 1", name)
	}
	var ends []any
	for _, steps := range flows {
		ends = append(ends, steps[len(steps)-1].Args["step"])
	}
	assert.ElementsMatch(t, []any{"preempted", "end"}, ends)
}
