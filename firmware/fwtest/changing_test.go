package fwtest

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/firmware"
	"github.com/hilgpu/hilgpu/firmware/message"
	"github.com/hilgpu/hilgpu/rtl/abi/fwabi"
	"github.com/hilgpu/hilgpu/rtl/abi/mcureg"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

// A changing host has a ring of one request. When the firmware has read a dword of it, the dword is that of another request.
type changing struct {
	m     machine
	host  *Host
	later [fwabi.EntryBytes / 4]uint32
	reads [fwabi.EntryBytes / 4]int // since the request was sent
	sent  uint32
	model protocol
}

func newChanging(t *testing.T, m machine) *changing {
	c := &changing{m: m, host: m.At(area)}
	require.NoError(t, message.Init(c.host, 0))
	b, err := firmware.Load(m, image(t), withArea(area))
	require.NoError(t, err)
	c.model = protocol{build: b.Build}
	m.Break(Faults{Window: c.read})
	return c
}

// read returns what the firmware reads.
func (c *changing) read(addr uint64, v uint32, ok bool) (uint32, bool) {
	i := (addr - area - fwabi.AreaRequests) / 4
	if i >= uint64(len(c.reads)) {
		return v, ok
	}
	if c.reads[i]++; c.reads[i] > 1 {
		v = c.later[i]
	}
	return v, ok
}

// entry returns the dwords of a request.
func entry(r request) (dwords [fwabi.EntryBytes / 4]uint32) {
	dwords[0], dwords[1] = r.sequence, r.head
	for i := range dwords[2:] {
		dwords[2+i] = r.word(i)
	}
	return dwords
}

// call sends a request that becomes another one, and returns the answer.
func (c *changing) call(t *testing.T, first, later request) (answer [fwabi.EntryBytes / 4]uint32) {
	put := func(off uint32, dwords ...uint32) { require.NoError(t, c.host.WriteHost(off, le(dwords...))) }
	get := func(off uint32, bytes int) []byte {
		b := make([]byte, bytes)
		require.NoError(t, c.host.ReadHost(off, b))
		return b
	}
	dwords := entry(first)
	put(fwabi.AreaRequests, dwords[:]...)
	c.later, c.reads = entry(later), [fwabi.EntryBytes / 4]int{}
	c.sent++
	put(fwabi.AreaRequestTail, c.sent)
	require.NoError(t, c.m.Write(mcureg.Base+mcureg.Doorbell, fwabi.BellMessages))
	for range 1000 {
		_, err := c.m.Read(mcureg.Base + mcureg.Status)
		require.NoError(t, err)
		if binary.LittleEndian.Uint32(get(fwabi.AreaAnswerTail, 4)) == c.sent && asleep(t, c.m) {
			break
		}
	}
	require.Equal(t, c.sent, binary.LittleEndian.Uint32(get(fwabi.AreaAnswerTail, 4)), "there is no answer")
	_, err := binary.Decode(get(fwabi.AreaAnswers, fwabi.EntryBytes), binary.LittleEndian, answer[:])
	require.NoError(t, err)
	put(fwabi.AreaAnswerHead, c.sent)
	return answer
}

// check sends requests that become others. The answer is that of the model for the first reading, and each dword is read once. Sequences
// count from the one that is due.
func (c *changing) check(t *testing.T, status uint32, name string, first, later request) {
	first.sequence += c.model.next
	later.sequence += c.model.next
	answered, payload := c.model.answer(first)
	require.Equal(t, status, answered, "%s: the model", name)
	var want request
	want.sequence, want.head = first.sequence, first.head&0xff|uint32(len(payload))<<8|status<<16
	copy(want.payload[:], payload)
	got, expected := c.call(t, first, later), entry(want)
	n := 2 + (len(payload)+3)/4
	assert.Equal(t, expected[:n], got[:n], "%s: the answer to the first reading", name)
	for i, n := range c.reads {
		assert.Equal(t, 1, n, "%s: reads of dword %d", name, i)
	}
}

// The firmware answers a request as it was when it was read, and reads each dword of it once.
//
// docs/validator.md: V25.
func TestV25(t *testing.T) {
	of := func(op, bytes uint32, dwords ...uint32) request {
		r := request{head: op | bytes<<8}
		copy(r.payload[:], le(dwords...))
		return r
	}
	full := []uint32{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14}
	ping := of(2, 0)
	late, reserved := ping, ping
	late.sequence, reserved.head = 1, reserved.head|1<<31
	for _, kind := range machines {
		c := newChanging(t, kind.make(memory, Faults{}))
		t.Run("accepted, "+kind.name, func(t *testing.T) {
			c.check(t, 0, "a version", of(1, 8, 1, 7), of(1, 8, 2, 7))
			c.check(t, 0, "an op", ping, of(99, 0))
			c.check(t, 0, "a length", of(2, 56, full...), of(2, 57, full...))
			c.check(t, 0, "a payload", of(2, 56, full...), of(2, 56, make([]uint32, 14)...))
			c.check(t, 0, "a sequence", ping, late)
			c.check(t, 0, "a reserved bit", ping, reserved)
			c.check(t, 0, "an argument", of(4, 4, 3), of(4, 4, 4))
		})
		t.Run("refused, "+kind.name, func(t *testing.T) {
			c.check(t, 6, "a version", of(1, 8, 2, 7), of(1, 8, 1, 7))
			c.check(t, 1, "an op", of(99, 0), ping)
			c.check(t, 2, "a length", of(4, 3, 3), of(4, 4, 3))
			c.check(t, 3, "a greater length", of(2, 57, full...), of(2, 56, full...))
			c.check(t, 4, "a sequence", late, ping)
			c.check(t, 6, "a reserved bit", reserved, ping)
			c.check(t, 6, "an argument", of(4, 4, 4), of(4, 4, 3))
		})
	}
}

// rereads are mistakes of a firmware that reads a request more than once.
var rereads = []mistake{
	{"the head is read again", "message.c", "	uint32_t head = request[HEAD], op = head & HEAD_OP, length = 0;\n",
		"	uint32_t head, op, length = 0;\n	(void)area_read(AREA_REQUESTS + 4 * HEAD, &head);\n	op = head & HEAD_OP;\n", inChanging, "the answer to the first reading"},
	{"the payload is read again", "message.c", "		out[i / 4] = in[i / 4];\n",
		"		(void)in, (void)area_read(AREA_REQUESTS + 4 * PAYLOAD + i, &out[i / 4]);\n", inChanging, "a payload: the answer to the first reading"},
	{"a dword is read again, and the first copy counts", "message.c", "			return false;\n	request_head++;\n",
		"			return false;\n	(void)area_read(at, &tail);\n	request_head++;\n", inChanging, "reads of dword 0"},
}

// TestV25 finds each mistake.
func TestRereads(t *testing.T) {
	tooltest.Long(t)
	findMistakes(t, rereads)
}
