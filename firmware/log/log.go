// Package log reads the log of the firmware and its samples of the nodes, and shows them as text, JSON
// lines or CSV. A line has the
// number of its format; the formats are in a table that belongs to one build of the firmware.
package log

import (
	"bytes"
	"encoding/binary"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/hilgpu/hilgpu/rtl/abi/fwabi"
)

// Why a log cannot be read. Errors of a Memory are wrapped too.
var (
	ErrTable = errors.New("log: bad table of formats")
	ErrBuild = errors.New("log: formats of another build")
	ErrRing  = errors.New("log: bad ring")
)

// A Memory is the message area, by offset in bytes.
type Memory interface {
	ReadHost(off uint32, b []byte) error
	WriteHost(off uint32, b []byte) error
}

// A Table has the formats of one build.
type Table struct {
	Build [fwabi.BuildBytes]uint8
	texts []byte
}

// ParseTable returns the table in data: the build id, and the section .log of the ELF file, where each
// format ends with a zero.
func ParseTable(data []byte) (Table, error) {
	if len(data) < fwabi.BuildBytes || len(data) > fwabi.BuildBytes && data[len(data)-1] != 0 {
		return Table{}, fmt.Errorf("%w: %d bytes", ErrTable, len(data))
	}
	return Table{[fwabi.BuildBytes]uint8(data), data[fwabi.BuildBytes:]}, nil
}

// Check returns an error that wraps ErrBuild unless the table is that of the program whose build id
// begins with build, as the mail word BUILD and the answer of HELLO have it. The error has the bytes in
// the order of the build id.
func (t Table) Check(build uint32) error {
	if want := binary.LittleEndian.AppendUint32(nil, build); !bytes.HasPrefix(t.Build[:], want) {
		return fmt.Errorf("%w: %x, want %x", ErrBuild, t.Build[:len(want)], want)
	}
	return nil
}

// Formats returns all formats.
func (t Table) Formats() []string {
	return strings.FieldsFunc(string(t.texts), func(r rune) bool { return r == 0 })
}

// text returns a line as text. A number without a format is shown with the arguments.
func (t Table) text(id uint32, args [3]uint32) string {
	if uint64(id) >= uint64(len(t.texts)) || id != 0 && t.texts[id-1] != 0 {
		return fmt.Sprintf("format %#x, arguments %#x", id, args)
	}
	format, _, _ := bytes.Cut(t.texts[id:], []byte{0})
	s := strings.ReplaceAll(string(format), "%u", "%d")
	var used []any
	for i := range min(strings.Count(s, "%"), len(args)) {
		used = append(used, args[i])
	}
	return fmt.Sprintf(s, used...)
}

// A Line is a line of the log.
//
//	Number  from 0; lines that were lost have numbers too
//	Clocks  the time of the firmware
//	Level   1 error, 2 event, 3 each message
type Line struct {
	Number uint32 `json:"number"`
	Clocks uint64 `json:"clocks"`
	Level  uint32 `json:"level"`
	Text   string `json:"text"`
}

// Read takes the lines in the ring, and returns them with the number of lines that were lost since the start.
func Read(m Memory, t Table) (lines []Line, lost uint32, err error) {
	entries, lost, err := drain(m, ring{fwabi.AreaLogHead, fwabi.AreaLogTail, fwabi.AreaLogLost, fwabi.AreaLog, fwabi.LogBytes, fwabi.LogEntries})
	for _, b := range entries {
		lines = append(lines, t.line(b))
	}
	return lines, lost, err
}

// A ring is the offsets of the words of a ring and of its entries, and their size and number.
type ring struct{ head, tail, lost, entries, size, count uint32 }

// drain takes the entries of a ring.
func drain(m Memory, r ring) (entries [][]byte, lost uint32, err error) {
	var words [3]uint32
	for i, off := range []uint32{r.head, r.tail, r.lost} {
		var b [4]byte
		if err := m.ReadHost(off, b[:]); err != nil {
			return nil, 0, fmt.Errorf("log: read of the area at %#x: %w", off, err)
		}
		words[i] = binary.LittleEndian.Uint32(b[:])
	}
	head, tail := words[0], words[1]
	if tail-head > r.count {
		return nil, 0, fmt.Errorf("%w: head %d, tail %d", ErrRing, head, tail)
	}
	for ; head != tail; head++ {
		b := make([]byte, r.size)
		off := r.entries + head%r.count*r.size
		if err := m.ReadHost(off, b); err != nil {
			return nil, 0, fmt.Errorf("log: read of the area at %#x: %w", off, err)
		}
		entries = append(entries, b)
	}
	if err := m.WriteHost(r.head, binary.LittleEndian.AppendUint32(nil, head)); err != nil {
		return nil, 0, fmt.Errorf("log: write of the area at %#x: %w", r.head, err)
	}
	return entries, words[2], nil
}

// line decodes a line.
func (t Table) line(b []byte) Line {
	word := func(i int) uint32 { return binary.LittleEndian.Uint32(b[4*i:]) }
	head := word(fwabi.LineHead)
	var args [3]uint32
	for i := range args {
		args[i] = word(fwabi.LineArguments + i)
	}
	return Line{word(fwabi.LineNumber), uint64(word(fwabi.LineTime+1))<<32 | uint64(word(fwabi.LineTime)), head & fwabi.LineLevel >> 16, t.text(head&fwabi.LineID, args)}
}

// Text writes a line for each line of the log: its time and its text.
func Text(w io.Writer, lines []Line) error {
	for _, l := range lines {
		if _, err := fmt.Fprintf(w, "%12d %s\n", l.Clocks, l.Text); err != nil {
			return err
		}
	}
	return nil
}

// JSON writes a JSON object for each line.
func JSON(w io.Writer, lines []Line) error {
	e := json.NewEncoder(w)
	for _, l := range lines {
		if err := e.Encode(l); err != nil {
			return err
		}
	}
	return nil
}

// CSV writes a table with the names of the columns in its first line.
func CSV(w io.Writer, lines []Line) error {
	c := csv.NewWriter(w)
	rows := [][]string{{"number", "clocks", "level", "text"}}
	for _, l := range lines {
		rows = append(rows, []string{strconv.FormatUint(uint64(l.Number), 10), strconv.FormatUint(l.Clocks, 10), strconv.FormatUint(uint64(l.Level), 10), l.Text})
	}
	return c.WriteAll(rows)
}
