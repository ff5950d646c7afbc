package cpreg

// CauseDocs describes each value of FAULT_INFO.CAUSE, in the order of Causes.
var CauseDocs = []string{
	CauseNone:       "no fault",
	CauseOpcode:     "the opcode is unknown",
	CauseReserved:   "a reserved bit is set",
	CauseLength:     "the body length does not fit the opcode, Bytes has more bits than ID.CAPS.LENGTH says, or a buffer ends inside a packet or inside the dwords that it skips",
	CauseAlign:      "an address is not aligned as the packet requires",
	CauseAddress:    "an address range, or a window, is neither in VRAM nor in the range of the host port",
	CausePrivilege:  "a packet that is legal only in the ring is in an indirect buffer",
	CauseRegister:   "WRITE_REG to a register that it may not write",
	CauseState:      "a field of SET_STATE or WAIT_FENCE, a coordinate or size of a 2D packet, or a word of RESTORE_STATE is out of range; a surface that a 2D packet uses is not set; COPY_2D between two formats; or FILL_2D with elements of 128 bits",
	CauseFence:      "a fence id went backwards",
	CauseReadError:  "a read was answered with an error, or not in time",
	CauseRing:       "RING_BASE, RING_SIZE or WPTR is out of range",
	CauseWriteError: "a write could not be sent: bus mastering is off",
	CauseWindow:     "a packet in an indirect buffer reads a range outside every window, or writes one outside every writable window",
	CausePage:       "a page of the aperture could not be accessed: GART.FAULT",
}
