package regs

import (
	"fmt"
	"strings"

	"github.com/hilgpu/hilgpu/rtl/abi/reg"
	"github.com/hilgpu/hilgpu/rtl/abi/regmap"
)

// A Written is the result of a write. For a pair the values are of both halves,
// for a field of the complete register.
type Written struct {
	Target Target
	Before *uint64 // nil if not read
	Sent   uint64  // value sent to the device
	After  *uint64 // nil if not read back
}

// pokes describes the poke classes.
var pokes = [...]string{reg.Safe: "", reg.Idle: "only while nothing runs", reg.Destructive: "work in flight is lost or memory is written"}

// ParsePoke returns the poke class of a name such as safe, as reg.Poke prints
// it, and reports whether there is one.
func ParsePoke(name string) (class reg.Poke, ok bool) {
	for p := range pokes {
		if reg.Poke(p).String() == name {
			return reg.Poke(p), true
		}
	}
	return reg.Safe, false
}

// WriteEffect returns why the target must not be written without "!"; "" if it
// may be.
func (t Target) WriteEffect() string {
	var reasons []string
	for _, e := range t.entries() {
		r := e.Reg
		if r.Poke != reg.Safe {
			reasons = append(reasons, fmt.Sprintf("%s: %s", r.Poke, pokes[r.Poke]))
		}
		if r.Write != reg.Plain {
			reasons = append(reasons, fmt.Sprintf("a write has the effect %s", r.Write))
		}
		if t.Field != nil && t.Field.Write != reg.Plain {
			reasons = append(reasons, fmt.Sprintf("a write of the field has the effect %s", t.Field.Write))
		}
		if t.Field != nil && r.Access == reg.RW && r.Volatile && len(r.Fields) > 1 {
			reasons = append(reasons, "the device may change the other fields between the read and the write")
		}
		if reasons != nil {
			return fmt.Sprintf("%s is %s (%s)", t.Name(), strings.Join(reasons, "; "), r.Doc)
		}
	}
	return ""
}

// entries returns the registers of the target.
func (t Target) entries() []regmap.Entry {
	if t.High != nil {
		return []regmap.Entry{t.Entry, *t.High}
	}
	return []regmap.Entry{t.Entry}
}

// CheckWrite fails with ErrRefused if the target must not be written: a
// read-only register, or one that needs "!" and was named without it.
func (t Target) CheckWrite() error {
	for _, e := range t.entries() {
		if e.Reg.Access == reg.RO {
			return fmt.Errorf("%w: %s is read-only, the device ignores a write", ErrRefused, Target{Entry: e}.Name())
		}
	}
	if effect := t.WriteEffect(); effect != "" && !t.Forced {
		return fmt.Errorf("%w: %s; %s! writes it", ErrRefused, effect, t.Name())
	}
	return nil
}

// Write writes v to the target, which CheckWrite has accepted, and reads back a
// register that keeps its value. A write to a field of an rw register writes
// the other fields unchanged, except that fields whose write has an effect are
// written as 0. For a w1c or wo register the other fields are written as 0,
// which means no change. The low half of a pair is written first. Write fails
// with ErrReadBack if the value read back differs.
func (f *Function) Write(t Target, v uint64) (Written, error) {
	w := Written{Target: t, Sent: v}
	if err := t.CheckWrite(); err != nil {
		return w, err
	}
	r := t.Entry.Reg
	readable := r.Access == reg.RW && r.Read == reg.Plain
	if readable {
		before, err := f.read(Target{Entry: t.Entry, High: t.High})
		if err != nil {
			return w, fmt.Errorf("%s: %w", t.Name(), err)
		}
		w.Before = &before
	}
	if t.Field != nil {
		rest := uint32(0)
		if w.Before != nil {
			rest = uint32(*w.Before) & keep(r)
		}
		w.Sent = uint64(t.Field.Set(rest, uint32(v)))
	}
	for i, e := range t.entries() {
		if err := f.setWord(e.Off(), uint32(w.Sent>>(32*i))); err != nil {
			return w, fmt.Errorf("%s: %w", t.Name(), err)
		}
	}
	if !readable {
		// A read flushes the write and detects a link that is down.
		_, err := f.word(0)
		return w, err
	}
	return w, f.readBack(&w)
}

// keep returns the bits of a register that a write to a field leaves unchanged.
func keep(r reg.Reg) uint32 {
	mask := r.Mask()
	for _, f := range r.Fields {
		if f.Write != reg.Plain {
			mask &^= f.Mask
		}
	}
	return mask
}

// readBack compares the value read back with the value sent.
func (f *Function) readBack(w *Written) error {
	t := Target{Entry: w.Target.Entry, High: w.Target.High}
	after, err := f.read(t)
	if err != nil {
		return fmt.Errorf("%s: %w", t.Name(), err)
	}
	w.After = &after
	mask := uint64(keep(t.Entry.Reg))
	if t.High != nil {
		mask |= uint64(keep(t.High.Reg)) << 32
	}
	if t.Entry.Reg.Volatile || (after^w.Sent)&mask == 0 {
		return nil
	}
	return fmt.Errorf("%w: %s reads %#x after %#x was written", ErrReadBack, t.Name(), after, w.Sent)
}
