package verifier

import (
	"runtime"
	"strings"
	"sync"
)

// A side is the side of the interface that a Go function is on.
type side uint8

// The sides. A wrapper of a function of a driver is entered by the system and
// calls the driver; a wrapper of a callback is entered by the driver and calls
// the system.
const (
	elsewhere side = iota
	inDriver       // a wrapper of a driver's function, which calls the driver
	inSystem       // a wrapper of a callback, which calls the system
	inHook         // calls a hook
)

// sides finds the wrappers on the stack of a goroutine. Go has no identity of a
// goroutine, but a goroutine that a function of a driver started has no wrapper
// of a driver's function on its stack.
type sides struct {
	mu sync.RWMutex
	of map[uintptr]side // by program counter
}

// inDriver reports whether a function of a driver runs on this goroutine.
func (p *sides) inDriver() bool {
	return p.find(3, func(at side) bool { return at == inDriver }) == inDriver
}

// ofPanic returns where the function that panics is. It must be called by a
// deferred function.
func (p *sides) ofPanic() side {
	return p.find(4, func(at side) bool { return at != elsewhere })
}

// find returns the first side on the stack, innermost first, for which is
// returns true, or elsewhere. It leaves out skip frames.
func (p *sides) find(skip int, is func(side) bool) side {
	var pcs [32]uintptr
	for {
		n := runtime.Callers(skip, pcs[:])
		for _, pc := range pcs[:n] {
			if at := p.side(pc); is(at) {
				return at
			}
		}
		if n < len(pcs) {
			return elsewhere
		}
		skip += n
	}
}

// side returns the side of the function that contains pc.
func (p *sides) side(pc uintptr) side {
	p.mu.RLock()
	at, ok := p.of[pc]
	p.mu.RUnlock()
	if ok {
		return at
	}
	at = sideOf(pc)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.of == nil {
		p.of = map[uintptr]side{}
	}
	p.of[pc] = at
	return at
}

// sideOf looks at the name of the function.
func sideOf(pc uintptr) side {
	// A program counter on the stack is that of the return, after the call.
	f := runtime.FuncForPC(pc - 1)
	if f == nil {
		return elsewhere
	}
	name, ok := strings.CutPrefix(f.Name(), "github.com/hilgpu/hilgpu/runtime/verifier.")
	if !ok {
		return elsewhere
	}
	// A wrapper that the compiler inlined has the name of its caller first.
	parts := strings.Split(name, ".")
	name = parts[0]
	for _, part := range parts[1:] {
		if strings.HasPrefix(part, "wrap") {
			name = part
		}
	}
	switch {
	case name == "callEnter" || name == "callLeave":
		return inHook
	case name == "WrapThunks", strings.HasPrefix(name, "wrap") && (strings.HasSuffix(name, "Callbacks") || strings.HasSuffix(name, "Interface")):
		return inSystem
	case strings.HasPrefix(name, "wrap"), strings.HasPrefix(name, "Wrap"):
		return inDriver
	}
	return elsewhere
}
