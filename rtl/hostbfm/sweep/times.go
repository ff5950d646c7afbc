package sweep

import (
	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/rtl/abi/perfreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/rtl/abi/wdogreg"
	"github.com/hilgpu/hilgpu/rtl/hostbfm"
)

// times returns the sweeps of blocks that count.
func times() []Sweep {
	return []Sweep{
		{
			Name: "watchdog", Why: "LIMIT or STATUS is written, or the node continues, as a node reaches the limit",
			Needs: caps.Watchdog | caps.Timeline, Cases: 3, Distances: 20, before: (*host).listen, meet: hung,
		},
		{
			Name: "long wait", Why: "a node reaches a limit that needs many bits of its age",
			Needs: caps.Watchdog | caps.Timeline, Cases: 1, Distances: 2, before: (*host).listen, meet: waitedLong,
		},
		{
			Name: "counters", Why: "counters are stopped, cleared and copied in each clock of a packet",
			Needs: caps.Counters, Cases: 2, Distances: 24, before: (*host).rest, meet: counted,
		},
		{
			Name: "captured error", Why: "the captured error is read or cleared as another access is refused",
			Cases: 2, Distances: 12, before: (*host).rest, meet: captured,
		},
	}
}

// hung makes node 0 wait for a fence of its own until the watchdog reports it.
func hung(h *host, which, at int) {
	const limit = 24
	h.SetReg(wdogreg.Base+wdogreg.Limit, limit)
	h.submit(0, pkt.WaitFence{Node: 0, Value: 1 << 60})
	h.drain()
	h.step(at)
	switch which {
	case 0:
		h.SetReg(wdogreg.Base+wdogreg.Limit, limit/2)
	case 1:
		h.SetReg(wdogreg.Base+wdogreg.Status, wdogreg.Hang0)
	default:
		h.start(0)
	}
	h.look(wdogreg.Base+wdogreg.Status, wdogreg.Base+wdogreg.Limit, status)
	h.drain()
	h.step(2 * limit)
	h.SetReg(wdogreg.Base+wdogreg.Status, wdogreg.Hang0)
	h.start(0)
	h.calm()
}

// waitedLong makes the nodes that exist wait for a fence, one after the other.
func waitedLong(h *host, _, at int) {
	const limit = 1<<12 + 20
	n := at % h.config.Nodes
	h.SetReg(wdogreg.Base+wdogreg.Limit, limit)
	h.submit(n, pkt.WaitFence{Node: uint8(n), Value: 1 << 60})
	h.drain()
	h.step(limit + 10)
	h.look(wdogreg.Base + wdogreg.Status)
	h.start(n)
	h.calm()
}

// counted controls the counters while a fill executes.
func counted(h *host, which, at int) {
	h.SetReg(perfreg.Base+perfreg.Ctl, perfreg.CtlRun|perfreg.CtlClear)
	h.submit(0, pkt.Fill{Dst: data(dataFrom + 3), Bytes: 77})
	h.drain()
	h.step(at)
	if which == 0 {
		h.SetReg(perfreg.Base+perfreg.Ctl, perfreg.CtlSnapshot)
	} else {
		h.SetReg(perfreg.Base+perfreg.Ctl, perfreg.CtlSnapshot|perfreg.CtlClear|perfreg.CtlRun)
	}
	h.look(perfreg.Base+perfreg.Cycles, perfreg.Base+perfreg.Node+perfreg.Bytes, perfreg.Base+perfreg.Node+perfreg.Packets)
	h.settle()
}

// captured makes refused accesses, one after the other.
func captured(h *host, which, at int) {
	const unmapped = idreg.Size - 4
	h.look(unmapped)
	if which == 0 {
		h.SetReg(idreg.ErrCount, 0)
	} else {
		h.SetReg(idreg.ErrInfo, 0)
	}
	h.step(at)
	h.Queue(hostbfm.Write(nowhere+4, make([]byte, 8)), hostbfm.Write(bar0+idreg.Scratch0+1, []byte{1, 2}))
	h.look(idreg.ErrInfo, idreg.ErrAddrLo, idreg.ErrAddrHi, idreg.ErrCount)
	h.settle()
}
