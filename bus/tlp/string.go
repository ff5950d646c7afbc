package tlp

import "strconv"

// String returns p in one line, for captures:
//
//	MWr32 addr=0xfe001000 len=1 be=f/0 req=00:00.0 tag=0x05
//	CplD cpl=01:00.0 SC bc=4 lower=0x10 len=1 req=00:00.0 tag=0x05
func (p *Packet) String() string { return string(p.AppendText(make([]byte, 0, 96))) }

// AppendText appends the result of String to b.
func (p *Packet) AppendText(b []byte) []byte {
	b = append(b, p.Kind.String()...)
	switch {
	case p.IsMemory():
		b = appendHex(append(b, " addr="...), p.Addr)
		b = p.appendEnables(b)
	case p.IsConfig():
		b = append(append(b, " fn="...), p.Completer.String()...)
		b = appendHex(append(b, " reg="...), p.Addr)
		b = p.appendEnables(b)
	case p.IsCompletion():
		b = append(append(b, " cpl="...), p.Completer.String()...)
		b = append(append(b, ' '), p.Status.String()...)
		b = strconv.AppendInt(append(b, " bc="...), int64(p.ByteCount), 10)
		b = appendHex(append(b, " lower="...), uint64(p.Lower))
		if p.Len > 0 {
			b = strconv.AppendInt(append(b, " len="...), int64(p.Len), 10)
		}
	case p.IsMessage():
		b = p.appendMessage(b)
	}
	b = append(append(b, " req="...), p.Requester.String()...)
	b = appendHex(append(b, " tag="...), uint64(p.Tag))
	return p.appendMarks(b)
}

func appendHex(b []byte, v uint64) []byte {
	b = append(b, "0x"...)
	if v < 16 {
		b = append(b, '0')
	}
	return strconv.AppendUint(b, v, 16)
}

func (p *Packet) appendEnables(b []byte) []byte {
	b = strconv.AppendInt(append(b, " len="...), int64(p.Len), 10)
	b = strconv.AppendUint(append(b, " be="...), uint64(p.First), 16)
	return strconv.AppendUint(append(b, '/'), uint64(p.Last), 16)
}

func (p *Packet) appendMessage(b []byte) []byte {
	if wire, assert, ok := p.Code.INTx(); ok {
		if assert {
			b = append(b, " Assert_INT"...)
		} else {
			b = append(b, " Deassert_INT"...)
		}
		return append(b, "ABCD"[wire])
	}
	b = appendHex(append(b, " code="...), uint64(p.Code))
	b = strconv.AppendUint(append(b, " route="...), uint64(p.Route), 10)
	if p.Len > 0 {
		b = strconv.AppendInt(append(b, " len="...), int64(p.Len), 10)
	}
	return b
}

// appendMarks appends unusual attributes.
func (p *Packet) appendMarks(b []byte) []byte {
	if p.TC != 0 {
		b = strconv.AppendUint(append(b, " tc="...), uint64(p.TC), 10)
	}
	for i, name := range [...]string{" NS", " RO", " IDO"} {
		if p.Attr>>i&1 != 0 {
			b = append(b, name...)
		}
	}
	if p.BCM {
		b = append(b, " BCM"...)
	}
	if p.TD {
		b = appendHex(append(b, " digest="...), uint64(p.Digest))
	}
	if p.EP {
		b = append(b, " POISONED"...)
	}
	return b
}
