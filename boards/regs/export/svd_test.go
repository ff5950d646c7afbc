package export_test

import (
	"encoding/xml"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/reg"
	"github.com/hilgpu/hilgpu/rtl/abi/regmap"
)

// A node is an element of XML with its children or its text.
type node struct {
	name     string
	text     string
	children []*node
}

// parse reads XML.
func parse(t *testing.T, text string) *node {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(text))
	stack := []*node{{}}
	for {
		token, err := d.Token()
		if err == io.EOF {
			break
		}
		require.NoError(t, err)
		top := stack[len(stack)-1]
		switch x := token.(type) {
		case xml.StartElement:
			n := &node{name: x.Name.Local}
			top.children = append(top.children, n)
			stack = append(stack, n)
		case xml.EndElement:
			stack = stack[:len(stack)-1]
		case xml.CharData:
			top.text += string(x)
		}
	}
	require.Len(t, stack[0].children, 1)
	return stack[0].children[0]
}

// all returns the children with a name.
func (n *node) all(name string) []*node {
	var out []*node
	for _, c := range n.children {
		if c.name == name {
			out = append(out, c)
		}
	}
	return out
}

// get returns the text of a child, "" if there is none.
func (n *node) get(name string) string {
	if c := n.all(name); len(c) > 0 {
		return c[0].text
	}
	return ""
}

// order has the children that an element of CMSIS-SVD 1.3 may have, in their order, as far as
// the export uses them. A ! is one that must be there.
var order = map[string][]string{
	"device":           {"vendor", "name!", "version!", "description!", "addressUnitBits!", "width!", "size", "access", "resetValue", "resetMask", "peripherals!"},
	"peripherals":      {"peripheral!"},
	"peripheral":       {"name!", "version", "description", "baseAddress!", "addressBlock!", "interrupt", "registers"},
	"addressBlock":     {"offset!", "size!", "usage!"},
	"registers":        {"register!"},
	"register":         {"name!", "description", "addressOffset!", "size", "access", "resetValue", "resetMask", "dataType", "modifiedWriteValues", "writeConstraint", "readAction", "fields"},
	"fields":           {"field!"},
	"field":            {"name!", "description", "bitRange!", "access", "modifiedWriteValues", "writeConstraint", "readAction", "enumeratedValues"},
	"enumeratedValues": {"name", "usage", "enumeratedValue!"},
	"enumeratedValue":  {"name!", "description", "value!"},
}

// values has the form of the texts.
var values = map[string]*regexp.Regexp{
	"name":                regexp.MustCompile(`^[_A-Za-z][_A-Za-z0-9]*$`),
	"description":         regexp.MustCompile(`^[\x20-\x7e]+$`),
	"access":              regexp.MustCompile(`^(read-only|write-only|read-write|writeOnce|read-writeOnce)$`),
	"usage":               regexp.MustCompile(`^(registers|buffer|reserved)$`),
	"modifiedWriteValues": regexp.MustCompile(`^(one|zero)To(Clear|Set|Toggle)$`),
	"readAction":          regexp.MustCompile(`^(clear|set|modify|modifyExternal)$`),
	"bitRange":            regexp.MustCompile(`^\[[0-4]?[0-9]:[0-4]?[0-9]\]$`),
	"value":               regexp.MustCompile(`^(0x[0-9a-fA-F]+|[0-9]+)$`),
}

// conforms checks an element against order and values.
func conforms(t *testing.T, n *node) {
	t.Helper()
	may, ok := order[n.name]
	if !ok {
		require.Empty(t, n.children, n.name)
		form := values[n.name]
		if form == nil && n.name != "vendor" && n.name != "version" {
			form = regexp.MustCompile(`^(0x)?[0-9a-fA-F]+$`)
		}
		if form != nil {
			require.Regexp(t, form, n.text, n.name)
		}
		return
	}
	at := 0
	for _, c := range n.children {
		i := slices.IndexFunc(may, func(m string) bool { return strings.TrimSuffix(m, "!") == c.name })
		require.GreaterOrEqual(t, i, at, "%s in %s", c.name, n.name)
		at = i
		conforms(t, c)
	}
	for _, m := range may {
		if name, must := strings.CutSuffix(m, "!"); must {
			require.NotEmpty(t, n.all(name), "%s in %s", name, n.name)
		}
	}
}

// number returns the number in a child.
func (n *node) number(t *testing.T, name string) uint64 {
	t.Helper()
	v, err := strconv.ParseUint(n.get(name), 0, 32)
	require.NoError(t, err, name)
	return v
}

