package eventlog

import "encoding/binary"

// uvarint decodes a varint at an offset of p and returns the offset after it: -1 if there is none, as at an offset of -1.
func uvarint(p []byte, at int) (v uint64, next int) {
	if uint(at) < uint(len(p)) && p[at] < 0x80 {
		return uint64(p[at]), at + 1
	}
	return longer(p, at)
}

// longer is uvarint for a varint of two bytes or more.
func longer(p []byte, at int) (v uint64, next int) {
	if uint(at) < uint(len(p)) && at+1 < len(p) && p[at+1] < 0x80 {
		return uint64(p[at]&0x7f) | uint64(p[at+1])<<7, at + 2
	}
	if at < 0 {
		return 0, -1
	}
	v, n := binary.Uvarint(p[min(at, len(p)):])
	if n <= 0 {
		return 0, -1
	}
	return v, at + n
}

// pass returns the offset after n varints at an offset of p, or -1.
func pass(p []byte, at, n int) int {
	for ; n > 0; n-- {
		for begin := at; ; {
			if uint(at) >= uint(len(p)) || at-begin >= binary.MaxVarintLen64 {
				return -1
			}
			at++
			if p[at-1] < 0x80 {
				break
			}
		}
	}
	return at
}

// sized decodes a varint and as many bytes, and returns them and the offset after them, or -1.
func sized(p []byte, at int) (data []byte, next int) {
	n, at := uvarint(p, at)
	if at < 0 || n > uint64(len(p)-at) {
		return nil, -1
	}
	next = at + int(n)
	return p[at:next:next], next
}

// A position is what the next event has if it does not say otherwise.
type position struct {
	id, time        uint64
	process, thread uint32
}

// decode decodes the next event of the block and reports whether it is whole.
func (l *Reader) decode(e *Event) bool {
	p, at := l.block, 2
	e.ID, e.Cause, e.Time, e.Process, e.Thread = l.next.id, 0, l.next.time, l.next.process, l.next.thread
	e.Fields = [MaxFields]uint64{}
	e.Kind, e.Data, e.numbers, e.text, e.name, e.template, e.number = None, nil, nil, "", "", "", 0
	if len(p) < 2 || p[0] == 0 || int(p[0]) > len(l.kinds) {
		return false
	}
	number, flags := int(p[0])-1, p[1]
	if e.Kind = l.kinds[number]; e.Kind == None {
		e.name = l.Header.Kinds[number].Name
	}
	var v uint64
	if flags&hasCause != 0 {
		v, at = uvarint(p, at)
		e.Cause = e.ID - v
	}
	if flags&hasThread != 0 {
		v, at = uvarint(p, at)
		e.Process = uint32(v)
		v, at = uvarint(p, at)
		e.Thread = uint32(v)
	}
	if flags&hasTime != 0 {
		v, at = uvarint(p, at)
		e.Time += v>>1 ^ -(v & 1) // zigzag
	}
	for i := range l.counts[number] {
		if uint(at) < uint(len(p)) && p[at] < 0x80 { // uvarint, which is too large to be inlined
			v, at = uint64(p[at]), at+1
		} else {
			v, at = longer(p, at)
		}
		if i < MaxFields {
			e.Fields[i] = v
		}
	}
	if flags&hasText != 0 {
		at = l.decodeText(e, p, at, flags)
	}
	if flags&hasData != 0 {
		e.Data, at = sized(p, at)
	}
	if at < 0 || e.Cause > e.ID {
		return false
	}
	l.block = p[at:]
	l.next = position{e.ID + 1, e.Time, e.Process, e.Thread}
	return true
}

// decodeText decodes the text of an event, but does not put it together. It returns the offset after it, or -1.
func (l *Reader) decodeText(e *Event, p []byte, at int, flags byte) int {
	if flags&hasWhole != 0 {
		text, next := sized(p, at)
		e.text = string(text)
		return next
	}
	n, at := uvarint(p, at)
	if at < 0 || n == 0 || n > uint64(len(l.templates)) {
		return -1
	}
	next := pass(p, at, l.holes[n-1])
	if next >= 0 {
		e.template, e.number, e.numbers = l.templates[n-1], int(n), p[at:next]
	}
	return next
}
