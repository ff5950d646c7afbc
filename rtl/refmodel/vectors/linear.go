package vectors

import "github.com/hilgpu/hilgpu/rtl/abi/cpreg"

// headers are the vectors of docs/packets.md, "Packets", "Opcodes" and NOP.
var headers = []Vector{
	{Name: "NOP", Ring: "01000000", Retired: 1},
	{Name: "NOP skips its body", Ring: "01000003 06000005 10000004 ffffffff 01000000", Retired: 2},
	{Name: "opcode 0", Ring: "00000000", Fault: &Fault{Cause: cpreg.CauseOpcode}},
	{Name: "an opcode that is not in the table", Ring: "01000000 0c000000", Retired: 1, Rptr: 1, Fault: &Fault{Cause: cpreg.CauseOpcode, At: 1}},
	{Name: "opcode 0xff", Ring: "ff000000", Fault: &Fault{Cause: cpreg.CauseOpcode}},
	{Name: "lowest reserved bit of the header", Ring: "01010000", Fault: &Fault{Cause: cpreg.CauseReserved}},
	{Name: "highest reserved bit of the header", Ring: "01800000", Fault: &Fault{Cause: cpreg.CauseReserved}},
	{Name: "a body that is too short", Ring: "06000004 100 0 8 0 0", Fault: &Fault{Cause: cpreg.CauseLength}},
	{Name: "a body that is too long", Ring: "06000006 100 0 8 0 0 0", Fault: &Fault{Cause: cpreg.CauseLength}},
	{Name: "nothing executes after a fault", Ring: "01000000 06000005 10000 0 1 0 0 06000005 100 0 1 11 0 01000000", Retired: 1, Rptr: 1,
		Fault: &Fault{Cause: cpreg.CauseAddress, At: 1, Bad: 0x10000, Known: true}},
}

// linear are the vectors of docs/packets.md, COPY and FILL.
var linear = []Vector{
	{Name: "FILL, the lowest byte first", Ring: "06000005 100 0 8 44332211 88776655", Retired: 1, After: "v100=11 22 33 44 55 66 77 88"},
	{Name: "FILL of three bytes", Ring: "06000005 100 0 3 44332211 88776655", Retired: 1, After: "v100=11 22 33"},
	{Name: "FILL starts with the lowest byte at any address and repeats after eight bytes", Ring: "06000005 103 0 a 44332211 88776655", Retired: 1,
		After: "v103=11 22 33 44 55 66 77 88 11 22"},
	{Name: "empty FILL", Ring: "06000005 100 0 0 44332211 88776655", Retired: 1},
	{Name: "FILL of host memory", Ring: "06000005 80010001 80000001 2 44332211 0", Retired: 1, After: "h10001=11 22"},
	{Name: "FILL of the last byte of VRAM", Ring: "06000005 ffff 0 1 11 0", Retired: 1, After: "vffff=11"},
	{Name: "FILL past the end of VRAM", Ring: "06000005 ffff 0 2 11 0", Fault: &Fault{Cause: cpreg.CauseAddress, Bad: 0xffff, Known: true}},
	{Name: "FILL beyond VRAM", Ring: "06000005 10000 0 1 11 0", Fault: &Fault{Cause: cpreg.CauseAddress, Bad: 0x10000, Known: true}},
	{Name: "FILL beyond the host addresses", Ring: "06000005 0 80000100 1 11 0",
		Fault: &Fault{Cause: cpreg.CauseAddress, Bad: 0x8000_0100_0000_0000, Known: true}},
	{Name: "FILL past the end of the host addresses", Ring: "06000005 ffffffff 800000ff 2 11 0",
		Fault: &Fault{Cause: cpreg.CauseAddress, Bad: 0x8000_00ff_ffff_ffff, Known: true}},
	{Name: "FILL longer than the length field", Ring: "06000005 0 0 100000 11 0", Fault: &Fault{Cause: cpreg.CauseLength}},
	{Name: "FILL of the maximum length, larger than VRAM", Ring: "06000005 100 0 fffff 11 0",
		Fault: &Fault{Cause: cpreg.CauseAddress, Bad: 0x100, Known: true}},

	{Name: "COPY", Ring: "04000005 100 0 200 0 5", Retired: 1, After: "v200=00 01 02 03 04"},
	{Name: "COPY of any alignment", Ring: "04000005 103 0 205 0 5", Retired: 1, After: "v205=03 04 05 06 07"},
	{Name: "COPY to host memory", Ring: "04000005 110 0 80010000 80000001 4", Retired: 1, After: "h10000=10 11 12 13"},
	{Name: "COPY from host memory", Ring: "04000005 80010020 80000001 300 0 4", Retired: 1, After: "v300=df de dd dc"},
	{Name: "COPY in host memory", Ring: "04000005 80010010 80000001 80010103 80000001 3", Retired: 1, After: "h10103=ef ee ed"},
	{Name: "empty COPY", Ring: "04000005 100 0 200 0 0", Retired: 1},
	{Name: "COPY between adjacent ranges", Ring: "04000005 100 0 104 0 4", Retired: 1, After: "v104=00 01 02 03"},
	{Name: "COPY reads what the previous packet wrote", Ring: "06000005 100 0 2 bbaa 0 04000005 100 0 200 0 3", Retired: 2,
		After: "v100=aa bb; v200=aa bb 02"},
	{Name: "COPY from beyond VRAM", Ring: "04000005 10000 0 200 0 1", Fault: &Fault{Cause: cpreg.CauseAddress, Bad: 0x10000, Known: true}},
	{Name: "COPY past the end of VRAM", Ring: "04000005 100 0 fffd 0 4", Fault: &Fault{Cause: cpreg.CauseAddress, Bad: 0xfffd, Known: true}},
	{Name: "COPY longer than the length field", Ring: "04000005 0 0 80010000 80000001 100000", Fault: &Fault{Cause: cpreg.CauseLength}},
	{Name: "COPY from an unreadable source", Ring: "04000005 0 80000002 200 0 10",
		Fault: &Fault{Cause: cpreg.CauseReadError, Bad: 0x8000_0002_0000_0000, Known: true}},
}

