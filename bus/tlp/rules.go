package tlp

import "fmt"

// Check checks p against the rules of its kind: the ranges of its fields, byte
// enables (PCIe 3.0 §2.2.5), the 4 KiB boundary and the width of an address
// (§2.2.4.1, §2.2.7), configuration (§2.2.7), completions (§2.2.9) and messages
// (§2.2.8). It fails with ErrMalformed, or with ErrUnsupported for a kind or a
// message that this package does not support. Fields that the kind does not
// have must be zero.
func (p *Packet) Check() error {
	if !p.Kind.Supported() {
		return fmt.Errorf("%w: %v", ErrUnsupported, p.Kind)
	}
	if err := p.checkCommon(); err != nil {
		return err
	}
	switch {
	case p.IsMemory():
		return p.checkMemory()
	case p.IsConfig():
		return p.checkConfig()
	case p.IsCompletion():
		return p.checkCompletion()
	}
	return p.checkMessage()
}

func (p *Packet) bad(format string, args ...any) error {
	return fmt.Errorf("%w: %v %s", ErrMalformed, p.Kind, fmt.Sprintf(format, args...))
}

func (p *Packet) checkCommon() error {
	if p.TC > 7 || p.Attr > 7 || p.Tag > 0x3ff {
		return p.bad("with class %d, attributes %#x, tag %#x out of range", p.TC, p.Attr, p.Tag)
	}
	if p.First > 15 || p.Last > 15 || p.Lower > 0x7f || p.Status > 7 || p.Route > maskRoute {
		return p.bad("with a field out of range")
	}
	if !p.TD && p.Digest != 0 {
		return p.bad("with a digest and no TD")
	}
	want := p.Len
	if !p.Kind.HasData() {
		want = 0
	}
	if len(p.Data) != 4*want {
		return p.bad("of length %d dwords with %d bytes of data", p.Len, len(p.Data))
	}
	if p.Kind == Cpl || p.Kind == Msg {
		if p.Len != 0 {
			return p.bad("with reserved length %d", p.Len)
		}
	} else if p.Len < 1 || p.Len > MaxLen {
		return p.bad("of length %d dwords, want 1 to %d", p.Len, MaxLen)
	}
	// Without a payload the bit is reserved (PCIe 3.0 §2.7.2).
	if p.EP && !p.Kind.HasData() {
		return p.bad("poisoned without data")
	}
	return p.checkForeign()
}

// checkForeign refuses fields that belong to another kind, because encoding
// would lose them.
func (p *Packet) checkForeign() error {
	request := p.IsMemory() || p.IsConfig()
	if !request && (p.First|p.Last != 0 || p.Addr != 0) {
		return p.bad("with byte enables or address")
	}
	if !p.IsCompletion() && (p.Status != 0 || p.BCM || p.ByteCount != 0 || p.Lower != 0) {
		return p.bad("with fields of a completion")
	}
	if !p.IsCompletion() && !p.IsConfig() && p.Completer != 0 {
		return p.bad("with a completer")
	}
	if !p.IsMessage() && (p.Code != 0 || p.Route != 0 || p.Vendor != 0) {
		return p.bad("with fields of a message")
	}
	return nil
}

func (p *Packet) checkMemory() error {
	if p.Addr%4 != 0 {
		return p.bad("at %#x, want a multiple of 4", p.Addr)
	}
	if wide := p.Addr>>32 != 0; wide != (p.Kind == MRd64 || p.Kind == MWr64) {
		return p.bad("at %#x, want the header for the other address width", p.Addr)
	}
	if int(p.Addr&0xfff)+4*p.Len > 0x1000 {
		return p.bad("at %#x of %d dwords crosses 4 KiB", p.Addr, p.Len)
	}
	return p.checkEnables()
}

// checkEnables checks the rules of PCIe 3.0 §2.2.5. Only a single dword, or two
// in one aligned quadword, may have gaps. Otherwise the enabled bytes of the
// first dword reach its end, and those of the last dword start at its
// beginning.
func (p *Packet) checkEnables() error {
	first, last := p.First, p.Last
	switch {
	case p.Len == 1:
		if last != 0 {
			return p.bad("of one dword with last enables %#x", last)
		}
		return nil
	case first == 0 || last == 0:
		return p.bad("of %d dwords with enables %#x/%#x", p.Len, first, last)
	case p.Len == 2 && p.Addr%8 == 0:
		return nil
	}
	// The complement of the first enables, and the last enables, must be 2^n-1.
	if gap := ^first & 15; gap&(gap+1) != 0 || last&(last+1) != 0 {
		return p.bad("at %#x of %d dwords with gaps in enables %#x/%#x", p.Addr, p.Len, first, last)
	}
	return nil
}

func (p *Packet) checkConfig() error {
	if p.Addr%4 != 0 || p.Addr > 0xffc {
		return p.bad("at offset %#x, want a multiple of 4 to 0xffc", p.Addr)
	}
	return p.checkSingle()
}

// checkSingle checks the rule for configuration and I/O requests: one dword,
// and no attribute.
func (p *Packet) checkSingle() error {
	if p.Len != 1 || p.Last != 0 {
		return p.bad("of %d dwords, last enables %#x, want one dword", p.Len, p.Last)
	}
	if p.TC != 0 || p.Attr != 0 {
		return p.bad("with class %d, attributes %#x, want 0", p.TC, p.Attr)
	}
	return nil
}

func (p *Packet) checkCompletion() error {
	if p.ByteCount < 1 || p.ByteCount > 4096 {
		return p.bad("of byte count %d, want 1 to 4096", p.ByteCount)
	}
	if p.Kind == Cpl {
		return nil
	}
	if p.Status != SC {
		return p.bad("with status %v", p.Status)
	}
	if need := (int(p.Lower&3) + p.ByteCount + 3) / 4; p.Len > need {
		return p.bad("of %d dwords with byte count %d from %#x", p.Len, p.ByteCount, p.Lower)
	}
	return nil
}

func (p *Packet) checkMessage() error {
	if _, _, ok := p.Code.INTx(); ok {
		if p.Kind != Msg || p.Route != Local || p.TC != 0 || p.Attr != 0 || p.Vendor != 0 {
			return p.bad("for INTx, want no data, local route, class 0 and no attribute")
		}
		return nil
	}
	if p.Code != Vendor0 && p.Code != Vendor1 {
		return fmt.Errorf("%w: %v code %#02x", ErrUnsupported, p.Kind, uint8(p.Code))
	}
	switch p.Route {
	case ToRoot, ByID, Broadcast, Local:
		return nil
	}
	return p.bad("code %#02x with route %d", uint8(p.Code), p.Route)
}
