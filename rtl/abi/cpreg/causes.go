package cpreg

// CauseDocs says what each value of FAULT_INFO.CAUSE means, in the order of
// Causes.
var CauseDocs = []string{
	CauseNone:       "no fault",
	CauseOpcode:     "the opcode is not one of the table",
	CauseReserved:   "a reserved bit is set",
	CauseLength:     "the body length does not fit the opcode, or a buffer ends inside a packet or what it skips",
	CauseAlign:      "an address is not a multiple of what the packet wants",
	CauseAddress:    "an address range, or a window, is neither in VRAM nor in reach of the host port",
	CausePrivilege:  "a packet that is legal in the ring only, in an indirect buffer",
	CauseRegister:   "WRITE_REG to a register that is not white-listed",
	CauseState:      "a field of SET_STATE or WAIT_FENCE or a word of RESTORE_STATE is out of range, or a 2D packet came before the surface it uses",
	CauseFence:      "a fence id went backwards",
	CauseReadError:  "a read was answered with an error",
	CauseRing:       "RING_BASE, RING_SIZE or WPTR is out of range",
	CauseWriteError: "a write could not be sent: bus mastering is off",
	CauseWindow:     "a packet in an indirect buffer names a range that is in no window, or writes one that is in none that is writable",
}
