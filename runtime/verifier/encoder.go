package verifier

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"github.com/hilgpu/hilgpu/runtime/ddi"
	"github.com/hilgpu/hilgpu/runtime/ddi/kmddi"
)

// An encoder appends JSON to a buffer and inserts the commas.
type encoder struct {
	b     []byte
	names *names
	order int // order of calls in which new objects are numbered
}

// next starts a value or a key.
func (e *encoder) next() {
	n := len(e.b)
	if n == 0 {
		return
	}
	switch e.b[n-1] {
	case '{', '[', ':':
	default:
		e.b = append(e.b, ',')
	}
}

func (e *encoder) open(bracket byte) {
	e.next()
	e.b = append(e.b, bracket)
}

func (e *encoder) close(bracket byte) { e.b = append(e.b, bracket) }

func (e *encoder) key(name string) {
	e.text(name)
	e.b = append(e.b, ':')
}

func (e *encoder) raw(s string) {
	e.next()
	e.b = append(e.b, s...)
}

func (e *encoder) null()             { e.raw("null") }
func (e *encoder) truth(v bool)      { e.raw(strconv.FormatBool(v)) }
func (e *encoder) signed(v int64)    { e.raw(strconv.FormatInt(v, 10)) }
func (e *encoder) unsigned(v uint64) { e.raw(strconv.FormatUint(v, 10)) }
func (e *encoder) hex(v uint64)      { e.raw(`"0x` + strconv.FormatUint(v, 16) + `"`) }

// text appends a string. Names of the DDI need no escapes; names from a
// third-party driver may.
func (e *encoder) text(s string) {
	if plain(s) {
		e.next()
		e.b = append(append(append(e.b, '"'), s...), '"')
		return
	}
	b, err := json.Marshal(s)
	if err != nil {
		panic(err) // every string can be encoded
	}
	e.next()
	e.b = append(e.b, b...)
}

// plain reports whether a string is the same in JSON.
func plain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			return false
		}
	}
	return true
}

// float appends a number, or a string for a value that JSON cannot represent.
func (e *encoder) float(v float64) {
	s := strconv.FormatFloat(v, 'g', -1, 32)
	if math.IsNaN(v) || math.IsInf(v, 0) {
		s = `"` + s + `"`
	}
	e.raw(s)
}

// enum appends the name of a constant, or its number if it has no name.
func (e *encoder) enum(name string, v uint64) {
	if name == "" {
		e.unsigned(v)
		return
	}
	e.text(name)
}

// count appends {unit: n} for content that is not shown.
func (e *encoder) count(unit string, n int) {
	e.open('{')
	e.key(unit)
	e.signed(int64(n))
	e.close('}')
}

// bytes appends the size of memory, in bytes.
func (e *encoder) bytes(p []byte) {
	if p == nil {
		e.null()
		return
	}
	e.count("bytes", len(p))
}

// length appends the number of elements of a list that is not shown.
func (e *encoder) length(n int) { e.count("len", n) }

func (e *encoder) userMemory(m ddi.UserMemory) {
	if m == nil {
		e.null()
		return
	}
	e.count("bytes", m.Size())
}

func (e *encoder) patchList(l kmddi.UserPatchList) {
	if l == nil {
		e.null()
		return
	}
	e.length(l.Len())
}

// handle appends the name of the object that a handle refers to, or null.
func (e *encoder) handle(kind string, of any) {
	name := e.names.name(kind, of, e.order)
	if name == "" {
		e.null()
		return
	}
	e.text(name)
}

// argument appends an argument or a result. Functions and tables of functions
// are omitted, with their key.
func (e *encoder) argument(name string, v any) {
	before := len(e.b)
	e.key(name)
	switch v := v.(type) {
	case bool:
		e.truth(v)
	case int:
		if name == "off" {
			e.hex(uint64(v))
		} else {
			e.signed(int64(v))
		}
	case uint32:
		e.number(name, uint64(v))
	case uint64:
		e.number(name, v)
	default:
		if !e.value(v) {
			e.b = e.b[:before]
		}
	}
}

// number appends a named number: in hexadecimal for flags, addresses, PCI IDs,
// register offsets and register values.
func (e *encoder) number(name string, v uint64) {
	switch {
	case strings.HasSuffix(name, "lags"), strings.HasSuffix(name, "Address"), name == "VendorID", name == "DeviceID",
		name == "off", name == "v", name == "value":
		e.hex(v)
	default:
		e.unsigned(v)
	}
}