// marks are the vectors of docs/packets.md, WRITE_REG, TIMESTAMP and PREDICATE.
var marks = []Vector{
	{Name: "WRITE_REG of the first register", Ring: "08000002 20 12345678", Retired: 1, Scratch: [4]uint32{0x12345678}},
	{Name: "WRITE_REG of the last register", Ring: "08000002 2c 9", Retired: 1, Scratch: [4]uint32{3: 9}},
	{Name: "WRITE_REG before the first register", Ring: "08000002 1c 9", Fault: &Fault{Cause: cpreg.CauseRegister, Bad: 0x1c, Known: true}},
	{Name: "WRITE_REG after the last register", Ring: "08000002 30 9", Fault: &Fault{Cause: cpreg.CauseRegister, Bad: 0x30, Known: true}},
	{Name: "WRITE_REG inside a register", Ring: "08000002 22 9", Fault: &Fault{Cause: cpreg.CauseAlign, Bad: 0x22, Known: true}},
	{Name: "WRITE_REG with a reserved bit", Ring: "08000002 10020 9", Fault: &Fault{Cause: cpreg.CauseReserved}},

	{Name: "TIMESTAMP", Ring: "09000002 100 0", Retired: 1, Stamp: "v100"},
	{Name: "TIMESTAMP in host memory", Ring: "09000002 80010008 80000001", Retired: 1, Stamp: "h10008"},
	{Name: "TIMESTAMP with a misaligned operand", Ring: "09000002 104 0", Fault: &Fault{Cause: cpreg.CauseAlign, Bad: 0x104, Known: true}},
	{Name: "TIMESTAMP beyond VRAM", Ring: "09000002 10000 0", Fault: &Fault{Cause: cpreg.CauseAddress, Bad: 0x10000, Known: true}},

	{Name: "PREDICATE skips at 0", Before: "v100:0", Ring: "0a000003 100 0 6 06000005 200 0 1 11 0 01000000", Retired: 2},
	{Name: "PREDICATE executes at another value", Before: "v100:1", Ring: "0a000003 100 0 6 06000005 200 0 1 11 0 01000000", Retired: 3, After: "v200=11"},
	{Name: "PREDICATE reads all 64 bits", Before: "v100:0100000000000000", Ring: "0a000003 100 0 6 06000005 200 0 1 11 0", Retired: 2, After: "v200=11"},
	{Name: "PREDICATE with NonZero executes at 0", Before: "v100:0", Ring: "0a000003 100 0 10006 06000005 200 0 1 11 0", Retired: 2, After: "v200=11"},
	{Name: "PREDICATE with NonZero skips", Before: "v100:8000", Ring: "0a000003 100 0 10006 06000005 200 0 1 11 0", Retired: 1},
	{Name: "PREDICATE does not check skipped dwords", Before: "h10000:0", Ring: "0a000003 80010000 80000001 2 ffffffff 0 01000000", Retired: 2},
	{Name: "PREDICATE sees earlier writes", Before: "v100:0", Ring: "06000005 107 0 1 1 0 0a000003 100 0 6 06000005 200 0 1 11 0", Retired: 3,
		After: "v107=01; v200=11"},
	{Name: "PREDICATE with a misaligned operand", Ring: "0a000003 104 0 0", Fault: &Fault{Cause: cpreg.CauseAlign, Bad: 0x104, Known: true}},
	{Name: "PREDICATE with a reserved bit", Ring: "0a000003 100 0 20000", Fault: &Fault{Cause: cpreg.CauseReserved}},
	{Name: "PREDICATE beyond VRAM", Ring: "0a000003 10000 0 0", Fault: &Fault{Cause: cpreg.CauseAddress, Bad: 0x10000, Known: true}},
	{Name: "PREDICATE of an unreadable address", Ring: "0a000003 8 80000002 0",
		Fault: &Fault{Cause: cpreg.CauseReadError, Bad: 0x8000_0002_0000_0008, Known: true}},
}

