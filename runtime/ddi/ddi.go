// Package ddi declares the common part of the user-mode and the kernel-mode
// device driver interface: threads, interrupt levels, handles and status codes.
//
// The interface mirrors WDDM 1.3 and the Direct3D 11.0 DDI. Names are those of
// the WDK without Hungarian prefixes; each table and structure names its
// original. Function tables are structs of function values on handles, so that
// an entry can be nil, replaced or wrapped. Input structures are passed by
// value, or by pointer if the callee fills in fields. In/out fields of a
// kernel-mode structure are returned in a result structure.
package ddi

import (
	"fmt"
	"strings"
)

// IRQL is an interrupt request level. A call is interrupted only by work at a
// higher level.
type IRQL uint8

// The supported levels. DIRQL is the level of the adapter's interrupt.
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

// MarshalText returns the name of the level.
func (l IRQL) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// UnmarshalText sets the level to the one with the given name.
func (l *IRQL) UnmarshalText(text []byte) error {
	for level, name := range irqlNames {
		if name == string(text) {
			*l = level
			return nil
		}
	}
	return fmt.Errorf("ddi: level %q, want PASSIVE_LEVEL, DISPATCH_LEVEL or DIRQL", text)
}

// MaxDepth is the maximum nesting of DDI calls on a thread.
const MaxDepth = 64

// A Thread is a thread of the emulated system and the first argument of every
// DDI call and callback. It must be used by one goroutine at a time.
type Thread struct {
	Process uint32 // ID of the process, 0 for the system
	ID      uint32 // unique within the process

	irql  IRQL
	depth int
	stack [MaxDepth]string
}

// IRQL returns the current level of the thread.
func (t *Thread) IRQL() IRQL { return t.irql }

// Raise raises the level to l and returns the previous level. It panics with a
// *LevelError if l is below the current level, which is a bug in the caller
// (bugcheck 0xA on Windows).
func (t *Thread) Raise(l IRQL) IRQL {
	if l < t.irql {
		panic(&LevelError{Raise: true, From: t.irql, To: l})
	}
	old := t.irql
	t.irql = l
	return old
}

// Lower lowers the level to one returned by Raise. It panics with a *LevelError
// if l is above the current level.
func (t *Thread) Lower(l IRQL) {
	if l > t.irql {
		panic(&LevelError{From: t.irql, To: l})
	}
	t.irql = l
}

// A LevelError is the value of a panic: a thread was raised to a lower level, or
// lowered to a higher one.
type LevelError struct {
	Raise    bool // Raise was called, not Lower
	From, To IRQL
}

// Error describes the change of level.
func (e *LevelError) Error() string {
	if e.Raise {
		return fmt.Sprintf("Raise from %v to %v, want a level that is not lower", e.From, e.To)
	}
	return fmt.Sprintf("Lower from %v to %v, want a level that is not higher", e.From, e.To)
}

// BrokenRule returns the rule of package verifier, and the change.
func (e *LevelError) BrokenRule() (name, function, found string) { return "irql-change", "", e.Error() }

// Push enters the DDI function with the given WDK name and reports whether no
// other is active on the thread. Push, Pop and Unwind are for the system: a driver
// that calls them breaks a rule.
func (t *Thread) Push(name string) (outermost bool) {
	if t.depth == MaxDepth {
		panic("ddi: calls nested deeper than MaxDepth: " + name)
	}
	t.stack[t.depth] = name
	t.depth++
	return t.depth == 1
}

// A StackError is the value of a panic: the DDI functions on a thread are not those
// that run.
type StackError struct {
	Function string   // that returns, or "" for the innermost one
	Stack    []string // on the thread, outermost first
}

// Error describes the difference.
func (e *StackError) Error() string {
	if e.Function == "" {
		return "Pop on a thread that is in no function"
	}
	got := strings.Join(e.Stack, " > ")
	if got == "" {
		got = "empty"
	}
	return fmt.Sprintf("the stack of the thread is %s at the return, want %s as its last entry", got, e.Function)
}

// BrokenRule returns the rule of package verifier, the function and the difference.
func (e *StackError) BrokenRule() (name, function, found string) {
	return "thread-stack", e.Function, e.Error()
}

// Pop leaves the most recently entered DDI function. It panics with a *StackError
// if there is none.
func (t *Thread) Pop() {
	if t.depth == 0 {
		panic(&StackError{})
	}
	t.depth--
	t.stack[t.depth] = ""
}

// Unwind leaves all DDI functions and lowers the level to PASSIVE_LEVEL, after a
// panic.
func (t *Thread) Unwind() {
	clear(t.stack[:t.depth])
	t.depth, t.irql = 0, PassiveLevel
}

// Stack returns the DDI functions active on the thread, outermost first. The
// slice is valid until the next Push or Pop.
func (t *Thread) Stack() []string { return t.stack[:t.depth] }

// A Root is the object of an adapter, device or context handle. The system owns
// it. The driver stores its object in Driver, in the function that creates the
// object. A deferred context also has private memory, as an Object has. It keeps
// its place, size and content when the context is recycled.
type Root struct {
	Driver  any
	Private []byte // of the size that CalcPrivateDeferredContextSize returned; nil for others
}

// An Object is the object of any other handle, with private memory of the size
// returned by the driver's Calc function, 0 to 1 MiB. The system owns it, passes it
// uninitialized to the Create function and never uses its content. It holds bytes and
// no Go values: a driver stores an index there and keeps the values in a table of its
// device, or uses the pointer to the Object as the key of a map.
type Object struct {
	Private []byte
}

// KMHandle is a D3DKMT_HANDLE, a user-mode handle of a kernel object. 0 is no
// object.
type KMHandle uint32

// UserMemory is memory of an application's process as seen by the kernel. It
// may be unmapped and may change between two reads.
type UserMemory interface {
	// Size returns the number of bytes.
	Size() int

	// Read copies len(p) bytes at off into p. It returns
	// StatusInvalidUserBuffer if any byte cannot be read; the content of p is
	// then undefined.
	Read(off int, p []byte) Status
}
