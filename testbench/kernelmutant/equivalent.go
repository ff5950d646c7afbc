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
	{"visit", "Kernel.alone", "k.gate.yield(t, func() bool { return k.visits == 0 })", "0 becomes (0 + 1)", "the loop asks again"},
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
	{"recover", "Kernel.recoverItself", "if k.tdrLimit > 0 {", "k.tdrLimit > 0 becomes k.tdrLimit >= 0", "Start leaves no limit of 0"},
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
