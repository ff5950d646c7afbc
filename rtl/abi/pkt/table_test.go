package pkt_test

import (
	"encoding/binary"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math/bits"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/pkt"
)

// goType returns the name of the packet type of an opcode.
func goType(t *testing.T, op uint8) string {
	for _, g := range golden {
		if g.p.Op() == op {
			return reflect.TypeOf(g.p).Name()
		}
	}
	t.Fatalf("no golden packet with opcode %#x", op)
	return ""
}

// TestTableShape checks each field, and that fields do not overlap.
func TestTableShape(t *testing.T) {
	last := -1
	for _, l := range pkt.Table {
		assert.Greater(t, int(l.Op), last, "opcodes rise")
		last = int(l.Op)
		used := map[int]uint32{}
		for _, f := range l.Fields {
			name := l.Name + "." + f.Name
			lo := bits.TrailingZeros64(f.Mask)
			assert.Equal(t, f.Mask, uint64(1)<<bits.OnesCount64(f.Mask)<<lo-uint64(1)<<lo, "%s is a run of ones", name)
			assert.Less(t, lo, 32, name)
			for i, m := range []uint32{uint32(f.Mask), uint32(f.Mask >> 32)} {
				assert.Zero(t, used[f.Dword+i]&m, "%s overlaps", name)
				used[f.Dword+i] |= m
				assert.True(t, m == 0 || uint32(f.Dword+i) <= l.Body, "%s is in the body", name)
			}
			assert.NotEmpty(t, f.Doc, name)
			assert.LessOrEqual(t, f.Max, f.Mask>>lo, name)
			wide := f.Kind.Address() || f.Kind == pkt.Pattern && f.Mask>>32 != 0 || name == "SET_WINDOW.Size" || name == "WAIT_FENCE.Value"
			assert.Equal(t, wide, f.Mask == 1<<64-1, name)
			if f.Kind == pkt.Flag {
				assert.Equal(t, 1, bits.OnesCount64(f.Mask), name)
			}
		}
	}
}

func TestLookup(t *testing.T) {
	for op := range 256 {
		l, ok := pkt.Lookup(uint8(op))
		assert.Equal(t, op >= 1 && op <= 11 || op >= 0x10 && op <= 0x14, ok, "%#x", op)
		if ok {
			assert.Equal(t, uint8(op), l.Op)
		}
	}
}

func TestPrivileged(t *testing.T) {
	var names []string
	for _, l := range pkt.Table {
		if l.Privileged {
			names = append(names, l.Name)
		}
	}
	assert.Equal(t, []string{"INDIRECT", "FENCE", "SET_WINDOW", "WAIT_FENCE", "SAVE_STATE", "RESTORE_STATE"}, names)
}

// TestAddresses lists the address fields that a validator must resolve.
func TestAddresses(t *testing.T) {
	var got []string
	for _, l := range pkt.Table {
		for _, f := range l.Fields {
			if f.Kind.Address() {
				got = append(got, fmt.Sprintf("%s %d %s %s", l.Name, f.Dword, f.Name, f.Kind))
			}
		}
	}
	assert.Equal(t, []string{
		"INDIRECT 1 Addr read",
		"SET_STATE 2 Base surface",
		"COPY 1 Src read",
		"COPY 3 Dst write",
		"FILL 1 Dst write",
		"TIMESTAMP 1 Addr write", "PREDICATE 1 Addr read", "SIGNAL 1 Addr write",
		"FENCE 1 Addr write",
		"SET_WINDOW 2 Base window",
		"SAVE_STATE 1 Addr write", "RESTORE_STATE 1 Addr read",
	}, got)
}

