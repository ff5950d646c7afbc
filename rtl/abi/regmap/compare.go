package regmap

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"

	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
)

// ErrMap is returned by Compare for bytes that are not a map, as Canonical writes it.
var ErrMap = errors.New("regmap: not a map in JSON")

// A Change is a difference between two maps.
//
//	Name    of what has changed: "CP0", "CP0.CTL", "CP0.CTL.RUN", or "packet COPY.Src"
//	What    the change, with both values
//	Breaks  whether a driver that was written for the old map may fail with the new one
type Change struct {
	Name   string `json:"name"`
	What   string `json:"what"`
	Breaks bool   `json:"breaks"`
}

// String returns the change as a line, which begins with "breaks" or "adds".
func (c Change) String() string {
	kind := "adds"
	if c.Breaks {
		kind = "breaks"
	}
	return fmt.Sprintf("%-6s  %s: %s", kind, c.Name, c.What)
}

// Compare returns the changes from an old map to that of this program, by block, offset and
// bit. A new register, field or value breaks nothing, nor does a wider limit. Any other change
// may break a driver. Compare fails with ErrMap.
func Compare(old []byte) ([]Change, error) { return compare(old, Canonical()) }

func compare(old, now []byte) ([]Change, error) {
	var a, b jsonMap
	for _, m := range []struct {
		text []byte
		to   *jsonMap
	}{{old, &a}, {now, &b}} {
		d := json.NewDecoder(bytes.NewReader(m.text))
		d.DisallowUnknownFields()
		if err := d.Decode(m.to); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrMap, err)
		}
		if _, err := d.Token(); err != io.EOF {
			return nil, fmt.Errorf("%w: something follows it", ErrMap)
		}
		if len(m.to.Blocks) == 0 {
			return nil, fmt.Errorf("%w: it has no blocks", ErrMap)
		}
		if err := m.to.valid(); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrMap, err)
		}
	}
	c := comparison{}
	pairs(&c, a.Blocks, b.Blocks, "", "block", func(x jsonBlock) string { return x.Name }, c.block)
	pairs(&c, a.Packets, b.Packets, "packet ", "packet", func(x jsonPacket) string { return x.Name }, c.packet)
	return c.changes, nil
}

// A comparison collects changes.
type comparison struct{ changes []Change }

func (c *comparison) add(breaks bool, name, format string, args ...any) {
	c.changes = append(c.changes, Change{name, fmt.Sprintf(format, args...), breaks})
}

// pairs compares the things of two lists that have the same name. prefix comes before a name.
func pairs[T any](c *comparison, old, now []T, prefix, kind string, name func(T) string, both func(name string, a, b T)) {
	find := func(in []T, n string) int {
		return slices.IndexFunc(in, func(x T) bool { return name(x) == n })
	}
	for _, a := range old {
		if i := find(now, name(a)); i >= 0 {
			both(prefix+name(a), a, now[i])
		} else {
			c.add(true, prefix+name(a), "the %s is gone", kind)
		}
	}
	for _, b := range now {
		if find(old, name(b)) < 0 {
			c.add(false, prefix+name(b), "the %s is new", kind)
		}
	}
}

// value compares a value that a driver relies on.
func (c *comparison) value(name, what string, old, now any) {
	if !reflect.DeepEqual(old, now) {
		c.add(true, name, "%s was %v, is %v", what, old, now)
	}
}

// hex is a number that is printed in hexadecimal.
type hex uint64

func (h hex) String() string { return fmt.Sprintf("%#x", uint64(h)) }

// needs compares the capabilities without which something does not exist. Fewer break nothing.
func (c *comparison) needs(name string, old, now caps.Set) {
	if old != now {
		c.add(now&^old != 0, name, "it was there %s, is there %s", when(old), when(now))
	}
}

// when returns the condition for something that needs these capabilities.
func when(needs caps.Set) string {
	if needs == 0 {
		return "always"
	}
	return "if " + idreg.Condition(needs)
}

