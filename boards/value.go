package boards

import (
	"fmt"
	"math/bits"
	"net/url"
	"strconv"
	"strings"

	"github.com/hilgpu/hilgpu/boards/serve"
	"github.com/hilgpu/hilgpu/rtl/abi/caps"
)

// values parses options and keeps the first error.
type values struct {
	url.Values
	err error
}

// number sets *v to the option's value if it is given: a decimal number from lo
// to hi.
func (o *values) number(name string, v *uint64, lo, hi uint64) {
	if !o.Has(name) {
		return
	}
	n, err := strconv.ParseUint(o.Get(name), 10, 64)
	o.set(name, v, n, err == nil && n >= lo && n <= hi, fmt.Sprintf("a number from %d to %d", lo, hi))
}

// bytes sets *v to the option's value if it is given: a number of bytes, KiB,
// MiB or GiB, from lo to hi.
func (o *values) bytes(name string, v *uint64, lo, hi uint64) {
	if !o.Has(name) {
		return
	}
	text, shift := o.Get(name), 0
	for i, unit := range []string{"KiB", "MiB", "GiB"} {
		if rest, ok := strings.CutSuffix(text, unit); ok {
			text, shift = rest, 10*(i+1)
			break
		}
	}
	n, err := strconv.ParseUint(text, 10, 64)
	ok := err == nil && bits.Len64(n)+shift <= 64
	o.set(name, v, n<<shift, ok && n<<shift >= lo && n<<shift <= hi, fmt.Sprintf("%d to %d bytes, a power of two such as 8KiB or 16MiB", lo, hi))
}

// token sets *v to the token in the file that an option names, if it is given.
func (o *values) token(name string, v *[]byte) {
	if !o.Has(name) {
		return
	}
	b, err := serve.Token(o.Get(name))
	if err != nil {
		o.bad(name, fmt.Sprintf("a file with a token: %v", err))
	}
	*v = b
}

// integer is number for an int.
func (o *values) integer(name string, v *int, lo, hi int) {
	n := uint64(*v)
	o.number(name, &n, uint64(lo), uint64(hi))
	*v = int(n)
}

// flag sets *v if the option is given: 1 is true and 0 is false.
func (o *values) flag(name string, v *bool) {
	if o.Has(name) {
		*v = o.Get(name) == "1"
		if !*v && o.Get(name) != "0" {
			o.bad(name, "0 or 1")
		}
	}
}

// capability puts c into *s or takes it out if its option is given.
func (o *values) capability(c caps.Cap, s *caps.Set) {
	on := s.Has(c.Bit)
	o.flag(c.Option(), &on)
	*s &^= c.Bit
	if on {
		*s |= c.Bit
	}
}

// needed adds the capabilities without which others of s cannot be built, unless an option
// turns them off.
func (o *values) needed(s *caps.Set) {
	missing := s.Missing()
	for _, c := range caps.Table {
		if missing.Has(c.Bit) && o.Has(c.Option()) {
			o.bad(c.Option(), "1, because another capability needs it")
		}
	}
	*s |= missing
}

func (o *values) set(name string, v *uint64, n uint64, ok bool, want string) {
	if ok {
		*v = n
		return
	}
	o.bad(name, want)
}

// wrong sets the error of an option to a reason, without the prefix of its kind.
func (o *values) wrong(name string, kind, reason error) {
	if o.err == nil {
		o.err = fmt.Errorf("%w: %s=%s: %s", errOption, name, o.Get(name), strings.TrimPrefix(reason.Error(), kind.Error()+": "))
	}
}

func (o *values) bad(name, want string) {
	if o.err == nil {
		o.err = fmt.Errorf("%w: %s=%s, want %s", errOption, name, o.Get(name), want)
	}
}
