package why

import "github.com/hilgpu/hilgpu/testbench/eventlog"

// toldFaults notes a message about faults.
func (b *builder) toldFaults(at Point) {
	for i := len(b.faults) - 1; i >= 0 && !b.faults[i].told.In(); i-- {
		b.faults[i].told = at
	}
}

// completions is the vector of the messages about completed work (package intcreg).
const completions = 0

// wrote adds a fence in host memory: the value of the oldest submission of a node that has no
// fence yet, in memory of the miniport, always at the same address. Where the packets of the
// nodes are known, its packet has ended.
func (b *builder) wrote(e *eventlog.Event, at Point) {
	addr, value := e.Fields[0], e.Fields[2]&0xffffffff
	if !b.ofDriver(addr) {
		return
	}
	if b.rings {
		b.wroteOfQueue(at, addr, value)
		return
	}
	b.each(func(s *submission) bool {
		word, known := b.words[s.node]
		if s.written.In() || known && word != addr || b.Header.Observed && !s.fenced.In() {
			return true
		}
		if uint64(s.fence) != value {
			s.other = store{at, addr, value}
			return true
		}
		s.written, s.word, b.words[s.node] = at, addr, addr
		return false
	})
}

// wroteOfQueue is wrote where the firmware runs queues, of which each has fence memory of its own: the write is that of the last
// submission whose packet has ended.
func (b *builder) wroteOfQueue(at Point, addr, value uint64) {
	var last *submission
	b.each(func(s *submission) bool {
		if uint64(s.fence) == value && s.fenced.In() && !s.written.In() && (last == nil || s.fenced.Event > last.fenced.Event) {
			last = s
		}
		return true
	})
	if last == nil {
		b.fences[value] = store{at, addr, value}
		return
	}
	last.written, last.word = at, addr
}

// fencedOfQueue takes the write of a fence whose packet has ended later, as after a preemption.
func (b *builder) fencedOfQueue(s *submission) {
	if w, ok := b.fences[uint64(s.fence)]; ok && s.begun.In() && w.Event > s.begun.Event {
		s.written, s.word = w.Point, w.addr
		delete(b.fences, uint64(s.fence))
	}
}

// messaged gives a message to the submissions whose fence was written.
func (b *builder) messaged(at Point) {
	b.each(func(s *submission) bool {
		if !s.message.In() && (s.fenced.In() || s.written.In()) {
			s.message = at
		}
		return true
	})
	for _, s := range b.asking {
		s.late = at
	}
	b.asking = nil
}
