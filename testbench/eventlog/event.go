package eventlog

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strings"
)

// MaxFields is the largest number of fields of a kind.
const MaxFields = 8

// An Event is something that happened. ID counts the events of a log from 1. Cause is the ID
// of the event that led to this one: for a return its call, for a call the call around it on
// the same thread; 0 if there is none.
type Event struct {
	ID, Cause uint64
	Kind      Kind
	Time      uint64 // of the device's clock, in ticks; 0: recording takes no time
	Process   uint32 // of the thread; 0: the system or the hardware
	Thread    uint32 // within the process; 0: the hardware
	Fields    [MaxFields]uint64
	Data      []byte

	text     string // in an event to be written
	name     string // of a kind that this version does not know
	template string
	number   int    // of the template in the log, from 1
	numbers  []byte // those of the template, as varints
}

// New returns an event with fields in the order of its description.
func New(kind Kind, fields ...uint64) Event {
	e := Event{Kind: kind}
	copy(e.Fields[:], fields)
	return e
}

// WithText returns the event with a text.
func (e Event) WithText(text string) Event {
	e.text = text
	return e
}

// HasText reports whether the event has a text.
func (e *Event) HasText() bool { return e.text != "" || e.template != "" }

// Text returns the text.
func (e *Event) Text() string {
	switch {
	case e.text != "" || e.template == "":
		return e.text
	case len(e.numbers) == 0:
		return e.template
	}
	s, _ := fill(e.template, e.numbers) // the reader has checked their number
	return s
}

// A Line is the text of an event, in less memory than the event.
type Line struct {
	text    string // whole, or a template
	numbers []byte // those of the template, as varints
	filled  bool   // text is a template
}

// Line returns the text of an event. It is valid also after the next one has been read.
func (e *Event) Line() Line {
	if e.text != "" || e.template == "" {
		return Line{text: e.text}
	}
	return Line{e.template, bytes.Clone(e.numbers), true}
}

// String returns the text.
func (l Line) String() string {
	if !l.filled {
		return l.text
	}
	s, _ := fill(l.text, l.numbers)
	return s
}

// Pattern returns the number in its log, from 1, of the pattern of the text, and the text with
// its numbers left out. Texts that differ only in their numbers have the same pattern. The
// number is 0 if the text is stored whole.
func (e *Event) Pattern() (number int, pattern string) {
	if e.number == 0 {
		return 0, e.text
	}
	return e.number, e.template
}

// Value returns the string of a key in a text that is a line of a trace, or "".
func (e *Event) Value(key string) string {
	whole := e.text != "" || e.template == ""
	text := e.template
	if whole {
		text = e.text
	}
	before, rest, _ := strings.Cut(text, `"`+key+`":"`)
	value, _, _ := strings.Cut(rest, `"`)
	if whole || value == "" {
		return value
	}
	numbers := e.numbers
	for range holes(before) {
		_, used := binary.Uvarint(numbers)
		numbers = numbers[max(used, 0):]
	}
	value, _ = fill(value, numbers)
	return value
}

// Number returns the nth number that is left out of the pattern of the text, from 0. It reports false if
// there is none.
func (e *Event) Number(n int) (uint64, bool) {
	for rest := e.numbers; len(rest) > 0; n-- {
		v, used := binary.Uvarint(rest)
		if n == 0 || used <= 0 {
			return v, used > 0
		}
		rest = rest[used:]
	}
	return 0, false
}

// Clone returns a copy that stays valid when the reader goes on.
func (e *Event) Clone() Event {
	c := *e
	c.Data, c.numbers = bytes.Clone(e.Data), bytes.Clone(e.numbers)
	return c
}

// Name returns the name of the kind.
func (e *Event) Name() string {
	if e.Kind == None {
		return e.name
	}
	return e.Kind.String()
}

// String returns the event as a line. Of a text with several lines it has the first.
func (e *Event) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d %d %s", e.ID, e.Time, e.Name())
	if e.Thread != 0 {
		fmt.Fprintf(&b, " thread=%d:%d", e.Process, e.Thread)
	}
	if e.Cause != 0 {
		fmt.Fprintf(&b, " cause=%d", e.Cause)
	}
	if e.Kind != None {
		for i, f := range e.Kind.Describe().Fields {
			fmt.Fprintf(&b, " %s=%s", strings.ReplaceAll(f.Name, " ", "-"), f.Form.format(e.Fields[i]))
		}
	}
	if len(e.Data) > 0 {
		fmt.Fprintf(&b, " data=%s", dwords(e.Data))
	}
	if line, rest, more := strings.Cut(e.Text(), "\n"); line != "" {
		b.WriteString(" " + line)
		if n := strings.Count(strings.TrimSuffix(rest, "\n"), "\n") + 1; more && rest != "" {
			fmt.Fprintf(&b, " (and %d more lines)", n)
		}
	}
	return b.String()
}

func (f Form) format(v uint64) string {
	switch {
	case f == Hex:
		return fmt.Sprintf("%#x", v)
	case f == Flag && v != 0:
		return "yes"
	case f == Flag:
		return "no"
	}
	return fmt.Sprint(v)
}

// dwords shows data in dwords, and single bytes at the end.
func dwords(p []byte) string {
	var parts []string
	for ; len(p) >= 4; p = p[4:] {
		parts = append(parts, fmt.Sprintf("%08x", binary.LittleEndian.Uint32(p)))
	}
	for _, v := range p {
		parts = append(parts, fmt.Sprintf("%02x", v))
	}
	return strings.Join(parts, ",")
}

// MarshalJSON returns the event as an object. Fields have their names in the description. A
// text that is a line of JSON is an object too.
func (e *Event) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, `{"id":%d,"time":%d,"kind":%q`, e.ID, e.Time, e.Name())
	if e.Thread != 0 {
		fmt.Fprintf(&b, `,"process":%d,"thread":%d`, e.Process, e.Thread)
	}
	if e.Cause != 0 {
		fmt.Fprintf(&b, `,"cause":%d`, e.Cause)
	}
	if e.Kind != None {
		for i, f := range e.Kind.Describe().Fields {
			switch v := e.Fields[i]; f.Form {
			case Hex:
				fmt.Fprintf(&b, `,%q:"%#x"`, f.Name, v)
			case Flag:
				fmt.Fprintf(&b, `,%q:%v`, f.Name, v != 0)
			default:
				fmt.Fprintf(&b, `,%q:%d`, f.Name, v)
			}
		}
	}
	if len(e.Data) > 0 {
		fmt.Fprintf(&b, `,"data":"%x"`, e.Data)
	}
	if t := e.Text(); t != "" {
		v := []byte(t)
		if !strings.HasPrefix(t, "{") || !json.Valid(v) {
			var err error
			if v, err = json.Marshal(t); err != nil {
				return nil, err
			}
		}
		fmt.Fprintf(&b, `,"text":%s`, v)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}
