package regs

import (
	"fmt"
	"strings"
)

// An Assignment is a target and the value to write to it.
type Assignment struct {
	Target Target
	Value  uint64
}

// SplitAssignments splits the words of a command line, either NAME VALUE or
// NAME=VALUE..., into names and values. It fails with ErrName.
func SplitAssignments(words []string) (names, values []string, err error) {
	if len(words) == 2 && !strings.Contains(words[0], "=") {
		return words[:1], words[1:], nil
	}
	for _, w := range words {
		name, value, ok := strings.Cut(w, "=")
		if !ok || name == "" || value == "" {
			return nil, nil, fmt.Errorf("%w: %q, want NAME VALUE or NAME=VALUE", ErrName, w)
		}
		names, values = append(names, name), append(values, value)
	}
	return names, values, nil
}

// Assign returns the assignments of values, in the syntax of Parse, to names.
// It fails with ErrName for a name that is not exactly one register, field or
// pair, with ErrValue, and with ErrRefused for a target that CheckWrite
// refuses.
func (n *Names) Assign(names, values []string) ([]Assignment, error) {
	var all []Assignment
	for i, name := range names {
		ts, err := n.Find(name)
		if err != nil {
			return nil, err
		}
		if len(ts) != 1 {
			return nil, fmt.Errorf("%w: %q matches %d registers or fields, want one for a write", ErrName, name, len(ts))
		}
		v, err := ts[0].Parse(values[i])
		if err == nil {
			err = ts[0].CheckWrite()
		}
		if err != nil {
			return nil, err
		}
		all = append(all, Assignment{ts[0], v})
	}
	return all, nil
}
