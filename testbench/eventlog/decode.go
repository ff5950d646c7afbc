package eventlog

import "encoding/binary"

// A cursor takes values from the beginning of a block.
type cursor struct {
	p   []byte
	bad bool
}

func (c *cursor) uvarint() uint64 {
	if len(c.p) > 0 && c.p[0] < 0x80 {
		v := uint64(c.p[0])
		c.p = c.p[1:]
		return v
	}
	v, n := binary.Uvarint(c.p)
	if n <= 0 {
		c.bad = true
		return 0
	}
	c.p = c.p[n:]
	return v
}

func (c *cursor) varint() int64 {
	u := c.uvarint()
	v := int64(u >> 1)
	if u&1 != 0 {
		v = ^v
	}
	return v
}

func (c *cursor) bytes(n uint64) []byte {
	if n > uint64(len(c.p)) {
		c.bad = true
		return nil
	}
	p := c.p[:n:n]
	c.p = c.p[n:]
	return p
}

// decode decodes the next event of the block and reports whether it is whole.
func (l *Reader) decode(e *Event) bool {
	*e = Event{ID: l.next.ID, Time: l.next.Time, Process: l.next.Process, Thread: l.next.Thread}
	c := cursor{p: l.block}
	head := c.bytes(2)
	if c.bad || head[0] == 0 || int(head[0]) > len(l.kinds) {
		return false
	}
	number, flags := int(head[0])-1, head[1]
	if e.Kind = l.kinds[number]; e.Kind == None {
		e.name = l.Header.Kinds[number].Name
	}
	if flags&hasCause != 0 {
		e.Cause = e.ID - c.uvarint()
	}
	if flags&hasThread != 0 {
		e.Process, e.Thread = uint32(c.uvarint()), uint32(c.uvarint())
	}
	if flags&hasTime != 0 {
		e.Time += uint64(c.varint())
	}
	for i := range l.counts[number] {
		if v := c.uvarint(); i < MaxFields {
			e.Fields[i] = v
		}
	}
	l.decodeText(e, &c, flags)
	if flags&hasData != 0 {
		e.Data = c.bytes(c.uvarint())
	}
	if c.bad || e.Cause > e.ID {
		return false
	}
	l.block = c.p
	l.next = Event{ID: e.ID + 1, Time: e.Time, Process: e.Process, Thread: e.Thread}
	return true
}

// decodeText decodes the text of an event, but does not put it together.
func (l *Reader) decodeText(e *Event, c *cursor, flags byte) {
	switch {
	case flags&hasText == 0:
		return
	case flags&hasWhole != 0:
		e.text = string(c.bytes(c.uvarint()))
		return
	}
	n := c.uvarint()
	if n == 0 || n > uint64(len(l.templates)) {
		c.bad = true
		return
	}
	e.template, e.number = l.templates[n-1], int(n)
	before := c.p
	for range l.holes[n-1] {
		c.uvarint()
	}
	if !c.bad {
		e.numbers = before[:len(before)-len(c.p)]
	}
}
