// Package ddi declares what the user-mode and the kernel-mode device driver
// interface share: threads, interrupt levels, handles and status codes.
//
// The interface mirrors WDDM 1.3 and the Direct3D 11.0 DDI. Names are the
// WDK's without Hungarian prefixes; each table and structure says which one it
// mirrors. Function tables are structs of function values that take handles,
// so that a slot can be nil, swapped or wrapped. Input structures go by value,
// or by pointer where the callee fills members in; members of a kernel-mode
// structure that the WDK marks in/out come back in a result structure.
package ddi

import "fmt"

// IRQL is an interrupt request level. A call at one level is interrupted only
// by work at a higher one.
type IRQL uint8

// The levels in use. DIRQL is the level of the adapter's interrupt.
const (
	PassiveLevel  IRQL = 0
	DispatchLevel IRQL = 2
	DIRQL         IRQL = 11
)

var irqlNames = map[IRQL]string{PassiveLevel: "PASSIVE_LEVEL", DispatchLevel: "DISPATCH_LEVEL", DIRQL: "DIRQL"}

// String returns the WDK's name of the level.
func (l IRQL) String() string {
	if s, ok := irqlNames[l]; ok {
		return s
	}
	return fmt.Sprintf("IRQL(%d)", uint8(l))
}

// MaxDepth is the largest number of DDI calls that can be nested on a thread.
const MaxDepth = 64

// A Thread is a thread of the emulated system: the first argument of every DDI
// call and callback. It belongs to one goroutine at a time.
type Thread struct {
	Process uint32 // id of the process, 0 for the system
	ID      uint32 // unique in the process

	irql  IRQL
	depth int
	stack [MaxDepth]string
}

// IRQL returns the level the thread runs at.
func (t *Thread) IRQL() IRQL { return t.irql }

// Raise sets the level and returns the one before. It panics if l is below it,
// which is a mistake of the system's own code (bugcheck 0xA on Windows).
func (t *Thread) Raise(l IRQL) IRQL {
	if l < t.irql {
		panic(fmt.Sprintf("ddi: thread %d:%d raised from %v to %v", t.Process, t.ID, t.irql, l))
	}
	old := t.irql
	t.irql = l
	return old
}

// Lower sets the level back to one that Raise returned.
func (t *Thread) Lower(l IRQL) {
	if l > t.irql {
		panic(fmt.Sprintf("ddi: thread %d:%d lowered from %v to %v", t.Process, t.ID, t.irql, l))
	}
	t.irql = l
}

// Push enters a DDI function, by its WDK name.
func (t *Thread) Push(name string) {
	if t.depth == MaxDepth {
		panic("ddi: calls nested deeper than MaxDepth: " + name)
	}
	t.stack[t.depth] = name
	t.depth++
}

// Pop leaves the DDI function entered last.
func (t *Thread) Pop() {
	t.depth--
	t.stack[t.depth] = ""
}

// Stack returns the DDI functions that the thread is in, outermost first. The
// slice is valid until the next Push or Pop.
func (t *Thread) Stack() []string { return t.stack[:t.depth] }

// A Root is what stands behind an adapter, device or context handle. The system
// owns it; the driver keeps its object in Driver, which it sets in the function
// that creates the object.
type Root struct {
	Driver any
}

// An Object is what stands behind the handle of anything smaller: memory of the
// size that the driver's Calc function returned. The system owns it, hands it
// to the Create function filled with garbage, and never looks at it.
type Object struct {
	Private []byte
}

// KMHandle is a D3DKMT_HANDLE: a kernel object as user mode names it. 0 is none.
type KMHandle uint32

// UserMemory is memory of an application's process as the kernel sees it: it
// may be unmapped and may change between two reads.
type UserMemory interface {
	// Size returns the number of bytes.
	Size() int

	// Read copies len(p) bytes at off into p. It returns
	// StatusInvalidUserBuffer, having copied an unspecified part, if any of
	// them cannot be read.
	Read(off int, p []byte) Status
}
