package vectors

import "github.com/hilgpu/hilgpu/rtl/abi/cpreg"

// Beginnings of rings: an INDIRECT of Vector.Buffer, whose dword count follows, and
// two SET_WINDOWs of 0x100 bytes at 0x1000 of VRAM.
const (
	execute  = "02000003 80008000 80000001 "
	writable = "11000005 4 1000 0 100 0 "
	readable = "11000005 1 1000 0 100 0 "
)

// buffers are the vectors of docs/packets.md, INDIRECT.
var buffers = []Vector{
	{Name: "INDIRECT", Buffer: "06000005 100 0 1 11 0 01000000", Ring: execute + "7", Retired: 3, After: "v100=11"},
	{Name: "INDIRECT continues after the buffer", Buffer: "06000005 100 0 1 11 0", Ring: execute + "6 06000005 100 0 1 22 0", Retired: 3, After: "v100=22"},
	{Name: "empty INDIRECT", Ring: execute + "0", Retired: 1},
	{Name: "INDIRECT executes the given number of dwords", Buffer: "01000000 06000005 100 0 1 11 0", Ring: execute + "1", Retired: 2},
	{Name: "INDIRECT with a misaligned operand", Ring: "02000003 80008002 80000001 1", Fault: &Fault{Cause: cpreg.CauseAlign, Bad: 0x8000_0001_8000_8002, Known: true}},
	{Name: "INDIRECT with a reserved bit", Ring: execute + "200000", Fault: &Fault{Cause: cpreg.CauseReserved}},
	{Name: "INDIRECT with Resume, without preemption", Lacks: "preemption", Ring: execute + "100000", Fault: &Fault{Cause: cpreg.CauseReserved}},
	{Name: "INDIRECT past the end of VRAM", Ring: "02000003 fffc 0 2", Fault: &Fault{Cause: cpreg.CauseAddress, Bad: 0xfffc, Known: true}},
	{Name: "INDIRECT of an unreadable buffer", Ring: "02000003 0 80000002 6",
		Fault: &Fault{Cause: cpreg.CauseReadError, Left: 6, NoHeader: true, Addr: 0x8000_0002_0000_0000, Bad: 0x8000_0002_0000_0000, Known: true}},
	{Name: "INDIRECT in an indirect buffer", Buffer: execute + "1", Ring: execute + "4", Fault: &Fault{Cause: cpreg.CausePrivilege, InBuffer: true, Left: 4}},
	{Name: "FENCE in an indirect buffer", Buffer: "10000004 100 0 5 0", Ring: execute + "5", Fault: &Fault{Cause: cpreg.CausePrivilege, InBuffer: true, Left: 5}},
	{Name: "SET_WINDOW in an indirect buffer", Buffer: writable, Ring: execute + "6", Fault: &Fault{Cause: cpreg.CausePrivilege, InBuffer: true, Left: 6}},
	{Name: "SAVE_STATE in an indirect buffer", Buffer: "13000002 80010080 80000001", Ring: execute + "3", Fault: &Fault{Cause: cpreg.CausePrivilege, InBuffer: true, Left: 3}},
	{Name: "a fault in an indirect buffer keeps earlier effects", Buffer: "06000005 100 0 1 11 0 08000002 30 0 06000005 101 0 1 11 0",
		Ring: "01000000 " + execute + "f 01000000", Retired: 2, Rptr: 1, After: "v100=11",
		Fault: &Fault{Cause: cpreg.CauseRegister, InBuffer: true, At: 6, Left: 9, Bad: 0x30, Known: true}},
	{Name: "a buffer that ends inside a packet", Buffer: "01000000 06000005 100 0 1 11 0", Ring: execute + "6", Retired: 1,
		Fault: &Fault{Cause: cpreg.CauseLength, InBuffer: true, At: 1, Left: 5}},
	{Name: "PREDICATE skips to the end of a buffer", Before: "v100:0", Buffer: "0a000003 100 0 1 ffffffff", Ring: execute + "5 01000000", Retired: 3},
	{Name: "PREDICATE that skips past the end of a buffer", Before: "v100:1", Buffer: "0a000003 100 0 2 01000000", Ring: execute + "5",
		Fault: &Fault{Cause: cpreg.CauseLength, InBuffer: true, Left: 5}},

	{Name: "Resume skips finished pieces of a FILL", Progress: 1, Buffer: "06000005 1000 0 1002 44332211 88776655", Ring: execute + "100006", Retired: 2,
		After: "v2000=11 22"},
	{Name: "Resume skips finished pieces of a COPY", Progress: 2, Buffer: "04000005 80010000 80000001 1000 0 2003", Ring: execute + "100006", Retired: 2,
		After: "v3000=ff fe fd"},
	{Name: "Resume skips finished rows of a FILL_2D", Progress: 1, Buffer: "07000004 10002 30003 44332211 0", Ring: dest + execute + "100005", Retired: 3,
		After: "v1042=11 22 33; v1062=11 22 33"},
	{Name: "Resume skips finished rows of a COPY_2D", Progress: 1, Buffer: "05000003 10001 2 20002", Ring: source + dest + execute + "100004", Retired: 4,
		After: "v1022=21 22"},
	{Name: "Resume of a finished packet", Progress: 1, Buffer: "06000005 1000 0 1000 44332211 88776655", Ring: execute + "100006", Retired: 2},
	{Name: "Resume applies to the first packet only", Progress: 1, Buffer: "01000000 06000005 1000 0 2 44332211 88776655", Ring: execute + "100007", Retired: 3,
		After: "v1000=11 22"},
}

