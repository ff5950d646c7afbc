package inspect

import (
	"strings"
	"sync"
)

// maxLine is the length at which a line without an end is broken, in bytes.
const maxLine = 4096

// Lines is an io.Writer that keeps the last lines of a log. It is a Tail. The zero value is
// ready. Its methods are safe for concurrent use.
type Lines struct {
	mu   sync.Mutex // guards the fields below
	all  []string   // complete lines, at most maxTail
	part []byte     // the line that is not complete
}

// Write implements io.Writer. It never fails.
func (l *Lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, b := range p {
		if b != '\n' {
			l.part = append(l.part, b)
		}
		if b == '\n' || len(l.part) == maxLine {
			l.all = append(l.all, strings.ToValidUTF8(string(l.part), "\ufffd"))
			l.part = l.part[:0]
		}
	}
	if extra := len(l.all) - maxTail; extra > 0 {
		l.all = append([]string(nil), l.all[extra:]...)
	}
	return len(p), nil
}

// Tail implements Tail.
func (l *Lines) Tail(n int) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]string{}, l.all[max(0, len(l.all)-n):]...)
}
