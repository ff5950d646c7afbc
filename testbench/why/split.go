package why

import (
	"encoding/json"
	"fmt"

	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
	"github.com/hilgpu/hilgpu/testbench/eventlog"
)

// Design note: nothing says which function of a deferred context made which packet of its list, since the driver
// keeps a list in memory of its own. But functions and packets have the same order, and each function makes one packet or
// several that follow each other. So the packets are split among the functions in each way that fits their arguments:
// the resource, the region, the number of bytes. A packet is known if it belongs to the same function in all ways.

// A work is a function of the driver that moves data, as a deferred context recorded it.
type work struct {
	fills bool
	line  eventlog.Line // its entry
}

// A piece is a packet that moves data: part of a work.
type piece struct {
	*packet
	sub *submission

	fill, rect bool
	owner      string // resource that it writes; "": unknown
	at, bytes  uint64 // of a linear packet: offset in the allocation that it writes, and length
	x, y, w, h int    // of a rectangle
	known      bool   // at is known
	srcX, srcY int
}

// A box is a region of a resource.
type box struct{ Left, Top, Right, Bottom int }

// A task is what the line of a work says.
type task struct {
	name, owner string
	fills       bool
	x, y        int
	box         *box
	bytes       uint64 // that linear packets write; 0: unknown
	rows, rects int    // that rectangles write, and how many there are; 0: unknown
}

// A resourceInfo is what the log says of a resource.
type resourceInfo struct {
	Args struct {
		Arg *struct {
			MipInfoList       []struct{ TexelWidth, TexelHeight int }
			ResourceDimension string
			MipLevels         int
			ArraySize         int
		}
		Res, Rt string
	}
}

// An allocateLine is what a line of the trace says of pfnAllocateCb.
type allocateLine struct {
	Args struct {
		Arg struct {
			Resource       string
			AllocationInfo []struct{ Allocation string }
		}
	}
}

// workLine is what a line of the trace says of a work.
type workLine struct {
	Name string
	Args struct {
		Dst, V string
		X, Y   int
		Sub    int
		Box    *box
	}
}

// owners are the resources of a log.
type owners struct {
	runtime map[string]string        // names of the runtime, by those of the driver
	of      map[string]string        // resource, by allocation
	infos   map[string]*resourceInfo // by the runtime's name
}

// resources returns the resources of a process.
func (r *Run) resources(process uint32) owners {
	o := owners{map[string]string{}, map[string]string{}, map[string]*resourceInfo{}}
	for e := range r.made.all() {
		if e.process != process {
			continue
		}
		text := []byte(e.line.String())
		var info resourceInfo
		var line allocateLine
		switch {
		case e.back:
			if json.Unmarshal(text, &line) == nil {
				for _, a := range line.Args.Arg.AllocationInfo {
					o.of[a.Allocation] = line.Args.Arg.Resource
				}
			}
		case json.Unmarshal(text, &info) == nil:
			o.runtime[info.Args.Res] = info.Args.Rt
			if info.Args.Arg != nil {
				o.infos[info.Args.Rt] = &info
			}
		}
	}
	return o
}

// task returns what a work does.
func (o owners) task(w work) task {
	t := task{fills: w.fills}
	var l workLine
	if json.Unmarshal([]byte(w.line.String()), &l) != nil {
		return t
	}
	t.name, t.owner, t.box, t.x, t.y = l.Name, o.runtime[l.Args.Dst], l.Args.Box, l.Args.X, l.Args.Y
	if t.box != nil {
		t.bytes, t.rows = uint64(max(0, t.box.Right-t.box.Left)), t.box.Bottom-t.box.Top
	}
	info := o.infos[t.owner]
	if info == nil || t.box != nil || len(info.Args.Arg.MipInfoList) == 0 {
		return t
	}
	mips := info.Args.Arg.MipInfoList
	whole := mips[l.Args.Sub%len(mips)]
	switch {
	case info.Args.Arg.ResourceDimension == "Buffer":
		t.bytes = uint64(whole.TexelWidth)
	case t.name == "pfnResourceUpdateSubresourceUP":
		t.rows = whole.TexelHeight
	case t.name == "pfnResourceCopy":
		t.rects = max(1, info.Args.Arg.MipLevels) * max(1, info.Args.Arg.ArraySize)
	}
	return t
}

