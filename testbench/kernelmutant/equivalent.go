package kernelmutant

// An equivalent mutant does what the kernel does, for a reason.
type equivalent struct {
	file, function string
	line           string // of the source, without the space around it
	change         string // as Change returns it
	why            string
}

// equivalents are the mutants that Pick leaves out.
var equivalents = []equivalent{
	{"pick", "Kernel.candidates", "if len(list) > 1 {", "len(list) > 1 becomes len(list) >= 1", "a list of one is sorted"},
	{"pick", "Kernel.candidates", "if len(list) > 1 {", "1 becomes (1 - 1)", "a list of one is sorted"},
	{"pick", "Kernel.rank", "if len(k.able) > 1 {", "len(k.able) > 1 becomes len(k.able) >= 1", "one context waits for no other one"},
	{"pick", "Kernel.rank", "if len(k.able) > 1 {", "1 becomes (1 - 1)", "one context waits for no other one"},
	{"pick", "Kernel.lift", "if c.level < level {", "c.level < level becomes c.level <= level", "a level is set to itself"},
	{"wait", "Kernel.wait", "return ddi.StatusDeviceRemoved", "without return ddi.StatusDeviceRemoved", "a reset waits until no other thread is inside, and the adapter has an error before it"},
	{"work", "Kernel.memorySegment", "return nil", "without return nil", "an operation has a segment of the adapter at one end"},
	{"work", "Kernel.memorySegment", "if id == kmddi.SegmentNone || uint64(id) > uint64(len(k.segments)) {", "id == kmddi.SegmentNone || uint64(id) > uint64(len(k.segments)) becomes (id == kmddi.SegmentNone && uint64(id) > uint64(len(k.segments)))", "an operation has a segment of the adapter at one end"},
	{"lock", "Kernel.pinnable", "if !a.inMemorySegment() && !a.inAperture() || a.pinned {", "!a.inMemorySegment() && !a.inAperture() || a.pinned becomes (!a.inMemorySegment() && !a.inAperture() && a.pinned)", "queued work always finds places beside what is pinned, and a lock pins again"},
	{"job", "Kernel.orderJob", "return", "without return", "a device of one context has no other one in the loop"},
	{"vidsch", "Kernel.recycle", "k.spare = append(k.spare, s)", "without k.spare = append(k.spare, s)", "the garbage collector takes it"},
	{"vidsch", "Kernel.newSubmission", "if i := len(k.spare) - 1; i >= 0 {", "i >= 0 becomes i > 0", "one more submission is allocated"},
	{"residency", "Kernel.ample", "return true", "true becomes !(true)", "the exact check decides instead"},
	{"segment", "segment.gap", "if start >= at && start <= end && span <= end-start {", "start <= end becomes start < end", "each allocation has a byte"},
	{"content", "Kernel.compareContent", "if i := difference(got, want); i >= 0 {", "got, want becomes want, got", "the order matters only for the text"},
	{"content", "Kernel.compareContent", "got, want = want, got", "without got, want = want, got", "the order matters only for the text, and a FILL has no host memory"},
	{"gate", "Kernel.run", "g.order, g.crew, g.procs, g.out = rand.New(rand.NewPCG(seed, 0)), crew, procs, len(tasks)", "seed, 0 becomes 0, seed", "each seed has an order of its own either way"},
	{"recover", "Kernel.recoverItself", "if k.tdrLimit > 0 && k.err.Kind != Link {", "k.tdrLimit > 0 becomes k.tdrLimit >= 0", "Start leaves no limit of 0"},
	{"pick", "Kernel.lift", "if o := m.line.context; o != nil && !m.completed() && !m.running() && o.waits() && o.level < level {", "o.level < level becomes o.level <= level", "rank lifts what o waits for to the level of o anyway"},
	{"pick", "Kernel.lift", "if o := e.job.dma.context; (e.waits() || o.holds(e.job)) && o.level < level {", "o.level < level becomes o.level <= level", "rank lifts what o waits for to the level of o anyway"},
	{"pick", "Kernel.candidates", "k.picked = list", "without k.picked = list", "one more list is allocated"},
	{"victim", "Kernel.leavesBefore", "return x < y", "x < y becomes x <= y", "x and y differ"},
	{"victim", "Kernel.leavesBefore", "return cmp.Or(cmp.Compare(a.offer, b.offer), cmp.Compare(a.touched, b.touched)) < 0", "cmp.Or(cmp.Compare(a.offer, b.offer), cmp.Compare(a.touched, b.touched)) < 0 becomes cmp.Or(cmp.Compare(a.offer, b.offer), cmp.Compare(a.touched, b.touched)) <= 0", "each use has a number of its own"},
	{"victim", "Kernel.leavesBefore", "return cmp.Or(cmp.Compare(a.offer, b.offer), cmp.Compare(a.touched, b.touched)) < 0", "0 becomes (0 + 1)", "each use has a number of its own"},
	{"victim", "Kernel.leavesBefore", "return cmp.Or(cmp.Compare(a.priority, b.priority), cmp.Compare(a.touched, b.touched)) < 0", "cmp.Or(cmp.Compare(a.priority, b.priority), cmp.Compare(a.touched, b.touched)) < 0 becomes cmp.Or(cmp.Compare(a.priority, b.priority), cmp.Compare(a.touched, b.touched)) <= 0", "each use has a number of its own"},
	{"victim", "Kernel.leavesBefore", "return cmp.Or(cmp.Compare(a.priority, b.priority), cmp.Compare(a.touched, b.touched)) < 0", "0 becomes (0 + 1)", "each use has a number of its own"},
	{"preempt", "Kernel.outranks", "return cmp.Or(cmp.Compare(c.used/k.quantum, used/k.quantum), cmp.Compare(job, s.job.id)) < 0", "cmp.Or(cmp.Compare(c.used/k.quantum, used/k.quantum), cmp.Compare(job, s.job.id)) < 0 becomes cmp.Or(cmp.Compare(c.used/k.quantum, used/k.quantum), cmp.Compare(job, s.job.id)) <= 0", "two contexts have no job in common"},
	{"preempt", "Kernel.outranks", "return cmp.Or(cmp.Compare(c.used/k.quantum, used/k.quantum), cmp.Compare(job, s.job.id)) < 0", "0 becomes (0 + 1)", "two contexts have no job in common"},
	{"wait", "Kernel.deadline", "if d := n.progressAt + delay; n.busy() && (!found || d < first) {", "d < first becomes d <= first", "a time is set to itself"},
	{"work", "Kernel.pagingOp", "a.pagings++", "a.pagings++ becomes a.pagings--", "the count is only compared with an earlier one"},
	{"content", "Kernel.compareContent", "if uint64(cap(k.peeked)) < o.size {", "uint64(cap(k.peeked)) < o.size becomes uint64(cap(k.peeked)) <= o.size", "one more slice is allocated"},
	{"move", "segment.clearingAt", "if end < at || end > s.desc.Size {", "end < at becomes end <= at", "each allocation has a byte"},
	{"recover", "Kernel.dropSubmissions", "k.paging.waits = k.paging.waits[:0]", "without k.paging.waits = k.paging.waits[:0]", "all of them count as completed then, and marks.add drops such"},
	{"recover", "Kernel.recoverItself", "if k.tdrLimit > 0 && k.err.Kind != Link {", "0 becomes (0 - 1)", "Start leaves no limit of 0"},
	{"gate", "gate.await", "v := &visitor{number: g.member(t), ready: ready, turn: make(chan struct{}, 1)}", "1 becomes (1 + 1)", "a visitor gets one turn"},
	{"lent", "repeatFill", "for n := 1; n < len(s); n *= 2 {", "n < len(s) becomes n <= len(s)", "a copy to the end of a slice copies nothing"},
	{"paging", "Kernel.build", "progress = out.DmaBufferUsed > 0 || out.MultipassOffset != op.MultipassOffset", "0 becomes (0 + 1)", "DmaBufferUsed is a multiple of 4"},
	{"lock", "Kernel.pinnable", "return true", "without return true", "queued work always finds places beside what is pinned, and a lock pins again"},
	{"recover", "Kernel.recover", "k.resets++", "k.resets++ becomes k.resets--", "the count is only compared with an earlier one"},
	{"job", "Kernel.dropWork", "j.made = true", "without j.made = true", "only jobs of the same device wait for it, which is removed"},
	{"gate", "gate.peek", "return", "without return", "admit gives no turn while one is kept"},
	{"preempt", "Kernel.outranks", "return level > at", "level > at becomes level >= at", "level and at differ"},
	{"gate", "Kernel.Run", "crew[task.Thread] = i + 1", "1 becomes (1 + 1)", "only the order of the numbers matters"},
	{"gate", "Kernel.RunProcesses", "procs[p.ID] = i + 1", "1 becomes (1 + 1)", "only the order of the numbers matters"},
	{"preempt", "Kernel.runningLevel", "if c.level > level && len(c.pending) > 0 && slices.ContainsFunc(c.pending[0].waits, func(m mark) bool {", "c.level > level becomes c.level >= level", "a level is set to itself"},
	{"allocation", "Kernel.pageList", "if size > k.machine.MemBytes() {", "size > k.machine.MemBytes() becomes size >= k.machine.MemBytes()", "a part of the memory is in use since Start, so AllocList fails too"},
	{"lent", "difference", "if bytes.Equal(a, b) {", "a, b becomes b, a", "equality has no order"},
	{"vidsch", "Kernel.newSubmission", "if i := len(k.spare) - 1; i >= 0 {", "0 becomes (0 + 1)", "one more submission is allocated"},
	{"job", "Kernel.drain", "return s", "without return s", "the adapter has an error until the thread has left, so idle fails with it"},
	{"aperture", "Kernel.noteMapping", "k.remaps++", "k.remaps++ becomes k.remaps--", "the number is only compared with those of other operations"},
	{"wait", "Kernel.late", "return false", "without return false", "a thread that goes on to wait delivers the messages next, and the times of the nodes only grow"},
	{"segment", "segment.insert", "s.inserted++", "s.inserted++ becomes s.inserted--", "the count is only compared with an earlier one"},
	{"aperture", "Kernel.noteMapping", "if n := uint64(len(s.mapped)); n < end {", "n < end becomes n <= end", "no element is added"},
}

// equivalent returns why a mutant does what the kernel does, or "" if it does not.
func (m *Mutant) equivalent() string {
	for _, e := range equivalents {
		if e.matches(m) {
			return e.why
		}
	}
	return ""
}

func (e *equivalent) matches(m *Mutant) bool {
	return e.file+".go" == m.File && e.function == m.Function && e.line == m.Source && e.change == m.Change()
}
