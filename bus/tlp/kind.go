package tlp

// Bits of the Fmt field (PCIe 3.0 §2.2.1, table 2-2).
const (
	fmtLong   = 1 // four dwords of header
	fmtData   = 2 // with payload
	fmtPrefix = 4 // a prefix of a packet
)

// Values of the Type field of messages: bits 2..0 are the route.
const (
	typeMsg   = 0x10
	maskRoute = 0x07
)

// table lists format and type of each kind (PCIe 3.0 §2.2.1, table 2-3).
var table = [kinds]struct {
	name string
	fmt  uint8
	typ  uint8
}{
	None:       {"none", 0, 0},
	MRd32:      {"MRd32", 0, 0x00},
	MRd64:      {"MRd64", 1, 0x00},
	MWr32:      {"MWr32", 2, 0x00},
	MWr64:      {"MWr64", 3, 0x00},
	CfgRd0:     {"CfgRd0", 0, 0x04},
	CfgWr0:     {"CfgWr0", 2, 0x04},
	Cpl:        {"Cpl", 0, 0x0a},
	CplD:       {"CplD", 2, 0x0a},
	Msg:        {"Msg", 1, typeMsg},
	MsgD:       {"MsgD", 3, typeMsg},
	MRdLk32:    {"MRdLk32", 0, 0x01},
	MRdLk64:    {"MRdLk64", 1, 0x01},
	IORd:       {"IORd", 0, 0x02},
	IOWr:       {"IOWr", 2, 0x02},
	CfgRd1:     {"CfgRd1", 0, 0x05},
	CfgWr1:     {"CfgWr1", 2, 0x05},
	TCfgRd:     {"TCfgRd", 0, 0x1b},
	TCfgWr:     {"TCfgWr", 2, 0x1b},
	CplLk:      {"CplLk", 0, 0x0b},
	CplDLk:     {"CplDLk", 2, 0x0b},
	FetchAdd32: {"FetchAdd32", 2, 0x0c},
	FetchAdd64: {"FetchAdd64", 3, 0x0c},
	Swap32:     {"Swap32", 2, 0x0d},
	Swap64:     {"Swap64", 3, 0x0d},
	CAS32:      {"CAS32", 2, 0x0e},
	CAS64:      {"CAS64", 3, 0x0e},
}

// byFmtType is the inverse of table, by byte 0 of the header.
var byFmtType = invert()

func invert() (t [256]Kind) {
	for k := MRd32; k < kinds; k++ {
		b := table[k].fmt<<5 | table[k].typ
		t[b] = k
		if table[k].typ == typeMsg {
			for r := uint8(0); r <= maskRoute; r++ {
				t[b|r] = k
			}
		}
	}
	return t
}

// KindOf returns the kind of a packet that begins with byte b, or None if the
// specification reserves the value or uses it for a prefix.
func KindOf(b byte) Kind { return byFmtType[b] }
