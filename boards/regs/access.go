package regs

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"

	"github.com/hilgpu/hilgpu/rtl/abi/reg"
)

// A Value is a target and the value read from it.
type Value struct {
	Target Target
	Value  uint64 // a field's value is shifted down to bit 0
}

// A Skip is a register matched by a pattern but not read.
type Skip struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
}

// ReadEffect describes the side effect of a read of the target, or why a read
// is meaningless; "" if neither.
func (t Target) ReadEffect() string {
	r := t.Entry.Reg
	name := Target{Entry: t.Entry}.Name()
	switch {
	case r.Read != reg.Plain:
		return fmt.Sprintf("a read of %s has the effect %s: %s", name, r.Read, r.Doc)
	case r.Access == reg.WO:
		return fmt.Sprintf("%s is write-only and reads as 0", name)
	case t.High != nil && t.High.Reg.Read != reg.Plain:
		return fmt.Sprintf("a read of %s has the effect %s: %s", Target{Entry: *t.High}.Name(), t.High.Reg.Read, t.High.Reg.Doc)
	}
	return ""
}

// Find returns the targets of names; see Names.Find.
func (f *Function) Find(names ...string) ([]Target, error) { return f.names.FindAll(names...) }

// ReadAll reads the targets, in order. A register whose read has a side effect
// is refused with ErrRefused before anything is read, unless the name ended in
// "!". If it was matched by a pattern it is skipped instead, and so is a
// register that a recording does not have.
func (f *Function) ReadAll(targets []Target) (values []Value, skipped []Skip, err error) {
	for _, t := range targets {
		if effect := t.ReadEffect(); effect != "" && !t.Forced && !t.Glob {
			return nil, nil, fmt.Errorf("%w: %s; %s! reads it", ErrRefused, effect, t.Name())
		}
	}
	for _, t := range targets {
		if effect := t.ReadEffect(); effect != "" && !t.Forced {
			skipped = append(skipped, Skip{t.Name(), effect})
			continue
		}
		v, err := f.read(t)
		if t.Glob && f.absent(err) {
			skipped = append(skipped, Skip{t.Name(), err.Error()})
			continue
		}
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", t.Name(), err)
		}
		values = append(values, Value{t, v})
	}
	return values, skipped, nil
}

// maxTears is how often a pair is read again because its high half has changed.
const maxTears = 4

// read reads a target. Of a pair it reads the low half first if that latches
// the high half. Otherwise it reads the high half before and after the low one
// until both values agree, because the device may carry between the halves.
func (f *Function) read(t Target) (uint64, error) {
	low, high := t.Entry.Off(), uint32(0)
	switch {
	case t.High == nil:
		v, err := f.word(low)
		if t.Field != nil {
			v = t.Field.Get(v)
		}
		return uint64(v), err
	case t.Entry.Reg.Read == reg.Latch || f.recorded():
		v, err := f.word(low)
		if err != nil {
			return 0, err
		}
		high, err = f.word(t.High.Off())
		return uint64(high)<<32 | uint64(v), err
	}
	high, err := f.word(t.High.Off())
	for range maxTears {
		if err != nil {
			return 0, err
		}
		v, err := f.word(low)
		if err != nil {
			return 0, err
		}
		before := high
		if high, err = f.word(t.High.Off()); err != nil {
			return 0, err
		}
		if high == before {
			return uint64(high)<<32 | uint64(v), nil
		}
	}
	return 0, fmt.Errorf("%w: its high half changed between %d reads", ErrReadBack, maxTears)
}

// Bits returns the width of the target in bits.
func (t Target) Bits() int {
	switch {
	case t.High != nil:
		return 64
	case t.Field != nil:
		return bits.Len32(t.Field.Max())
	}
	return 32
}

// Parse parses a value of the target: a number in Go syntax, or the name of one
// of the field's values, in any case. It fails with ErrValue.
func (t Target) Parse(text string) (uint64, error) {
	var enum []string
	if t.Field != nil {
		enum = t.Field.Enum
	}
	for i, name := range enum {
		if strings.EqualFold(name, text) {
			return uint64(i), nil
		}
	}
	v, err := strconv.ParseUint(text, 0, 64)
	switch {
	case err != nil && enum != nil:
		return 0, fmt.Errorf("%w: %s = %q, want a number or one of %s", ErrValue, t.Name(), text, strings.ToLower(strings.Join(enum, ", ")))
	case err != nil:
		return 0, fmt.Errorf("%w: %s = %q, want a number", ErrValue, t.Name(), text)
	case t.Bits() < 64 && v>>t.Bits() != 0:
		return 0, fmt.Errorf("%w: %s = %s, want at most %#x for %d bits", ErrValue, t.Name(), text, uint64(1)<<t.Bits()-1, t.Bits())
	}
	return v, nil
}
