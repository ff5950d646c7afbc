package transmit

// helloBytes is the size of the hello in a Welcome.
const helloBytes = 40

// hello returns the byte of the hello at the present place; docs/design.md and bus/datalink
// have its fields. A window of packets is kept, all but the missing one out of order. It is the
// only bound on packets: there are no credits.
func (m *Module) hello() uint8 {
	g := m.greet
	switch m.at {
	case 0:
		return helloBytes
	case 2:
		return uint8(g.MaxPacket >> 8)
	case 3:
		return uint8(g.MaxPacket)
	case 5:
		return g.Window
	case 7:
		return g.Window - 1
	case 10:
		return uint8(g.Datagram >> 8)
	case 11:
		return uint8(g.Datagram)
	case 12, 13, 14, 15:
		return word(g.AckMicros, m.at)
	case 16, 17, 18, 19:
		return word(g.MapHash, m.at)
	case 20, 21, 22, 23:
		return word(m.offer.Host, m.at)
	case 24, 25, 26, 27:
		return word(m.offer.Board, m.at)
	default:
		return 0
	}
}

// word returns a byte of a word at a place that is a multiple of 4 for the highest one.
func word(v uint32, at uint8) uint8 {
	switch at & 3 {
	case 0:
		return uint8(v >> 24)
	case 1:
		return uint8(v >> 16)
	case 2:
		return uint8(v >> 8)
	default:
		return uint8(v)
	}
}
