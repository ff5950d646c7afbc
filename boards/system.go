package boards

import (
	"fmt"
	"net/url"
	"runtime"
	"slices"
	"strings"
)

// A system is an operating system and architecture.
type system struct{ os, arch string } // GOOS and GOARCH

// here returns the system that this program runs on.
func here() system { return system{runtime.GOOS, runtime.GOARCH} }

// String returns OS/ARCH.
func (on system) String() string { return on.os + "/" + on.arch }

// has reports whether only, a list of systems, includes this one; an empty list
// means all.
func (on system) has(only []string) bool { return len(only) == 0 || slices.Contains(only, on.os) }

// onlyOn returns the end of the description of a feature that only some systems
// have.
func onlyOn(what string, systems []string) string {
	if len(systems) == 0 {
		return ""
	}
	return "; " + what + "only on " + strings.Join(systems, " and ")
}

// check fails if a scheme, or the value of one of its options, is not available.
func (on system) check(c scheme, values url.Values) error {
	if !on.has(c.only) {
		var others []string
		for _, other := range schemes() {
			if on.has(other.only) {
				others = append(others, other.name)
			}
		}
		return fmt.Errorf("%s is not available on %s, want one of %s", c.name, on, strings.Join(others, ", "))
	}
	for _, o := range c.options {
		if err := on.checkValue(o, values.Get(o.name)); err != nil {
			return err
		}
	}
	return nil
}

// checkValue fails if a value of an option is not available.
func (on system) checkValue(o option, value string) error {
	var others []string
	missing := false
	for _, v := range o.values {
		switch {
		case on.has(o.only[v]):
			others = append(others, v)
		case v == value:
			missing = true
		}
	}
	if missing {
		return fmt.Errorf("%s=%s is not available on %s, want %s", o.name, value, on, strings.Join(others, " or "))
	}
	return nil
}
