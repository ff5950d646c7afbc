package dxgkrnl

import (
	"fmt"
	"slices"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/umddi"
)

// userMemory is the part of a command buffer that the miniport may read.
type userMemory struct {
	b []byte

	once  bool   // each byte must be read at most once
	seen  []bool // bytes that were read
	twice string // what was read twice
}

// begin prepares a call of the miniport.
func (m *userMemory) begin() {
	if m.twice = ""; m.once {
		m.seen = append(m.seen[:0], make([]bool, len(m.b))...)
	}
}

// note notes that the miniport reads n bytes at off.
func (m *userMemory) note(off, n int) {
	if !m.once || m.twice != "" {
		return
	}
	seen := m.seen[off : off+n]
	if i := slices.Index(seen, true); i >= 0 {
		m.twice = fmt.Sprintf("byte %d of Command was read twice", off+i)
		return
	}
	for i := range seen {
		seen[i] = true
	}
}

// Size returns the number of bytes.
func (m *userMemory) Size() int { return len(m.b) }

// Read copies len(p) bytes at off into p, or returns StatusInvalidUserBuffer.
func (m *userMemory) Read(off int, p []byte) ddi.Status {
	if off < 0 || off > len(m.b) || len(p) > len(m.b)-off {
		return ddi.StatusInvalidUserBuffer
	}
	m.note(off, len(p))
	copy(p, m.b[off:])
	return ddi.StatusSuccess
}

// userPatchList is a user-mode driver's patch location list.
type userPatchList struct {
	list []umddi.PatchLocation

	once  bool   // each element must be read at most once
	seen  []bool // elements that were read
	twice string // what was read twice
}

// begin prepares a call of the miniport.
func (l *userPatchList) begin() {
	if l.twice = ""; l.once {
		l.seen = append(l.seen[:0], make([]bool, len(l.list))...)
	}
}

// Len returns the number of elements.
func (l *userPatchList) Len() int { return len(l.list) }

// At reads element i, or returns StatusInvalidUserBuffer.
func (l *userPatchList) At(i int) (kmddi.PatchLocation, ddi.Status) {
	if i < 0 || i >= len(l.list) {
		return kmddi.PatchLocation{}, ddi.StatusInvalidUserBuffer
	}
	if l.once {
		if l.seen[i] && l.twice == "" {
			l.twice = fmt.Sprintf("element %d of PatchLocationListIn was read twice", i)
		}
		l.seen[i] = true
	}
	return kmddi.PatchLocation(l.list[i]), ddi.StatusSuccess
}