func (c *comparison) block(name string, a, b jsonBlock) {
	c.value(name, "the base", hex(a.Base), hex(b.Base))
	if a.Size != b.Size {
		c.add(b.Size < a.Size, name, "the size was %#x, is %#x", a.Size, b.Size)
	}
	c.needs(name, a.Needs, b.Needs)
	pairs(c, a.Regs, b.Regs, name+".", "register", func(r jsonReg) string { return r.Name }, c.register)
}

func (c *comparison) register(name string, a, b jsonReg) {
	c.value(name, "the offset", hex(a.Off), hex(b.Off))
	c.value(name, "the access", a.Access, b.Access)
	c.value(name, "that the value after reset depends on the configuration", a.Config, b.Config)
	if !a.Config && !b.Config {
		c.value(name, "the value after reset", hex(a.Reset), hex(b.Reset))
	}
	c.value(name, "that the device may change it", a.Volatile, b.Volatile)
	c.value(name, "the effect of a read", quote(a.Read), quote(b.Read))
	c.value(name, "the effect of a write", quote(a.Write), quote(b.Write))
	c.value(name, "the unit", quote(a.Unit), quote(b.Unit))
	c.needs(name, a.Needs, b.Needs)
	if len(a.Fields) == 0 && len(b.Fields) > 0 {
		c.add(true, name, "it had no fields, so all bits were the value")
	}
	pairs(c, a.Fields, b.Fields, name+".", "field", func(f jsonField) string { return f.Name }, c.field)
}

func (c *comparison) field(name string, a, b jsonField) {
	c.value(name, "the mask", hex(a.Mask), hex(b.Mask))
	c.value(name, "the effect of a write", quote(a.Write), quote(b.Write))
	c.value(name, "the unit", quote(a.Unit), quote(b.Unit))
	c.enum(name, a.Enum, b.Enum)
	c.needs(name, a.Needs, b.Needs)
}

// enum compares the names of values. A new name at the end breaks nothing.
func (c *comparison) enum(name string, old, now []string) {
	for v := range max(len(old), len(now)) {
		switch {
		case v >= len(old):
			c.add(false, name, "the value %d is new: %s", v, now[v])
		case v >= len(now):
			c.add(true, name, "the value %d, %s, is gone", v, old[v])
		case old[v] != now[v]:
			c.add(true, name, "the value %d was %s, is %s", v, old[v], now[v])
		}
	}
}

func (c *comparison) packet(name string, a, b jsonPacket) {
	c.value(name, "the opcode", hex(a.Op), hex(b.Op))
	c.value(name, "the length of the body", a.Body, b.Body)
	c.value(name, "that the length varies", a.Variable, b.Variable)
	if a.Privileged != b.Privileged {
		c.add(b.Privileged, name, "that it is legal in the ring only was %v, is %v", a.Privileged, b.Privileged)
	}
	c.needs(name, a.Needs, b.Needs)
	pairs(c, a.Fields, b.Fields, name+".", "field", func(f jsonPacketPart) string { return f.Name }, c.part)
}

// most is the largest value of a part of a packet; 0: that of its bits.
type most uint64

func (m most) String() string {
	if m == 0 {
		return "that of its bits"
	}
	return fmt.Sprint(uint64(m))
}

func (c *comparison) part(name string, a, b jsonPacketPart) {
	c.value(name, "the dword", a.Dword, b.Dword)
	c.value(name, "the mask", hex(a.Mask), hex(b.Mask))
	c.value(name, "the kind", a.Kind, b.Kind)
	if a.Max != b.Max {
		c.add(b.Max != 0 && (a.Max == 0 || b.Max < a.Max), name, "the largest value was %v, is %v", most(a.Max), most(b.Max))
	}
	if a.Align != b.Align {
		c.add(b.Align > a.Align, name, "the alignment was %d, is %d", a.Align, b.Align)
	}
	c.value(name, "the unit", quote(a.Unit), quote(b.Unit))
	c.enum(name, a.Enum, b.Enum)
	c.needs(name, a.Needs, b.Needs)
}

// quote returns a word, or "none".
func quote(s string) string {
	if s == "" {
		return "none"
	}
	return s
}