// pieceOf returns what a packet of a submission moves. dst is the SET_STATE of the destination before it, or nil.
func (o owners) pieceOf(s *submission, p, dst *packet) piece {
	c := piece{packet: p, sub: s}
	d, _, err := pkt.Decode(p.data)
	if err != nil {
		return c
	}
	field, of := uint32(0), p
	switch d := d.(type) {
	case pkt.Copy:
		c.bytes, field = uint64(d.Bytes), 12
	case pkt.Fill:
		c.fill, c.bytes, field = true, uint64(d.Bytes), 4
	case pkt.Copy2D:
		c.rect, c.x, c.y, c.w, c.h, c.srcX, c.srcY = true, int(d.DstX), int(d.DstY), int(d.W), int(d.H), int(d.SrcX), int(d.SrcY)
		field, of = 8, dst
	case pkt.Fill2D:
		c.fill, c.rect, c.x, c.y, c.w, c.h = true, true, int(d.X), int(d.Y), int(d.W), int(d.H)
		field, of = 8, dst
	}
	if of == nil {
		return c
	}
	for _, u := range s.uses {
		if u.offset == of.offset+field {
			c.owner, c.at, c.known = o.of[fmt.Sprintf("%#x", u.allocation)], u.within, true
		}
	}
	return c
}

// A share is the packets that a task has so far.
type share struct {
	n     int
	bytes uint64
	rows  int
	last  *piece
}

// take adds the next packet to a share. It reports whether the packet can belong to the task, and whether the
// task can end with it.
func (t *task) take(s *share, p *piece) (fits, ends bool) {
	if p.fill != t.fills || t.owner != "" && p.owner != "" && p.owner != t.owner {
		return false, false
	}
	if p.rect {
		fits, ends = t.takeRect(s, p)
	} else {
		follows := s.n == 0 || s.last.known && p.known && s.last.owner == p.owner && s.last.at+s.last.bytes == p.at
		s.bytes += p.bytes
		fits, ends = follows && (t.bytes == 0 || s.bytes <= t.bytes), t.bytes == 0 || s.bytes == t.bytes
	}
	s.n, s.last = s.n+1, p
	return fits, ends
}

// takeRect is take for a packet that moves a rectangle.
func (t *task) takeRect(s *share, p *piece) (fits, ends bool) {
	b := t.box
	switch t.name {
	case "pfnResourceCopyRegion":
		fits = s.n == 0 && p.x == t.x && p.y == t.y
		if b != nil {
			fits = fits && p.srcX == b.Left && p.srcY == b.Top && p.w == b.Right-b.Left && p.h == b.Bottom-b.Top
		}
		return fits, true
	case "pfnResourceUpdateSubresourceUP":
		left, top := 0, 0
		if b != nil {
			left, top = b.Left, b.Top
		}
		fits = p.x == left && p.y == top+s.rows && (b == nil || p.w == b.Right-b.Left)
		s.rows += p.h
		return fits && (t.rows == 0 || s.rows <= t.rows), t.rows == 0 || s.rows == t.rows
	}
	return t.rects == 0 || s.n < t.rects, t.rects == 0 || s.n+1 == t.rects
}

// maxSplit bounds the ways in which packets are split, as the product of the numbers of tasks and packets, and
// maxShare the packets of a task.
const (
	maxSplit = 1 << 20
	maxShare = 1 << 10
)

// split returns where the packets of each task begin, and at the end where those of the last one end: -1 where that
// is not the same in all ways. It returns nil if there is no way, or if there are too many to look at.
func split(tasks []task, pieces []piece) []int {
	n, m := len(tasks), len(pieces)
	if n == 0 || n > m || n*m > maxSplit {
		return nil
	}
	from := make([][]int, n+1) // begins from which task i can begin at j: ends of task i-1 lead there
	ends := make([]map[int][]int, n)
	from[0] = []int{0}
	for i := range tasks {
		ends[i] = map[int][]int{}
		seen := map[int]bool{}
		for _, j := range from[i] {
			var s share
			for k := j; k < min(m, j+maxShare); k++ {
				fits, end := tasks[i].take(&s, &pieces[k])
				if !fits {
					break
				}
				if !end {
					continue
				}
				ends[i][j] = append(ends[i][j], k+1)
				if !seen[k+1] {
					seen[k+1] = true
					from[i+1] = append(from[i+1], k+1)
				}
			}
		}
	}
	return unique(from, ends, m)
}

// unique returns the begins of tasks that are the same in all ways that end at m.
func unique(from [][]int, ends []map[int][]int, m int) []int {
	n := len(ends)
	good := map[int]bool{m: true}
	at := make([]int, n+1)
	for i := n; i >= 0; i-- {
		before, ways := map[int]bool{}, 0
		for _, j := range from[i] {
			leads := i == n && j == m
			if i < n {
				for _, k := range ends[i][j] {
					leads = leads || good[k]
				}
			}
			if leads {
				before[j], at[i] = true, j
				ways++
			}
		}
		if ways == 0 {
			return nil
		}
		if ways > 1 {
			at[i] = -1
		}
		good = before
	}
	return at
}