// TestTableAgainstEncoders sets each field of each packet on its own and compares
// the encoding with the table, bit by bit.
func TestTableAgainstEncoders(t *testing.T) {
	for _, g := range golden {
		l, ok := pkt.Lookup(g.p.Op())
		require.True(t, ok)
		assert.Equal(t, reflect.TypeOf(g.p).NumField(), len(l.Fields), l.Name)
		for _, f := range l.Fields {
			p := reflect.New(reflect.TypeOf(g.p)).Elem()
			max := f.Mask >> bits.TrailingZeros64(f.Mask)
			if f.Max != 0 {
				max = f.Max
			}
			if f.Align != 0 {
				max -= max % f.Align
			}
			set(t, p.FieldByName(f.Name), max)
			b, err := p.Interface().(pkt.Packet).Append(nil)
			require.NoError(t, err)
			if !l.Variable {
				assert.Len(t, b, 4+4*int(l.Body), l.Name)
			}
			want := make([]byte, len(b))
			header := uint64(l.Op)<<24 | uint64(len(b)/4-1)
			binary.LittleEndian.PutUint32(want, uint32(header))
			if f.Dword != 0 {
				put(want[4*f.Dword:], max<<bits.TrailingZeros64(f.Mask))
			}
			assert.Equal(t, want, b, "%s.%s", l.Name, f.Name)
			assert.Equal(t, max, f.Get(b), "%s.%s", l.Name, f.Name)
		}
	}
}

// set sets a field of a packet type. The field must exist.
func set(t *testing.T, v reflect.Value, x uint64) {
	require.True(t, v.IsValid(), "the table has a field that the type lacks")
	if v.Kind() == reflect.Bool {
		v.SetBool(x != 0)
		return
	}
	v.SetUint(x)
	require.Equal(t, x, v.Uint())
}

// put writes v, without its dwords that are 0.
func put(b []byte, v uint64) {
	if v>>32 != 0 {
		binary.LittleEndian.PutUint32(b[4:], uint32(v>>32))
	}
	binary.LittleEndian.PutUint32(b, uint32(v))
}

// TestReserved sets each bit of each body on its own. Decode must refuse exactly
// the bits that the layout comments reserve.
func TestReserved(t *testing.T) {
	want := map[string][]uint32{
		"INDIRECT":  {0, 0, 0xffe00000},
		"SET_STATE": {0xfffffffe, 0, 0, 0xfff00000, 0xfffffff8, 0, 0},
		"COPY":      {0, 0, 0, 0, 0},
		"COPY_2D":   {0, 0, 0},
		"FILL":      {0, 0, 0, 0, 0},
		"FILL_2D":   {0, 0, 0, 0},
		"WRITE_REG": {0xffff0000, 0},
		"TIMESTAMP": {0, 0},
		"PREDICATE": {0, 0, 0xfffe0000},
		"SIGNAL":    {0, 0, 0, 0, 0xfffffffe},
		"FENCE":     {0, 0, 0, 0xfffffffe},

		"SET_WINDOW": {0xfffffff8, 0, 0, 0, 0},
		"WAIT_FENCE": {0xfffffffe, 0, 0},
		"SAVE_STATE": {0, 0}, "RESTORE_STATE": {0, 0},
	}
	for _, l := range pkt.Table {
		assert.Equal(t, uint32(0x00ff0000), l.Reserved(0))
		if l.Variable {
			assert.Zero(t, l.Reserved(1))
			continue
		}
		require.Len(t, want[l.Name], int(l.Body))
		for i, mask := range want[l.Name] {
			assert.Equal(t, mask, l.Reserved(i+1), "%s dword %d", l.Name, i+1)
			for bit := range 32 {
				b := words(uint32(l.Op)<<24 | l.Body)
				b = append(b, make([]byte, 4*l.Body)...)
				b[4+4*i+bit/8] = 1 << (bit % 8)
				_, _, err := pkt.Decode(b)
				assert.Equal(t, mask>>bit&1 == 1, err != nil && strings.HasPrefix(err.Error(), pkt.ErrReserved.Error()), "%s dword %d bit %d: %v", l.Name, i+1, bit, err)
			}
		}
	}
}

// TestTableAgainstComments compares descriptions and layouts with the doc
// comments of the packet types.
func TestTableAgainstComments(t *testing.T) {
	docs := typeDocs(t)
	for _, l := range pkt.Table {
		name := goType(t, l.Op)
		prose, rows, ok := strings.Cut(docs[name], "dword  bits   field\n")
		require.True(t, ok, name)
		prose = strings.Join(strings.Fields(prose), " ")
		assert.Equal(t, l.Doc, strings.TrimPrefix(strings.TrimPrefix(prose, "A "+name+" "), "An "+name+" "))
		assert.Equal(t, layoutRows(l), commentRows(t, rows), name)
	}
}