// fits checks what SVDConv checks besides the schema: names are unique among their siblings, no
// peripherals or fields overlap, registers are in their address block, and values in their field.
func fits(t *testing.T, device *node) {
	t.Helper()
	end := uint64(0)
	for _, p := range unique(t, device.all("peripherals")[0]) {
		require.GreaterOrEqual(t, p.number(t, "baseAddress"), end, p.get("name"))
		size := p.all("addressBlock")[0].number(t, "size")
		end = p.number(t, "baseAddress") + size
		next := uint64(0)
		for _, r := range unique(t, p.all("registers")[0]) {
			at := r.number(t, "addressOffset")
			require.Zero(t, at%4)
			require.GreaterOrEqual(t, at, next, r.get("name"))
			next = at + r.number(t, "size")/8
			require.LessOrEqual(t, next, size, r.get("name"))
			require.Zero(t, r.number(t, "resetValue")&^r.number(t, "resetMask"), r.get("name"))
			var used uint32
			for _, f := range unique(t, r.all("fields")[0]) {
				mask := fieldMask(t, f)
				require.Zero(t, used&mask, "%s.%s", r.get("name"), f.get("name"))
				used |= mask
			}
		}
	}
}

// unique returns the children of a node, which have different names.
func unique(t *testing.T, n *node) []*node {
	t.Helper()
	names := map[string]bool{}
	for _, c := range n.children {
		require.False(t, names[c.get("name")], c.get("name"))
		names[c.get("name")] = true
	}
	return n.children
}

// fieldMask returns the bits of a field. Its named values are different and fit.
func fieldMask(t *testing.T, f *node) uint32 {
	t.Helper()
	var high, low uint
	_, err := fmt.Sscanf(f.get("bitRange"), "[%d:%d]", &high, &low)
	require.NoError(t, err)
	require.True(t, low <= high && high < 32, f.get("bitRange"))
	width := high - low + 1
	for _, e := range f.all("enumeratedValues") {
		values := map[uint64]bool{}
		for _, v := range unique(t, e) {
			x := v.number(t, "value")
			require.Less(t, x, uint64(1)<<width, f.get("name"))
			require.False(t, values[x], f.get("name"))
			values[x] = true
		}
	}
	return uint32(1<<width-1) << low
}

// TestSVD: the elements have the order and the values of the schema, and say of each register
// what the tables say.
func TestSVD(t *testing.T) {
	for _, format := range []string{"svd", "svd-safe"} {
		t.Run(format, func(t *testing.T) {
			device := parse(t, text(t, format))
			require.Equal(t, "device", device.name)
			conforms(t, device)
			fits(t, device)
			got := map[string]string{}
			for _, p := range device.all("peripherals")[0].children {
				for _, r := range p.all("registers")[0].children {
					line := fmt.Sprint(p.get("baseAddress"), r.get("addressOffset"), r.get("access"), r.get("resetValue"), r.get("resetMask"), r.get("modifiedWriteValues"), r.get("readAction"))
					for _, f := range r.all("fields")[0].children {
						line += " " + f.get("name") + f.get("bitRange")
						for _, e := range f.all("enumeratedValues") {
							for _, v := range e.children {
								line += fmt.Sprintf(" %s=%s", v.get("name"), v.get("value"))
							}
						}
					}
					got[p.get("name")+"."+r.get("name")] = line
				}
			}
			assert.Equal(t, svdLines(format == "svd-safe"), got)
		})
	}
}

// svdLines returns the lines of TestSVD, from the tables.
func svdLines(safe bool) map[string]string {
	all := map[string]string{}
	for _, e := range regmap.New().Entries() {
		access := map[reg.Access]string{reg.RO: "read-only", reg.RW: "read-write", reg.W1C: "read-write", reg.WO: "write-only"}[e.Reg.Access]
		reset, mask, modified, action := e.Reg.Reset, uint32(0xffffffff), "", ""
		if e.Reg.Config {
			reset, mask = 0, 0
		}
		if e.Reg.Access == reg.W1C {
			modified = "oneToClear"
		}
		if e.Reg.Read == reg.Latch && safe {
			access = "write-only"
		} else if e.Reg.Read == reg.Latch {
			action = "modifyExternal"
		}
		line := fmt.Sprintf("0x%08x0x%x%s0x%08x0x%08x%s%s", e.Block.Base, e.Reg.Off, access, reset, mask, modified, action)
		if len(e.Reg.Fields) == 0 {
			line += " VALUE[31:0]"
		}
		for _, f := range e.Reg.Fields {
			high, low, colon := strings.Cut(f.Bits(), "..")
			if !colon {
				low = high
			}
			line += fmt.Sprintf(" %s[%s:%s]", f.Name, high, low)
			for v, name := range f.Enum {
				line += fmt.Sprintf(" %s=%d", name, v)
			}
		}
		all[e.Name()] = line
	}
	return all
}
