package why_test

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/testbench/eventlog"
	"github.com/hilgpu/hilgpu/testbench/why"
)

// Design note: a block of a log has a check, so nearly every change of a log is found before an event is decoded. The
// fuzzer changes the contents of the blocks, and the test makes blocks with good checks of them.

// headBytes is the length of what is before the text of the header of a log, and of a block's header.
const (
	headBytes  = 16
	blockBytes = 9
)

// parts splits a log into its header, the content of its block of templates, and its first block of events.
func parts(log []byte) (head, templates, events []byte) {
	n := headBytes + int(binary.LittleEndian.Uint32(log[12:])) + 4
	head = log[:n]
	for rest := log[n:]; len(rest) > 0 && events == nil; {
		size := int(binary.LittleEndian.Uint32(rest[1:]))
		content := rest[blockBytes : blockBytes+size]
		if rest[0] == 'S' {
			templates = content
		} else {
			events = content
		}
		rest = rest[blockBytes+size:]
	}
	return head, templates, events
}

// joined returns the log of a header and the contents of two blocks.
func joined(head, templates, events []byte) []byte {
	log := slices.Clone(head)
	for _, b := range []struct {
		kind    byte
		content []byte
	}{{'S', templates}, {'E', events}} {
		log = append(log, b.kind)
		log = binary.LittleEndian.AppendUint32(log, uint32(len(b.content)))
		log = binary.LittleEndian.AppendUint32(log, crc32.Checksum(b.content, crc32.MakeTable(crc32.Castagnoli)))
		log = append(log, b.content...)
	}
	return log
}

// askAll asks a run each kind of question. It must answer, or refuse the question.
func askAll(t *testing.T, r *why.Run) {
	fault := r.Fault()
	r.Annotate(fault, r)
	require.NotEmpty(t, fault.Verdict)
	require.NotEmpty(t, fault.Text())
	require.Contains(t, links(t), fault.Missing)
	ask := func(a *why.Answer, err error) {
		if err != nil {
			require.ErrorIs(t, err, why.ErrQuestion)
			return
		}
		require.NotEmpty(t, a.Verdict)
		require.NotEmpty(t, a.Text())
		require.Contains(t, links(t), a.Missing)
	}
	for n := range uint64(40) {
		ask(r.Call(n))
	}
	for n := range uint32(6) {
		ask(r.Fence(int(n)-1, n))
		ask(r.Fence(-1, n))
		ask(r.Cycle(3000 * uint64(n)))
		ask(r.Address(0x40 * uint64(n)))
		ask(r.Address(pkt.Host | 0x100000 + 0x1000*uint64(n)))
		ask(r.Pixel(uint16(8*n), uint16(5*n)))
	}
}

// FuzzWhy asks logs whose events are damaged, but not their checks. Seeds are logs of two boards, as they are and with
// random changes.
func FuzzWhy(f *testing.F) {
	var head []byte
	for i, board := range []string{"emu", "emu?config=small&fault=lost-doorbell&after=1"} {
		h, templates, events := parts(frameLog(f, board, i > 0))
		head = h
		f.Add(templates, events)
		r := rand.New(rand.NewPCG(uint64(i), 1))
		for range 20 {
			changed := slices.Clone(events)
			for range 1 + r.IntN(8) {
				changed[r.IntN(len(changed))] = byte(r.Uint32())
			}
			f.Add(templates, changed)
		}
	}
	f.Fuzz(func(t *testing.T, templates, events []byte) {
		log := joined(head, templates, events)
		l, err := eventlog.NewReader(bytes.NewReader(log))
		require.NoError(t, err, "only the blocks are changed")
		r, err := why.Read(l)
		if err != nil {
			require.ErrorIs(t, err, eventlog.ErrCorrupt)
			return
		}
		askAll(t, r)
	})
}
