package fwtest

import "encoding/binary"

// A request is an entry that a host may write.
type request struct {
	sequence, head uint32
	payload        [56]byte
}

// reply is what a host must find in the ring of answers.

type reply struct {
	sequence, head uint32
	payload        []byte
}

// A protocol is a model of the messages, written from docs/firmware.md. It has numbers of its own.
type protocol struct {
	entries            uint32
	taken, answered    uint32 // requests that were copied, answers that were written
	session            bool
	next               uint32
	build              uint32
	counts             [13]uint32
	tail, answersTaken uint32 // as the host has written them
}

// lengths has the payloads of the requests.
var lengths = map[uint32][2]uint32{
	1: {8, 8}, 2: {0, 56}, 3: {0, 0}, 4: {4, 4}, 5: {4, 4}, 6: {4, 4},
	16: {12, 12}, 17: {4, 4}, 18: {36, 36}, 19: {4, 4}, 20: {4, 4}, 21: {4, 4}, 22: {4, 4}, 23: {4, 4}, 24: {4, 4},
}

// ring is what the firmware does at a doorbell. at returns the entry with a number.
func (p *protocol) ring(at func(number uint32) request) (replies []reply) {
	for {
		if used := p.answered - p.answersTaken; used >= p.entries {
			if used > p.entries {
				p.counts[10]++
			}
			return replies
		}
		if ahead := p.tail - p.taken; ahead == 0 || ahead > p.entries {
			if ahead != 0 {
				p.counts[10]++
			}
			return replies
		}
		r := at(p.taken)
		p.taken++
		status, payload := p.answer(r)
		p.counts[status]++
		p.answered++
		replies = append(replies, reply{r.sequence, r.head&0xff | uint32(len(payload))<<8 | status<<16, payload})
	}
}

// answer returns the status of a request, and the payload of its answer.
func (p *protocol) answer(r request) (status uint32, payload []byte) {
	op, length := r.head&0xff, r.head>>8&0xff
	if op != 1 {
		switch {
		case !p.session:
			return 5, nil
		case r.sequence != p.next:
			return 4, nil
		}
		p.next = max(p.next+1, 1)
	}
	limits, known := lengths[op]
	switch {
	case !known:
		return 1, nil
	case r.head>>16 != 0:
		return 6, nil
	case length < limits[0]:
		return 2, nil
	case length > limits[1]:
		return 3, nil
	}
	return p.do(op, r.payload[:length])
}

// do answers a request without a mistake in its form.
func (p *protocol) do(op uint32, in []byte) (status uint32, payload []byte) {
	words := func(values ...uint32) (b []byte) {
		for _, v := range values {
			b = binary.LittleEndian.AppendUint32(b, v)
		}
		return b
	}
	switch op {
	case 1:
		if binary.LittleEndian.Uint32(in) != 1 {
			return 6, nil
		}
		p.session, p.next = true, 1
		return 0, words(1, p.build, 16|6<<8|56<<16)
	case 2:
		return 0, in
	case 3:
		return 0, words(p.counts[:]...)
	}
	panic("fwtest: the campaign sends no other request that is well formed")
}

// lines returns how many lines the log has had: one for the boot, and one for each error.
func (p *protocol) lines() uint32 {
	n := uint32(1)
	for _, count := range p.counts[1:10] {
		n += count
	}
	return n
}