func typeDocs(t *testing.T) map[string]string {
	file, err := parser.ParseFile(token.NewFileSet(), "pkt.go", nil, parser.ParseComments)
	require.NoError(t, err)
	docs := map[string]string{}
	for _, d := range file.Decls {
		if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.TYPE {
			docs[g.Specs[0].(*ast.TypeSpec).Name.Name] = g.Doc.Text()
		}
	}
	return docs
}

// layoutRows returns the lines that the comment must have for a layout: a line
// for the header, one for each field and one for each run of reserved bits.
func layoutRows(l pkt.Layout) []string {
	body := fmt.Sprintf("body %d", l.Body)
	if l.Variable {
		body = fmt.Sprintf("body 0 to %d", l.Body)
	}
	rows := []string{fmt.Sprintf("0 header, op %#02x, %s", l.Op, body)}
	for i, f := range l.Fields {
		if f.Dword == 0 {
			continue
		}
		last := i+1 == len(l.Fields) || l.Fields[i+1].Dword != f.Dword
		hi, lo := 63-bits.LeadingZeros64(f.Mask), bits.TrailingZeros64(f.Mask)
		rows = append(rows, fmt.Sprintf("%d %d..%d %s%s", f.Dword, hi, lo, f.Name, limits(f)))
		if r := l.Reserved(f.Dword); r != 0 && last {
			rows = append(rows, fmt.Sprintf("%d %d..%d reserved", f.Dword, 31-bits.LeadingZeros32(r), bits.TrailingZeros32(r)))
		}
	}
	return rows
}

func limits(f pkt.Field) string {
	s := ""
	if f.Kind.Address() {
		s += " address"
	}
	if f.Align != 0 && f.Kind.Address() {
		s += fmt.Sprintf(" align %d", f.Align)
	}
	if f.Max == pkt.MaxCoord {
		s += " coordinate"
	}
	return s
}

var (
	rowRE  = regexp.MustCompile(`^(\d+)(?:, \d+)?\s+(\S+)\s+(.*)$`)
	bitsRE = regexp.MustCompile(`^(\d+)(?:\.\.(\d+))? (.*)$`)
	nameRE = regexp.MustCompile(`^(?:Clip )?([A-Z][A-Za-z0-9]*)`)
)

// commentRows converts the rows of a layout comment to the form of layoutRows.
func commentRows(t *testing.T, text string) []string {
	var out []string
	for row := range strings.Lines(text) {
		m := rowRE.FindStringSubmatch(strings.TrimSpace(row))
		require.NotNil(t, m, row)
		if m[1] == "0" {
			assert.Equal(t, "31..0", m[2])
			out = append(out, "0 "+m[3])
			continue
		}
		for part := range strings.SplitSeq(m[2]+" "+m[3], "; ") {
			if s := commentPart(t, m[1], part, row); s != "" {
				out = append(out, s)
			}
		}
	}
	return out
}

// commentPart reads one part of a row, as in "31..1 must be zero". A part that
// does not start with bits belongs to the complete row and gives nothing.
func commentPart(t *testing.T, dword, part, row string) string {
	b := bitsRE.FindStringSubmatch(strings.TrimSpace(part))
	if b == nil {
		return ""
	}
	lo := b[2]
	if lo == "" {
		lo = b[1]
	}
	at := fmt.Sprintf("%s %s..%s ", dword, b[1], lo)
	if b[3] == "must be zero" {
		return at + "reserved"
	}
	name := nameRE.FindStringSubmatch(b[3])
	require.NotNil(t, name, row)
	s := at + name[1]
	if strings.Contains(b[3], "GPU address") {
		s += " address"
	}
	for _, align := range []int{4, 8, 128} {
		if strings.HasSuffix(b[3], "a multiple of "+strconv.Itoa(align)) {
			s += fmt.Sprintf(" align %d", align)
		}
	}
	if strings.Contains(row, "each at most MaxCoord") {
		s += " coordinate"
	}
	return s
}
