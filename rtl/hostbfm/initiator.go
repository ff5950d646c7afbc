package hostbfm

import "github.com/hilgpu/hilgpu/rtl/abi/port"

// stable checks that an offer that was not accepted is repeated unchanged.
func (b *Bus) stable(r port.Request, beat port.Beat) {
	if b.req.Kind != port.None && b.req != r {
		b.fail("the header %+v changed to %+v before it was accepted", b.req, r)
	}
	if b.beat.Valid && b.beat != beat {
		b.fail("the beat %+v changed to %+v before it was accepted", b.beat, beat)
	}
	b.req, b.beat = r, beat
}

// take accepts a header of the device.
func (b *Bus) take(r port.Request) {
	b.checkHeader(r)
	if b.Took != nil {
		b.Took(r)
	}
	if r.Kind == port.MemWrite {
		b.Writes = append(b.Writes, r)
		return
	}
	d := &Read{Req: r, Due: b.Clocks + b.Latency, Good: NoError}
	if b.Jitter > 0 {
		d.Due += b.Rng.Uint64N(b.Jitter)
	}
	size := uint64(len(b.Mem))
	if off := r.Addr - b.Base; off < size && off+4*uint64(r.Len) <= size {
		d.Data = append(d.Data, b.Mem[off:off+4*uint64(r.Len)]...)
	} else {
		d.Good = 0
	}
	if b.Rng.IntN(1000) < b.Errors {
		d.Good = uint8(b.Rng.IntN(int(port.Beats(r.Addr, r.Len))))
	}
	if b.Reading != nil {
		b.Reading(d)
	}
	b.Reads = append(b.Reads, d)
}

// checkHeader checks a header of the initiator against the rules of package port.
func (b *Bus) checkHeader(r port.Request) {
	switch {
	case r.Kind != port.MemRead && r.Kind != port.MemWrite:
		b.fail("header with unsupported kind %d", r.Kind)
	case r.Addr%4 != 0 || r.Addr>>63 != 0 || r.Len < 1 || r.Len > port.MaxLen:
		b.fail("header with bad address %#x or length %d", r.Addr, r.Len)
	case r.Addr/128 != (r.Addr+4*uint64(r.Len)-1)/128:
		b.fail("header of %d dwords at %#x crosses 128 bytes", r.Len, r.Addr)
	}
	for _, o := range b.Reads {
		if r.Kind == port.MemRead && o.Req.Tag == r.Tag {
			b.fail("tag %d is in use", r.Tag)
		}
	}
}

// takeBeat accepts a beat of the device's oldest write.
func (b *Bus) takeBeat(beat port.Beat) {
	if b.Beat != nil {
		b.Beat()
	}
	w := b.Writes[0]
	at := w.Addr&^7 + uint64(len(b.beats))
	for i := range uint64(8) {
		v := byte(beat.Data >> (8 * i))
		b.beats = append(b.beats, v)
		if beat.Enable>>i&1 == 0 {
			continue
		}
		if at+i < w.Addr || at+i >= w.Addr+4*uint64(w.Len) {
			b.fail("enabled lane outside the range of %+v", w)
		}
		if off := at + i - b.Base; off < uint64(len(b.Mem)) {
			b.Mem[off] = v
		}
	}
	if last := len(b.beats) == 8*int(port.Beats(w.Addr, w.Len)); last != beat.Last {
		b.fail("beat %d of %+v has Last %v", len(b.beats)/8, w, beat.Last)
	}
	if beat.Last {
		if b.Wrote != nil {
			b.Wrote(w, b.beats)
		}
		b.Writes, b.beats = b.Writes[1:], nil
	}
}

// answer returns the completion of this clock: a beat of any read that is due.
func (b *Bus) answer() port.Completion {
	pick := -1
	for i, r := range b.Reads {
		if r.Due <= b.Clocks && (pick < 0 || b.Shuffle && b.percent(50)) {
			pick = i
		}
	}
	if pick < 0 || b.percent(b.Stall[StallAnswers]) {
		return port.Completion{}
	}
	r := b.Reads[pick]
	c := port.Completion{Tag: r.Req.Tag, Status: port.CplSuccess, Data: b.Rng.Uint64()} // lanes outside of the request
	if r.beat >= r.Good {
		c.Status, c.Last = port.CplUnsupported+port.Status(b.Rng.IntN(2)), true
	} else {
		at := r.Req.Addr&^7 + 8*uint64(r.beat) - r.Req.Addr
		for i := range uint64(8) {
			if at+i < uint64(len(r.Data)) {
				c.Data = c.Data&^(0xff<<(8*i)) | uint64(r.Data[at+i])<<(8*i)
			}
		}
		r.beat++
		c.Last = r.beat == port.Beats(r.Req.Addr, r.Req.Len)
	}
	if c.Last {
		b.Reads = append(b.Reads[:pick:pick], b.Reads[pick+1:]...)
	}
	return c
}
