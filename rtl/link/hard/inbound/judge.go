package inbound

// Types of packets: byte 0 of the header (PCIe 3.0 table 2-3).
const (
	typeCplD  = 0x4a
	typeCpl   = 0x0a
	typeCfgRd = 0x04
	typeCfgWr = 0x44
	withData  = 0x40
)

// Bits of bytes 1 and 2 of the header (PCIe 3.0 §2.2.1).
const (
	hints    = 0x01 // of byte 1
	reserved = 0x02 // of byte 1
	class    = 0x74 // of byte 1: traffic class and ID-based ordering
	digest   = 0x80 // of byte 2
	poisoned = 0x40 // of byte 2
	attr     = 0x30 // of byte 2
	untrans  = 0x0c // of byte 2: address type
)

// A header is the fields of a packet that judge uses.
type header struct {
	kind, b1, b2 uint8
	n            uint16 // dwords, 1 to 1024
	none         bool   // the field of the length is 0
	first, last  uint8  // enables
}

// parsed returns the fields of the header.
func (m *Module) parsed() header {
	h := header{
		kind: uint8(m.hi >> 56), b1: uint8(m.hi >> 48), b2: uint8(m.hi >> 40),
		n: uint16(m.hi>>32) & 0x3ff, first: uint8(m.hi) & 15, last: uint8(m.hi>>4) & 15,
	}
	if h.n == 0 {
		h.n, h.none = 1024, true
	}
	return h
}

// judge decides what the packet is.
func (m *Module) judge() {
	h := m.parsed()
	size := uint16(0)
	if h.kind&withData != 0 {
		size = h.n << 2
	}
	if h.b2&digest != 0 {
		size += 4 // after the data; it is not checked
	}
	sized := !m.short && uint16(m.left) == size
	fits := sized && h.b1&reserved == 0
	m.dwords, m.first, m.last, m.parts, m.lane, m.full, m.config = h.n, h.first, h.last, false, 0, false, false
	m.cpl = false
	switch h.kind {
	case 0x00, 0x20, 0x40, 0x60:
		m.memory(h, fits)
	case typeCfgRd, typeCfgWr:
		m.configuration(h, fits)
	case typeCpl, typeCplD:
		m.completion(h, fits)
	case 0x02, 0x42, 0x05, 0x45: // I/O, and configuration of type 1
		m.unsupported(sized && single(h))
	case 0x01, 0x21, 0x1b, 0x5b, 0x4c, 0x6c, 0x4d, 0x6d, 0x4e, 0x6e: // locked, translated, atomic
		m.unsupported(sized)
	default:
		m.drop() // messages, and what is reserved
	}
}

// drop ends a packet that has no completion.
func (m *Module) drop() { m.state, m.refused = stateDone, true }

// refuse completes a request as unsupported.
func (m *Module) refuse() { m.state, m.wish, m.refused = stateRead, Refuse, true }

// unsupported refuses a request of another type.
func (m *Module) unsupported(fits bool) {
	m.bytes, m.lower, m.chunk = 4, 0, 0
	if fits {
		m.refuse()
	} else {
		m.drop()
	}
}

// clean reports whether a packet is not poisoned without data (PCIe 3.0 §2.7.2).
func clean(h header) bool { return h.kind&withData != 0 || h.b2&poisoned == 0 }

// single reports whether a request is of a dword, as those of configuration must be.
func single(h header) bool { return h.n == 1 && h.last == 0 && h.b1&class == 0 && h.b2&attr == 0 }

// enabled reports whether the byte enables of a request are legal (PCIe 3.0 §2.2.5).
func enabled(h header, odd bool) bool {
	gap := ^h.first & 15
	if h.n == 1 {
		return h.last == 0
	} else if h.first == 0 || h.last == 0 {
		return false
	}
	return h.n == 2 && !odd || gap&(gap+1) == 0 && h.last&(h.last+1) == 0
}

// memory begins a memory request.
func (m *Module) memory(h header, fits bool) {
	ends := uint16(m.lo>>2)&0x3ff + h.n
	strange := h.b1&hints != 0 || h.b2&untrans != 0
	legal := clean(h) && enabled(h, m.lo&4 != 0) && ends <= 1024 && m.wide == (m.lo>>32 != 0) && m.lo&3 == 0
	writes := h.kind&withData != 0
	m.lower = uint8(m.lo) & 0x7c
	m.count(h)
	m.wish = Data
	if !fits || !strange && !legal || writes && (strange || h.b2&poisoned != 0) {
		m.drop()
	} else if strange {
		m.refuse()
	} else if writes && (h.n == 1 || h.n == 2 && m.first&m.last != 15) {
		m.state, m.enable, m.chunk = stateSingle, m.first, 1
	} else if !writes && h.n == 1 && h.first == 0 {
		m.state, m.wish, m.config, m.lo, m.chunk = stateRead, Flush, true, 4, 1
	} else {
		m.state = stateChunk
	}
}

// zeros returns the number of bits below the lowest one of four, 4 if there is none.
func zeros(v uint8) uint8 {
	switch {
	case v&1 != 0:
		return 0
	case v&2 != 0:
		return 1
	case v&4 != 0:
		return 2
	case v&8 != 0:
		return 3
	default:
		return 4
	}
}

// count sets the byte count and the lower address of a read (PCIe 3.0 §2.3.1.1).
func (m *Module) count(h header) {
	end := h.last
	if h.n == 1 {
		end = h.first
	}
	before, after := zeros(h.first), zeros(end<<3&8|end<<1&4|end>>1&2|end>>3)
	if h.first == 0 {
		before = 0
	}
	m.bytes = (h.n<<2 - uint16(before) - uint16(after)) & 0x1fff
	if h.n == 1 && h.first == 0 {
		m.bytes = 1
	}
	m.lower |= before & 3
}

// configuration begins a configuration request.
func (m *Module) configuration(h header, fits bool) {
	function := uint16(m.lo >> 16)
	fits = fits && clean(h) && single(h) && h.b1&hints == 0 && h.b2&untrans == 0 && m.lo&0xf003 == 0
	writes := h.kind == typeCfgWr
	m.bytes, m.lower, m.config, m.wish = 4, 0, true, Data
	m.lo, m.chunk = m.lo&0xffc, 1
	if !fits {
		m.drop()
	} else if function&7 != 0 || h.b2&poisoned != 0 {
		m.chunk = 0
		m.refuse()
	} else if writes {
		m.state, m.enable, m.id = stateSingle, m.first, function
	} else {
		m.state = stateRead
	}
}

// completion begins a completion for the GPU.
func (m *Module) completion(h header, fits bool) {
	status := uint8(m.hi>>13) & 7
	fits = fits && clean(h) && h.b1 == 0 && h.b2&(attr|untrans) == 0 && m.lo&0x80 == 0 && uint16(m.lo>>16) == m.id
	if h.kind == typeCpl {
		fits = fits && h.none && status != 0 && status != 2
	} else {
		fits = fits && status == 0 && h.n <= 32
	}
	m.state = stateLook
	if !fits {
		m.drop()
	}
}
