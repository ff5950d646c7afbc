package vectors

import "github.com/hilgpu/hilgpu/rtl/abi/cpreg"

// Surfaces of the vectors: bytes at 0x100 with a pitch of 0x10, and at 0x1000 with a
// pitch of 0x20. Their clip rectangles are unlimited.
const (
	source = "03000007 0 100 0 10 0 0 40004000 "
	dest   = "03000007 1 1000 0 20 0 0 40004000 "
)

// rects are the vectors of docs/packets.md, SET_STATE, COPY_2D and FILL_2D.
var rects = []Vector{
	{Name: "SET_STATE with a surface that does not exist", Ring: "03000007 2 100 0 10 0 0 40004000", Fault: &Fault{Cause: cpreg.CauseReserved}},
	{Name: "SET_STATE with too much pitch", Ring: "03000007 0 100 0 100000 0 0 40004000", Fault: &Fault{Cause: cpreg.CauseReserved}},
	{Name: "SET_STATE with a reserved bit of the format", Ring: "03000007 0 100 0 10 8 0 40004000", Fault: &Fault{Cause: cpreg.CauseReserved}},
	{Name: "SET_STATE with a format that does not exist", Ring: "03000007 0 100 0 10 5 0 40004000", Fault: &Fault{Cause: cpreg.CauseState}},
	{Name: "SET_STATE with X0 out of range", Ring: "03000007 0 100 0 10 0 4001 40004000", Fault: &Fault{Cause: cpreg.CauseState}},
	{Name: "SET_STATE with Y1 out of range", Ring: "03000007 0 100 0 10 0 0 40014000", Fault: &Fault{Cause: cpreg.CauseState}},

	{Name: "FILL_2D", Ring: dest + "07000004 10002 20003 44332211 0", Retired: 2, After: "v1022=11 22 33; v1042=11 22 33"},
	{Name: "FILL_2D of elements of two bytes", Ring: "03000007 1 1000 0 20 1 0 40004000 07000004 1 10003 44332211 88776655", Retired: 2,
		After: "v1002=11 22 33 44 55 66"},
	{Name: "FILL_2D of elements of eight bytes", Ring: "03000007 1 1000 0 20 3 0 40004000 07000004 10001 10001 44332211 88776655", Retired: 2,
		After: "v1028=11 22 33 44 55 66 77 88"},
	{Name: "FILL_2D omits elements outside the clip", Ring: "03000007 1 1000 0 20 0 10001 20003 07000004 0 80008 11111111 11111111", Retired: 2,
		After: "v1021=11 11"},
	{Name: "FILL_2D with an empty clip", Ring: "03000007 1 1000 0 20 0 10001 20001 07000004 0 80008 11111111 11111111", Retired: 2},
	{Name: "FILL_2D of zero width", Ring: dest + "07000004 0 80000 11 0", Retired: 2},
	{Name: "FILL_2D of host memory", Ring: "03000007 1 80010000 80000001 20 0 0 40004000 07000004 1 10001 11 0", Retired: 2, After: "h10001=11"},
	{Name: "FILL_2D with a pitch of 0", Ring: "03000007 1 1000 0 0 0 0 40004000 07000004 0 40002 2211 0", Retired: 2, After: "v1000=11 22"},
	{Name: "FILL_2D before its surface", Ring: source + "07000004 0 10001 11 0", Retired: 1, Rptr: 8, Fault: &Fault{Cause: cpreg.CauseState, At: 8}},
	{Name: "FILL_2D of elements of 16 bytes", Ring: "03000007 1 1000 0 20 4 0 40004000 07000004 0 10001 11 0", Retired: 1, Rptr: 8,
		Fault: &Fault{Cause: cpreg.CauseState, At: 8}},
	{Name: "FILL_2D with a coordinate out of range", Ring: dest + "07000004 4001 10001 11 0", Retired: 1, Rptr: 8, Fault: &Fault{Cause: cpreg.CauseState, At: 8}},
	{Name: "FILL_2D of a surface beyond VRAM", Ring: "03000007 1 10000 0 20 0 0 40004000 07000004 0 10001 11 0", Retired: 1, Rptr: 8,
		Fault: &Fault{Cause: cpreg.CauseAddress, At: 8, Bad: 0x10000, Known: true}},
	{Name: "FILL_2D whose last row passes the end of VRAM writes nothing", Ring: "03000007 1 ffe0 0 10 0 0 40004000 07000004 0 30001 11 0", Retired: 1, Rptr: 8,
		Fault: &Fault{Cause: cpreg.CauseAddress, At: 8}},

	{Name: "COPY_2D", Ring: source + dest + "05000003 10001 2 20002", Retired: 3, After: "v1002=11 12; v1022=21 22"},
	{Name: "COPY_2D clipped by the source", Ring: "03000007 0 100 0 10 0 0 40000002 " + dest + "05000003 10001 2 20004", Retired: 3,
		After: "v1002=11; v1022=21"},
	{Name: "COPY_2D clipped by the destination", Ring: source + "03000007 1 1000 0 20 0 3 40004000 05000003 10001 2 20002", Retired: 3,
		After: "v1003=12; v1023=22"},
	{Name: "COPY_2D with disjoint clips", Ring: "03000007 0 100 0 10 0 20000 40004000 03000007 1 1000 0 20 0 3 14000 05000003 10001 2 40004", Retired: 3},
	{Name: "COPY_2D of elements of four bytes", Ring: "03000007 0 200 0 10 2 0 40004000 03000007 1 1000 0 20 2 0 40004000 05000003 1 0 10001", Retired: 3,
		After: "v1000=04 05 06 07"},
	{Name: "COPY_2D of elements of 16 bytes", Ring: "03000007 0 200 0 10 4 0 40004000 03000007 1 1000 0 20 4 0 40004000 05000003 10000 1 10001", Retired: 3,
		After: "v1010=10 11 12 13 14 15 16 17 18 19 1a 1b 1c 1d 1e 1f"},
	{Name: "COPY_2D with a source pitch of 0", Ring: "03000007 0 100 0 0 0 0 40004000 " + dest + "05000003 5 0 20002", Retired: 3,
		After: "v1000=05 06; v1020=05 06"},
	{Name: "COPY_2D between interleaved rows", Ring: "03000007 0 1003 0 20 0 0 40004000 03000007 1 1013 0 20 0 0 40004000 05000003 0 0 20004", Retired: 3,
		After: "v1013=03 04 05 06; v1033=23 24 25 26"},
	{Name: "COPY_2D from host memory", Ring: "03000007 0 80010000 80000001 10 0 0 40004000 " + dest + "05000003 10000 0 10002", Retired: 3, After: "v1000=ef ee"},
	{Name: "COPY_2D before its source", Ring: dest + "05000003 0 0 10001", Retired: 1, Rptr: 8, Fault: &Fault{Cause: cpreg.CauseState, At: 8}},
	{Name: "COPY_2D before its destination", Ring: source + "05000003 0 0 10001", Retired: 1, Rptr: 8, Fault: &Fault{Cause: cpreg.CauseState, At: 8}},
	{Name: "COPY_2D of two formats", Ring: source + "03000007 1 1000 0 20 1 0 40004000 05000003 0 0 10001", Retired: 2, Rptr: 16,
		Fault: &Fault{Cause: cpreg.CauseState, At: 16}},
	{Name: "COPY_2D from an unreadable source", Ring: "03000007 0 0 80000002 10 0 0 40004000 " + dest + "05000003 0 0 10001", Retired: 2, Rptr: 16,
		Fault: &Fault{Cause: cpreg.CauseReadError, At: 16, Bad: 0x8000_0002_0000_0000, Known: true}},
}