// fences are the vectors of docs/packets.md, SIGNAL, FENCE and WAIT_FENCE.
var fences = []Vector{
	{Name: "SIGNAL", Fence: 3, Ring: "0b000005 100 0 89abcdef 1234567 0", Retired: 1, After: "v100:123456789abcdef"},
	{Name: "SIGNAL with IRQ", Ring: "0b000005 80010008 80000001 5 0 1", Retired: 1, After: "h10008:5", Done: true},
	{Name: "SIGNAL of a smaller value than FENCE", Fence: 9, Ring: "0b000005 100 0 4 0 1", Retired: 1, After: "v100:4", Done: true},
	{Name: "SIGNAL with a misaligned operand", Ring: "0b000005 104 0 1 0 0", Fault: &Fault{Cause: cpreg.CauseAlign, Bad: 0x104, Known: true}},
	{Name: "SIGNAL with a reserved bit", Ring: "0b000005 100 0 1 0 2", Fault: &Fault{Cause: cpreg.CauseReserved}},
	{Name: "SIGNAL beyond the host addresses", Ring: "0b000005 0 80000100 1 0 0", Fault: &Fault{Cause: cpreg.CauseAddress, Bad: 0x8000_0100_0000_0000, Known: true}},
	{Name: "SIGNAL on a device without it", Lacks: "signal", Ring: "0b000005 100 0 1 0 0", Fault: &Fault{Cause: cpreg.CauseOpcode}},
	{Name: "FENCE", Fence: 3, Ring: "10000004 100 0 5 0", Retired: 1, After: "v100:5", Fenced: 5},
	{Name: "FENCE with IRQ", Ring: "10000004 80010008 80000001 5 1", Retired: 1, After: "h10008:5", Fenced: 5, Done: true},
	{Name: "FENCE with the ID of the last fence", Fence: 5, Ring: "10000004 100 0 5 0", Retired: 1, After: "v100:5"},
	{Name: "FENCE that goes backwards", Fence: 5, Ring: "10000004 100 0 4 1", Fault: &Fault{Cause: cpreg.CauseFence, Bad: 4, Known: true}},
	{Name: "FENCE of the maximum step forwards", Fence: 5, Ring: "10000004 100 0 80000004 0", Retired: 1, After: "v100:80000004", Fenced: 0x80000004},
	{Name: "FENCE more than half the ID range ahead", Fence: 5, Ring: "10000004 100 0 80000005 0",
		Fault: &Fault{Cause: cpreg.CauseFence, Bad: 0x80000005, Known: true}},
	{Name: "FENCE that wraps increments the high half", Fence: 0x2_ffff_ffff, Ring: "10000004 100 0 1 0", Retired: 1, After: "v100:300000001", Fenced: 0x3_0000_0001},
	{Name: "FENCE that wraps, without a timeline", Lacks: "timeline", Fence: 0xffff_ffff, Ring: "10000004 100 0 1 0", Retired: 1, After: "v100:1", Fenced: 1},
	{Name: "FENCE with a misaligned operand", Ring: "10000004 104 0 1 0", Fault: &Fault{Cause: cpreg.CauseAlign, Bad: 0x104, Known: true}},
	{Name: "FENCE with a reserved bit", Ring: "10000004 100 0 1 2", Fault: &Fault{Cause: cpreg.CauseReserved}},
	{Name: "FENCE beyond the host addresses", Ring: "10000004 0 80000100 1 0", Fault: &Fault{Cause: cpreg.CauseAddress, Bad: 0x8000_0100_0000_0000, Known: true}},

	{Name: "WAIT_FENCE for a value already reached", Fence: 5, Ring: "12000003 0 5 0", Retired: 1},
	{Name: "WAIT_FENCE for its own fence", Ring: "10000004 100 0 7 0 12000003 0 7 0", Retired: 2, After: "v100:7", Fenced: 7},
	{Name: "WAIT_FENCE for 0 of the other node", Ring: "12000003 1 0 0", Retired: 1},
	{Name: "WAIT_FENCE for a value not reached", Fence: 5, Ring: "01000000 12000003 0 6 0 01000000", Retired: 1, Waits: true, Rptr: 1},
	{Name: "WAIT_FENCE compares the high half", Fence: 0xffff_fff0, Ring: "12000003 0 0 1", Waits: true},
	{Name: "WAIT_FENCE for a node that does not exist", Lacks: "nodes", Ring: "12000003 1 0 0", Fault: &Fault{Cause: cpreg.CauseState, Bad: 1, Known: true}},
	{Name: "WAIT_FENCE with a reserved bit", Ring: "12000003 2 0 0", Fault: &Fault{Cause: cpreg.CauseReserved}},
	{Name: "WAIT_FENCE without a timeline", Lacks: "timeline", Ring: "12000003 0 0 0", Fault: &Fault{Cause: cpreg.CauseOpcode}},
}
