package pkt

// The functions here read the fields of a packet that Next has checked. p starts
// with the header.

func dword(p []byte, i int) uint32 { return le.Uint32(p[4*i:]) }

func qword(p []byte, i int) uint64 { return le.Uint64(p[4*i:]) }

func unpair(v uint32) (lo, hi uint16) { return uint16(v), uint16(v >> 16) }

func parseNOP(p []byte) NOP { return NOP{Skip: uint16(dword(p, 0))} }

func parseIndirect(p []byte) Indirect {
	v := dword(p, 3)
	return Indirect{Addr: qword(p, 1), Dwords: v & MaxIndirect, Resume: v>>20 != 0}
}

func parseSetState(p []byte) SetState {
	s := SetState{Surface: Surface(dword(p, 1)), Base: qword(p, 2), Pitch: dword(p, 4), Format: Format(dword(p, 5))}
	s.X0, s.Y0 = unpair(dword(p, 6))
	s.X1, s.Y1 = unpair(dword(p, 7))
	return s
}

func parseCopy(p []byte) Copy {
	return Copy{Src: qword(p, 1), Dst: qword(p, 3), Bytes: dword(p, 5)}
}

func parseCopy2D(p []byte) (c Copy2D) {
	c.SrcX, c.SrcY = unpair(dword(p, 1))
	c.DstX, c.DstY = unpair(dword(p, 2))
	c.W, c.H = unpair(dword(p, 3))
	return c
}

func parseFill(p []byte) Fill {
	return Fill{Dst: qword(p, 1), Bytes: dword(p, 3), Value: qword(p, 4)}
}

func parseFill2D(p []byte) Fill2D {
	f := Fill2D{Value: qword(p, 3)}
	f.X, f.Y = unpair(dword(p, 1))
	f.W, f.H = unpair(dword(p, 2))
	return f
}

func parseWriteReg(p []byte) WriteReg { return WriteReg{Off: dword(p, 1), Value: dword(p, 2)} }

func parseTimestamp(p []byte) Timestamp { return Timestamp{Addr: qword(p, 1)} }

func parsePredicate(p []byte) Predicate {
	v := dword(p, 3)
	return Predicate{Addr: qword(p, 1), Dwords: uint16(v), NonZero: v>>16 != 0}
}

func parseSignal(p []byte) Signal {
	return Signal{Addr: qword(p, 1), Value: qword(p, 3), IRQ: dword(p, 5) != 0}
}

func parseFence(p []byte) Fence {
	return Fence{Addr: qword(p, 1), ID: dword(p, 3), IRQ: dword(p, 4) != 0}
}

func parseSetWindow(p []byte) SetWindow {
	v := dword(p, 1)
	return SetWindow{Index: uint8(v) % Windows, Writable: v>>2 != 0, Base: qword(p, 2), Size: qword(p, 4)}
}

func parseWaitFence(p []byte) WaitFence {
	return WaitFence{Node: uint8(dword(p, 1)), Value: qword(p, 2)}
}

func parseSaveState(p []byte) SaveState { return SaveState{Addr: qword(p, 1)} }

func parseRestoreState(p []byte) RestoreState { return RestoreState{Addr: qword(p, 1)} }
