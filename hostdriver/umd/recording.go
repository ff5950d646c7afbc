package umd

// A recording is the commands of a list that is being recorded: the first of
// them in head, which goes to the private memory of the list's handle, the
// others in chunks.
type recording struct {
	cache cache
	head  []byte // headBytes of memory
	flags uint32 // of the list: listPredicated, listMaps

	// mem is what is being filled, head or the last chunk, up to used. Without
	// memory, mem is nil: then nothing more is recorded.
	mem    []byte
	used   int
	inHead int      // bytes used of head, once there are chunks
	chunks [][]byte // behind head; all but the last are cut to what is used
	bytes  int      // of memory in chunks
	lost   bool     // a command was dropped because there was no memory
}

// begin begins an empty recording.
func (r *recording) begin() {
	r.mem, r.used, r.inHead, r.bytes, r.flags, r.lost = r.head, 0, 0, 0, 0, false
}

// end ends the recording: nothing more is recorded until begin. What is
// recorded stays.
func (r *recording) end() {
	r.cut()
	r.mem, r.used = nil, 0
}

// cut ends the filling of mem.
func (r *recording) cut() {
	if n := len(r.chunks); n > 0 {
		r.chunks[n-1] = r.chunks[n-1][:r.used]
	} else {
		r.inHead = r.used
	}
}

// extend goes on in another chunk, and returns its first n bytes. It returns nil
// if there is no memory, or the list would be too large; then the rest of the
// recording is lost.
func (r *recording) extend(n int) []byte {
	if r.mem == nil {
		return nil
	}
	r.cut()
	var p []byte
	least := firstChunk << min(2*len(r.chunks), growthBits)
	if size, class := chunkClass(max(n, least)); size <= maxListBytes-r.bytes {
		p = r.cache.take(size, class)
	}
	if p == nil {
		r.mem, r.used, r.lost = nil, 0, true
		return nil
	}
	r.chunks = append(r.chunks, p)
	r.bytes += len(p)
	r.mem, r.used = p, n
	return p[:n:n]
}

// abandon drops what is recorded.
func (r *recording) abandon() {
	r.mem, r.used, r.inHead, r.flags = nil, 0, 0, 0
	r.cache.give(r.chunks)
	r.chunks = r.chunks[:0]
}

// chunk returns the memory that is number i of the recording, 0 for head.
func (r *recording) chunk(i int) []byte {
	if i == 0 {
		return r.head
	}
	if i > len(r.chunks) {
		return nil
	}
	p := r.chunks[i-1]
	return p[:cap(p)]
}

// filled returns the commands in chunk(i).
func (r *recording) filled(i int) []byte {
	switch {
	case i == len(r.chunks):
		return r.mem[:r.used]
	case i == 0:
		return r.head[:r.inHead]
	}
	return r.chunks[i-1]
}

// lastDiscard returns where the size bytes of contents of the last discard of
// subresource 0 of a resource are: in chunk(i) at an offset, those of a discard
// that is known, or behind it.
func (r *recording) lastDiscard(k id, size uint64, i int, offset uint32) (int, uint32) {
	first, known, last := i, offset, i
	for ; i <= len(r.chunks); i++ {
		all := r.filled(i)
		op, cmd, rest, ok := nextCommand(all)
		for ; ok; op, cmd, rest, ok = nextCommand(rest) {
			at := uint32(len(all) - len(rest) - len(cmd))
			behind := i > first || at > known
			if !behind || op != opDiscard || commandID(cmd[8:]) != k || le.Uint32(cmd[16:]) != 0 {
				continue
			}
			if from := le.Uint32(cmd[24:]); uint64(from)+size <= uint64(len(cmd)) {
				last, offset = i, at+from
			}
		}
	}
	return last, offset
}