// windows are the vectors of docs/packets.md, SET_WINDOW.
var windows = []Vector{
	{Name: "SET_WINDOW without protection", Lacks: "protection", Ring: writable, Fault: &Fault{Cause: cpreg.CauseOpcode}},
	{Name: "SET_WINDOW with a reserved bit", Ring: "11000005 8 1000 0 100 0", Fault: &Fault{Cause: cpreg.CauseReserved}},
	{Name: "SET_WINDOW past the end of VRAM", Ring: "11000005 0 ff01 0 100 0", Fault: &Fault{Cause: cpreg.CauseAddress, Bad: 0xff01, Known: true}},
	{Name: "SET_WINDOW of all of VRAM", Ring: "11000005 0 0 0 10000 0", Retired: 1},
	{Name: "SET_WINDOW that closes a window may have any base", Ring: "11000005 0 ff01 7fffffff 0 0", Retired: 1},
	{Name: "a packet in the ring needs no window", Protect: true, Ring: "06000005 100 0 1 11 0", Retired: 1, After: "v100=11"},
	{Name: "without PROTECT no packet needs a window", Buffer: "06000005 100 0 1 11 0", Ring: execute + "6", Retired: 2, After: "v100=11"},
	{Name: "a guarded packet in a window", Protect: true, Buffer: "06000005 10fe 0 2 2211 0", Ring: writable + execute + "6", Retired: 3, After: "v10fe=11 22"},
	{Name: "a guarded packet without a window", Protect: true, Buffer: "06000005 1000 0 1 11 0", Ring: execute + "6",
		Fault: &Fault{Cause: cpreg.CauseWindow, InBuffer: true, Left: 6, Bad: 0x1000, Known: true}},
	{Name: "a guarded packet that leaves its window", Protect: true, Buffer: "06000005 10ff 0 2 11 0", Ring: writable + execute + "6", Retired: 1, Rptr: 6,
		Fault: &Fault{Cause: cpreg.CauseWindow, InBuffer: true, Left: 6, Bad: 0x10ff, Known: true}},
	{Name: "SIGNAL in an indirect buffer", Buffer: "0b000005 100 0 7 0 1", Ring: execute + "6", Retired: 2, After: "v100:7", Done: true},
	{Name: "a guarded SIGNAL in a writable window", Protect: true, Buffer: "0b000005 1008 0 7 0 0", Ring: writable + execute + "6", Retired: 3, After: "v1008:7"},
	{Name: "a guarded SIGNAL outside every window", Protect: true, Buffer: "0b000005 1100 0 7 0 1", Ring: writable + execute + "6", Retired: 1, Rptr: 6,
		Fault: &Fault{Cause: cpreg.CauseWindow, InBuffer: true, Left: 6, Bad: 0x1100, Known: true}},
	{Name: "a guarded packet in two adjacent windows", Protect: true, Buffer: "06000005 10ff 0 2 11 0", Ring: writable + "11000005 5 1100 0 100 0 " + execute + "6",
		Retired: 2, Rptr: 12, Fault: &Fault{Cause: cpreg.CauseWindow, InBuffer: true, Left: 6, Bad: 0x10ff, Known: true}},
	{Name: "a guarded packet reads in a window that is not writable", Protect: true, Buffer: "0a000003 1008 0 0 01000000", Ring: readable + execute + "5", Retired: 4},
	{Name: "a guarded packet writes in a window that is not writable", Protect: true, Buffer: "09000002 1008 0", Ring: readable + execute + "3", Retired: 1, Rptr: 6,
		Fault: &Fault{Cause: cpreg.CauseWindow, InBuffer: true, Left: 3, Bad: 0x1008, Known: true}},
	{Name: "a guarded COPY needs a window for both", Protect: true, Buffer: "04000005 2000 0 1000 0 1", Ring: writable + execute + "6", Retired: 1, Rptr: 6,
		Fault: &Fault{Cause: cpreg.CauseWindow, InBuffer: true, Left: 6, Bad: 0x2000, Known: true}},
	{Name: "a guarded FILL_2D to the end of its window", Protect: true, Buffer: "07000004 0 80020 11111111 11111111", Ring: writable + dest + execute + "5", Retired: 4,
		After: "v1000:" + row + row + row + row + row + row + row + row},
	{Name: "a guarded FILL_2D whose last row leaves its window", Protect: true, Buffer: "07000004 0 90020 11111111 11111111", Ring: writable + dest + execute + "5",
		Retired: 2, Rptr: 14, Fault: &Fault{Cause: cpreg.CauseWindow, InBuffer: true, Left: 5, Bad: 0x1000, Known: true}},
	{Name: "a closed window", Protect: true, Buffer: "06000005 1000 0 1 11 0", Ring: writable + "11000005 0 1000 0 0 0 " + execute + "6", Retired: 2, Rptr: 12,
		Fault: &Fault{Cause: cpreg.CauseWindow, InBuffer: true, Left: 6, Bad: 0x1000, Known: true}},
}

