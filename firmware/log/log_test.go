package log

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// An area is a message area that may fail at an offset.
type area struct {
	bytes [0x7000]byte
	fails uint32
}

func (a *area) ReadHost(off uint32, b []byte) error {
	if off == a.fails {
		return errors.New("gone")
	}
	copy(b, a.bytes[off:])
	return nil
}

func (a *area) WriteHost(off uint32, b []byte) error {
	copy(a.bytes[off:], b)
	return nil
}

func (a *area) set(off uint32, words ...uint32) {
	for i, w := range words {
		binary.LittleEndian.PutUint32(a.bytes[off+uint32(4*i):], w)
	}
}

const formats = "first\x00%u and %08x, \"x\"\x00"

func table(t *testing.T) Table {
	t.Helper()
	got, err := ParseTable([]byte("\x01\x02\x03\x04567890123456" + formats))
	require.NoError(t, err)
	return got
}

func TestTable(t *testing.T) {
	assert.NoError(t, table(t).Check(0x04030201))
	assert.EqualError(t, table(t).Check(5), "log: formats of another build: 01020304, want 05000000")
	assert.Equal(t, []string{"first", "%u and %08x, \"x\""}, table(t).Formats())
	for _, bad := range []string{"", "123456789012345", "1234567890123456x"} {
		_, err := ParseTable([]byte(bad))
		assert.ErrorIs(t, err, ErrTable, bad)
	}
}

// The ring continues at its begin, and its lines are taken.
func TestRead(t *testing.T) {
	a := &area{fails: 1}
	a.set(0x28, 127)
	a.set(0x48, 130, 9)
	a.set(0x3000+127*32, 127, 0x20000, 5, 1, 0, 0, 0)
	a.set(0x3000, 130, 0x10006, 6, 1, 7, 0xbeef, 0)
	a.set(0x3020, 131, 0x30007, 7, 1, 1, 2, 3)
	lines, lost, err := Read(a, table(t))
	require.NoError(t, err)
	assert.EqualValues(t, 9, lost)
	assert.Equal(t, []Line{{127, 1<<32 + 5, 2, "first"}, {130, 1<<32 + 6, 1, "7 and 0000beef, \"x\""}, {131, 1<<32 + 7, 3, "format 0x7, arguments [0x1 0x2 0x3]"}}, lines)
	lines, _, err = Read(a, table(t))
	require.NoError(t, err)
	assert.Empty(t, lines)
}

func TestBadRing(t *testing.T) {
	a := &area{fails: 1}
	a.set(0x48, 129)
	_, _, err := Read(a, table(t))
	assert.EqualError(t, err, "log: bad ring: head 0, tail 129")
	a.set(0x48, 1)
	for off, name := range map[uint32]string{0x28: "0x28", 0x4c: "0x4c", 0x3000: "0x3000"} {
		a.fails = off
		_, _, err := Read(a, table(t))
		assert.EqualError(t, err, "log: read of the area at "+name+": gone")
	}
}

func TestForms(t *testing.T) {
	lines := []Line{{0, 12, 2, "first"}, {1, 1 << 40, 1, "7, \"x\""}}
	var text, json, csv strings.Builder
	require.NoError(t, Text(&text, lines))
	require.NoError(t, JSON(&json, lines))
	require.NoError(t, CSV(&csv, lines))
	assert.Equal(t, "          12 first\n1099511627776 7, \"x\"\n", text.String())
	assert.Equal(t, `{"number":0,"clocks":12,"level":2,"text":"first"}`+"\n"+`{"number":1,"clocks":1099511627776,"level":1,"text":"7, \"x\""}`+"\n", json.String())
	assert.Equal(t, "number,clocks,level,text\n0,12,2,first\n1,1099511627776,1,\"7, \"\"x\"\"\"\n", csv.String())
}

func TestSamples(t *testing.T) {
	a := &area{fails: 1}
	a.set(0x2c, 64)
	a.set(0x50, 65, 3)
	a.set(0x4000, 67, 0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6)
	got, lost, err := Samples(a)
	require.NoError(t, err)
	assert.EqualValues(t, 3, lost)
	assert.Equal(t, []Sample{{67, 1<<32 + 8, 2<<32 + 9, [2]uint64{3<<32 + 10, 5<<32 + 12}, [2]uint64{4<<32 + 11, 6<<32 + 13}}}, got)
	got, _, err = Samples(a)
	require.NoError(t, err)
	assert.Empty(t, got)
	a.fails = 0x50
	_, _, err = Samples(a)
	assert.EqualError(t, err, "log: read of the area at 0x50: gone")
	all := []Sample{{0, 1, 2, [2]uint64{3, 4}, [2]uint64{5, 6}}}
	var text, json, csv strings.Builder
	require.NoError(t, SamplesText(&text, all))
	require.NoError(t, SamplesJSON(&json, all))
	require.NoError(t, SamplesCSV(&csv, all))
	assert.Equal(t, "           1 node 0: busy 3, 5 bytes; node 1: busy 4, 6 bytes\n", text.String())
	assert.Equal(t, `{"number":0,"clocks":1,"cycles":2,"busy":[3,4],"bytes":[5,6]}`+"\n", json.String())
	assert.Equal(t, "number,clocks,cycles,busy0,bytes0,busy1,bytes1\n0,1,2,3,5,4,6\n", csv.String())
}
