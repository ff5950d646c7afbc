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
	seen               map[uint32]int // answers by op and status << 8
	tail, answersTaken uint32         // as the host has written them
	level              uint32         // of LOG
	written            uint32         // lines of the log: one for the boot, and those of the answers
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
		p.seen[r.head&0xff|status<<8]++
		if p.level >= 3 || p.level >= 1 && status != 0 {
			p.written++
		}
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
	switch op {
	case 1:
		if binary.LittleEndian.Uint32(in) != 1 {
			return 6, nil
		}
		p.session, p.next, p.level = true, 1, 2
		return 0, le(1, p.build, 16|6<<8|56<<16)
	case 2:
		return 0, in
	case 3:
		return 0, le(p.counts[:]...)
	}
	return p.command(op, in)
}

// command answers a request for the log, the samples, the self-test, a node or a queue, in a GPU without nodes: the program takes
// none, so there are no queues. BLOCKS does not allow PERF. Window 0 begins at 0 and has 16 KiB.
func (p *protocol) command(op uint32, in []byte) (status uint32, payload []byte) {
	const argument, state, refused = 6, 7, 8
	w := make([]uint32, len(in)/4)
	for i := range w {
		w[i] = binary.LittleEndian.Uint32(in[4*i:])
	}
	bad := false
	status = state
	switch op {
	case 4:
		if bad, status = w[0] > 3, 0; !bad {
			p.level = w[0]
		}
	case 5:
		bad, status = w[0] != 0 && w[0] < 1024, refused
		if w[0] == 0 {
			status = 0
		}
	case 6:
		bad, status = w[0]&3 != 0 || w[0]&0x1ffffffc != 0 && w[0]>>29 <= 1, 0
		payload = le(7, 0x59444552, 0, 0, 0)
	case 16:
		status = refused
		bad = w[0] > 1 || w[1]&0xfff != 0 || w[2] < 9 || w[2] > 20 || uint64(w[1])+1<<w[2] > 0x4000
	case 17, 23, 24:
		bad = w[0] > 1
	case 18:
		quantum := w[3] & 0x7fffffff
		bad = w[0] > 15 || w[1] > 1 || w[2] > 3 || quantum < 1000 || quantum > 1<<30 || w[4]&31 != 0 || w[6] > 16 || w[7]&127 != 0
	case 20:
		bad, status, payload = w[0] > 15, 0, le(0, 0, 0, 0, 0)
	default:
		bad = w[0] > 15
	}
	if bad {
		return argument, nil
	}
	return status, payload
}

// le returns dwords as a payload has them.
func le(values ...uint32) (b []byte) {
	for _, v := range values {
		b = binary.LittleEndian.AppendUint32(b, v)
	}
	return b
}

// word returns a dword of the payload.
func (r request) word(i int) uint32 { return binary.LittleEndian.Uint32(r.payload[4*i:]) }

// lines returns how many lines the log has had.
func (p *protocol) lines() uint32 { return p.written }