// row is 0x20 bytes of 0x11.
const row = " 1111111111111111 1111111111111111 1111111111111111 1111111111111111"

// save and load are a SAVE_STATE and a RESTORE_STATE at 0x10080 of host memory.
const (
	save = "13000002 80010080 80000001 "
	load = "14000002 80010080 80000001 "
)

// states are the vectors of docs/packets.md, SAVE_STATE and RESTORE_STATE.
var states = []Vector{
	{Name: "SAVE_STATE after a reset", Ring: save, Retired: 1, After: "h10080: 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0"},
	{Name: "SAVE_STATE", Progress: 9, Ring: "03000007 0 1000 0 40 2 10002 80010 03000007 1 80010000 80000001 fffff 4 0 40004000 " +
		"11000005 6 2000 0 30 0 11000005 1 80020000 80000001 8 1 " + save, Retired: 5,
		After: "h10080: 1000 8000000200000040 0008001000010002 8000000180010000 80000004000fffff 4000400000000000 0 0 8000000180020000 100000008 2000 8000000000000030 0 0 9"},
	{Name: "SAVE_STATE omits words of missing capabilities", Lacks: "protection", Ring: save, Retired: 1, After: "h10080: 0 0 0 0 0 0; h100f0: 0"},
	{Name: "SAVE_STATE without preemption", Lacks: "preemption", Ring: save, Retired: 1, After: "h10080: 0 0 0 0 0 0 0 0 0 0 0 0 0 0"},
	{Name: "SAVE_STATE with a misaligned operand", Ring: "13000002 80010040 80000001", Fault: &Fault{Cause: cpreg.CauseAlign, Bad: 0x8000_0001_8001_0040, Known: true}},
	{Name: "SAVE_STATE without contexts", Lacks: "contexts", Ring: save, Fault: &Fault{Cause: cpreg.CauseOpcode}},
	{Name: "RESTORE_STATE restores a saved state", Ring: dest + save + "03000007 1 3000 0 8 1 0 40004000 " + load + "07000004 1 10001 11 0", Retired: 5,
		After: "v1001=11; h10080: 0 0 0 1000 8000000000000020 4000400000000000 0 0 0 0 0 0 0 0 0"},
	{Name: "RESTORE_STATE unsets a surface", Before: "h10080: 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0", Ring: dest + load + "07000004 1 10001 11 0", Retired: 2, Rptr: 11,
		Fault: &Fault{Cause: cpreg.CauseState, At: 11}},
	{Name: "RESTORE_STATE opens windows", Protect: true, Before: "h10080: 0 0 0 0 0 0 1000 8000000000000100 0 0 0 0 0 0 0", Buffer: "06000005 10fe 0 2 2211 0",
		Ring: load + execute + "6", Retired: 3, After: "v10fe=11 22"},
	{Name: "RESTORE_STATE sets PROGRESS", Before: "h10080: 0 0 0 0 0 0 0 0 0 0 0 0 0 0 1", Buffer: "06000005 1000 0 1002 44332211 88776655",
		Ring: load + execute + "100006", Retired: 3, After: "v2000=11 22"},
	{Name: "RESTORE_STATE of a format that does not exist", Before: "h10080: 0 500000000 0 0 0 0 0 0 0 0 0 0 0 0 0", Ring: load,
		Fault: &Fault{Cause: cpreg.CauseState, Bad: 0x5_0000_0000, Known: true}},
	{Name: "RESTORE_STATE of a reserved bit", Before: "h10080: 0 800000000 0 0 0 0 0 0 0 0 0 0 0 0 0", Ring: load,
		Fault: &Fault{Cause: cpreg.CauseState, Bad: 0x8_0000_0000, Known: true}},
	{Name: "RESTORE_STATE of a coordinate out of range", Before: "h10080: 0 0 0 0 0 4001 0 0 0 0 0 0 0 0 0", Ring: load,
		Fault: &Fault{Cause: cpreg.CauseState, Bad: 0x4001, Known: true}},
	{Name: "RESTORE_STATE of a PROGRESS out of range", Before: "h10080: 0 0 0 0 0 0 0 0 0 0 0 0 0 0 200000", Ring: load,
		Fault: &Fault{Cause: cpreg.CauseState, Bad: 0x200000, Known: true}},
	{Name: "RESTORE_STATE ignores words of missing capabilities", Lacks: "preemption",
		Before: "h10080: 0 0 0 0 0 0 0 0 0 0 0 0 0 0 100000 ffffffff", Ring: load, Retired: 1},
	{Name: "RESTORE_STATE of an unreadable address", Ring: "14000002 0 80000002", Fault: &Fault{Cause: cpreg.CauseReadError, Bad: 0x8000_0002_0000_0000, Known: true}},
}
