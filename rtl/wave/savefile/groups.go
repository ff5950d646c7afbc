package savefile

import (
	"fmt"
	"slices"
)

// A group is a list of signals below the path at. A name may end in a slash and the view: dec
// for a decimal number, or the name of codes.
type group struct {
	title string
	at    string
	names []string
}

// groups returns all groups. Node 1 is the last, because a GPU may lack it.
func groups() []group {
	return slices.Concat([]group{{"clock", "gpu.", []string{"clk"}}}, node(0), shared(), node(1))
}

// shared returns the groups of what the nodes share.
func shared() []group {
	return []group{
		{"dma", "gpu.dma.", []string{
			"r_active", "from_addr", "from_left/dec", "w_active", "w_owner", "to_addr", "to_left/dec",
			"queue.count/dec", "waiting", "failed", "w_fault", "result", "owner", "broken",
		}},
		{"aperture", "gpu.gart.", []string{"enable", "flush", "state", "owner", "src", "dst", "left/dec", "result", "err"}},
		{"initiator_port", "gpu.", []string{
			"Initiator_req_Kind", "Initiator_req_Addr", "Initiator_req_Len/dec", "Initiator_req_Tag", "reqReady",
			"Initiator_beat_Valid", "Initiator_beat_Last", "Initiator_beat_Enable", "Initiator_beat_Data", "dataReady",
			"cpl_Status", "cpl_Tag", "cpl_Last", "cpl_Data",
			"initiator.owners_cur_Valid", "initiator.owners_cur_Source/writer", "initiator.flying", "initiator.late",
		}},
		{"target_port", "gpu.", []string{
			"req_Kind", "req_Addr", "req_Len/dec", "req_Tag", "Target_reqReady",
			"beat_Valid", "beat_Last", "beat_Enable", "beat_Data", "Target_dataReady",
			"Target_cpl_Status", "Target_cpl_Tag", "Target_cpl_Last", "Target_cpl_Data", "cplReady",
		}},
		{"registers", "gpu.", []string{
			"ask_Op", "ask_Off", "ask_Data", "pcie.state", "pcie.write", "pcie.addr", "pcie.status",
			"arbiter.req_Op", "arbiter.req_Off", "arbiter.owner", "perf.answer",
		}},
		{"refused_accesses", "gpu.", []string{"pcie.cause/access", "pcie.foreign", "arbiter.refused", "ident.errCount/dec", "ident.errInfo"}},
		{"interrupts", "gpu.intc.", []string{"status", "mask", "due", "sent", "vector", "asks", "arrives"}},
		{"watchdog", "gpu.watchdog.", []string{"limit/dec", "age0/dec", "age1/dec", "hang0", "hang1", "status"}},
		{"microcontroller", "gpu.mcu.", []string{
			"host_run", "core.state", "core.pc", "core.ir", "core.irq", "core.halted", "access_state", "access_fault", "host_hung",
		}},
	}
}

// node returns the groups of a node.
func node(n int) []group {
	cp, title := fmt.Sprintf("gpu.cp%d.", n), fmt.Sprintf("node%d_", n)
	return []group{
		{title + "states", cp, []string{
			"regs_run", "op", "ring_state", "decode_state", "walk_state", "issue_state", "sync_state", "sync_fence", "sync_waiting",
		}},
		{title + "ring", cp, []string{
			"ring_wptr/dec", "ring_rptr/dec", "ring_mask", "ring_fresh", "ring_inIB", "ring_ibDone/dec", "ring_ibEnd/dec",
			"ring_req_Kind", "ring_req_Addr", "ring_req_Len/dec",
		}},
		{title + "packet", cp, []string{
			"decode_opcode/opcode", "decode_left/dec", "regs_packets/dec", "file_src_set", "file_src_format/format",
			"file_dst_set", "file_dst_format/format", "walk_row", "walk_src", "walk_bytes/dec", "issue_sent/dec", "issue_inFlight/dec",
		}},
		{title + "faults", cp, []string{
			"regs_fault", "decode_cause/cause", "decode_bad", "ring_bad", "issue_readErr", "issue_writeErr", "sync_readErr",
		}},
		{title + "fences", fmt.Sprintf("gpu.fence%d.", n), []string{
			"state", "value", "timeline", "signal", "stamp", "refused", "result", "event",
		}},
	}
}
