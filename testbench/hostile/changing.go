package hostile

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

// changing is the application's memory while the application writes to it: it changes
// before and after each read, and each read may be of any part.
type changing struct {
	rand *rand.Rand
	now  []byte
	list []kmddi.PatchLocation

	first     []byte // each byte as it was when it was first read
	firstList []kmddi.PatchLocation
	reads     []int // number of reads of each byte
	listReads []int
}

func newChanging(r *rand.Rand, cmd *command) *changing {
	b := cmd.bytes()
	return &changing{
		rand: r, now: b, list: slices.Clone(cmd.patches),
		first: make([]byte, len(b)), reads: make([]int, len(b)),
		firstList: make([]kmddi.PatchLocation, len(cmd.patches)), listReads: make([]int, len(cmd.patches)),
	}
}

// change writes to both, often with what is harmful at another time: a privileged packet,
// another length, another patch.
func (u *changing) change() {
	c := &command{patches: u.list}
	for range 1 + u.rand.IntN(3) {
		if n := len(u.now); n > 0 {
			u.now[u.rand.IntN(n)] = byte(u.rand.Uint32() >> u.rand.IntN(32))
		}
		if n := len(u.now) / 4; n > 0 && u.rand.IntN(2) == 0 {
			copy(u.now[4*u.rand.IntN(n):], []byte{byte(u.rand.IntN(8)), 0, 0, byte(u.rand.IntN(0x14))})
		}
		if n := len(c.patches); n > 0 {
			p := &c.patches[u.rand.IntN(n)]
			*[]*uint32{&p.AllocationIndex, &p.AllocationOffset, &p.PatchOffset, &p.SplitOffset}[u.rand.IntN(4)] ^= 1 << u.rand.IntN(32)
		}
	}
}

func (u *changing) Size() int { return len(u.now) }

func (u *changing) Read(off int, p []byte) ddi.Status {
	for i := range p {
		if u.rand.IntN(150) == 0 { // another processor writes while this one copies
			u.change()
		}
		p[i] = u.now[off+i]
		if u.reads[off+i]++; u.reads[off+i] == 1 {
			u.first[off+i] = p[i]
		}
	}
	u.change()
	return ddi.StatusSuccess
}

func (u *changing) Len() int { return len(u.list) }

func (u *changing) At(i int) (kmddi.PatchLocation, ddi.Status) {
	u.change()
	if u.listReads[i]++; u.listReads[i] == 1 {
		u.firstList[i] = u.list[i]
	}
	p := u.list[i]
	u.change()
	return p, ddi.StatusSuccess
}

// userPatches is the patch list of a changing memory.
type userPatches struct{ *changing }

// once reports whether each byte and element was read at most once.
func (u *changing) once() bool {
	return !slices.ContainsFunc(u.reads, func(n int) bool { return n > 1 }) &&
		!slices.ContainsFunc(u.listReads, func(n int) bool { return n > 1 })
}

// checkChanging renders a command that changes meanwhile, and then the bytes as they were
// when each was first read. Both give the same.
func (c *commands) checkChanging(u *changing) error {
	render := func(m ddi.UserMemory, list kmddi.UserPatchList) (kmddi.RenderOut, []byte, []kmddi.PatchLocation, ddi.Status) {
		dma, patches := make([]byte, 4096), make([]kmddi.PatchLocation, 64)
		out, s := c.table.Render(c.thread, c.ctx, kmddi.Render{
			Command: m, PatchLocationListIn: list, AllocationList: c.place(false), DmaBuffer: dma, PatchLocationListOut: patches,
		})
		return out, dma, patches, s
	}
	out, dma, patches, s := render(u, userPatches{u})
	if !u.once() {
		return fmt.Errorf("command memory was read more than once")
	}
	out2, dma2, patches2, s2 := render(userCommand{u.first}, userList(u.firstList))
	if out != out2 || s != s2 || !bytes.Equal(dma, dma2) || !slices.Equal(patches, patches2) {
		return fmt.Errorf("the result for memory that changes is %v, want that of one reading, %v", s, s2)
	}
	if s == ddi.StatusSuccess {
		c.legal++
	} else {
		c.refused++
	}
	return nil
}
