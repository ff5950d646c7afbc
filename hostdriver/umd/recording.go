package umd

// A recording holds the commands of a list being recorded: the first ones in
// head, which is copied to the private memory of the list's handle, the others
// in chunks.
type recording struct {
	cache cache
	head  []byte // buffer of headBytes
	flags uint32 // flags of the list: listPredicated, listMaps

	// mem is head or the last chunk, filled up to used; nil if out of memory.
	mem    []byte
	used   int
	inHead int      // bytes used in head, once there are chunks
	chunks [][]byte // after head; all but the last are truncated to their used size
	bytes  int      // total size of the chunks
	lost   bool     // a command was dropped for lack of memory
}

// begin starts an empty recording.
func (r *recording) begin() {
	r.mem, r.used, r.inHead, r.bytes, r.flags, r.lost = r.head, 0, 0, 0, 0, false
}

// end ends the recording but keeps its commands. Nothing more is recorded until
// begin.
func (r *recording) end() {
	r.finishBuffer()
	r.mem, r.used = nil, 0
}

// finishBuffer ends the filling of mem.
func (r *recording) finishBuffer() {
	if n := len(r.chunks); n > 0 {
		r.chunks[n-1] = r.chunks[n-1][:r.used]
	} else {
		r.inHead = r.used
	}
}

// extend adds a chunk and returns its first n bytes. It returns nil if there is
// no memory or the list would be too large; then the rest of the recording is
// lost.
func (r *recording) extend(n int) []byte {
	if r.mem == nil {
		return nil
	}
	r.finishBuffer()
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

// abandon drops the recording.
func (r *recording) abandon() {
	r.mem, r.used, r.inHead, r.flags = nil, 0, 0, 0
	r.cache.put(r.chunks)
	r.chunks = r.chunks[:0]
}

// chunk returns buffer i of the recording; 0 is head.
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

// lastDiscard returns the location of the size bytes of contents of the last
// discard of subresource 0 of a resource: the index of its chunk and an offset
// in it. The search starts at a known discard, chunk i at offset.
func (r *recording) lastDiscard(k id, size uint64, i int, offset uint32) (int, uint32) {
	first, known, last := i, offset, i
	for ; i <= len(r.chunks); i++ {
		all := r.filled(i)
		op, cmd, rest, ok := nextCommand(all)
		for ; ok; op, cmd, rest, ok = nextCommand(rest) {
			at := uint32(len(all) - len(rest) - len(cmd))
			after := i > first || at > known
			if !after || op != opDiscard || commandID(cmd[8:]) != k || le.Uint32(cmd[16:]) != 0 {
				continue
			}
			if from := le.Uint32(cmd[24:]); uint64(from)+size <= uint64(len(cmd)) {
				last, offset = i, at+from
			}
		}
	}
	return last, offset
}
