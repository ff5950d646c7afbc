package regs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/hilgpu/hilgpu/rtl/abi/pcicfg"
)

// ErrSnapshot is returned, wrapped, for a file that is not a snapshot.
var ErrSnapshot = errors.New("regs: bad snapshot")

// format is the value of Snapshot.Format.
const format = "hilgpu-registers-1"

// maxSnapshot is the largest size of a snapshot file, in bytes.
const maxSnapshot = 1 << 20

// A Snapshot holds the state of a function that can be read without side
// effects: configuration space as it was before Open, and the registers by
// offset.
type Snapshot struct {
	Format    string     `json:"format"`
	Board     string     `json:"board"` // selector
	Identity  Identity   `json:"identity"`
	Config    []Setting  `json:"config"`
	Registers []Register `json:"registers"`
}

// A Setting is one dword of configuration space.
type Setting struct {
	Off   Hex `json:"offset"`
	Value Hex `json:"value"`
}

// A Register is one register of a snapshot. Its fields and volatility come from
// the register map.
type Register struct {
	Name  string `json:"name"` // in lower case
	Off   Hex    `json:"offset"`
	Value Hex    `json:"value"`
}

// Hex is a dword that is a string in JSON, as in "0x1004".
type Hex uint32

// MarshalJSON implements json.Marshaler.
func (h Hex) MarshalJSON() ([]byte, error) { return fmt.Appendf(nil, `"%#x"`, uint32(h)), nil }

// UnmarshalJSON implements json.Unmarshaler. It accepts only the output of
// MarshalJSON.
func (h *Hex) UnmarshalJSON(b []byte) error {
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		return err
	}
	digits, ok := strings.CutPrefix(s, "0x")
	v, err := strconv.ParseUint(digits, 16, 32)
	if !ok || err != nil {
		return fmt.Errorf("%q, want 32 bits like 0x1004", s)
	}
	*h = Hex(v)
	return nil
}

// configBytes is the size of the configuration space in a snapshot: the
// PCI-compatible part and the head of the first extended capability.
const configBytes = 0x104

// Take reads a snapshot. A snapshot of a recording has the data of the
// recording.
func (f *Function) Take(board string) (*Snapshot, error) {
	s := &Snapshot{Format: format, Board: board, Identity: f.id, Config: []Setting{}, Registers: []Register{}}
	for off := 0; off < configBytes; off += 4 {
		v, err := f.config(off)
		if f.absent(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		s.Config = append(s.Config, Setting{Hex(off), Hex(v)})
	}
	for _, e := range f.names.entries {
		t := Target{Entry: e}
		if t.ReadEffect() != "" {
			continue
		}
		v, err := f.word(e.Off())
		if f.absent(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", t.Name(), err)
		}
		s.Registers = append(s.Registers, Register{t.Name(), Hex(e.Off()), Hex(v)})
	}
	return s, nil
}

// config reads configuration space as it was before Open.
func (f *Function) config(off int) (uint32, error) {
	v, err := f.link.ReadConfig(off)
	for _, d := range f.found {
		if d.off == off && off == pcicfg.Command {
			v = v&0xffff0000 | d.value
		} else if d.off == off {
			v = d.value
		}
	}
	return v, err
}

// Encode encodes the snapshot as a file, one register per line.
func (s *Snapshot) Encode() ([]byte, error) {
	head, err := json.Marshal(struct {
		Format   string   `json:"format"`
		Board    string   `json:"board"`
		Identity Identity `json:"identity"`
	}{s.Format, s.Board, s.Identity})
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	b.Write(head[:len(head)-1])
	b.WriteString(",\n \"config\": [")
	err = lines(&b, s.Config)
	b.WriteString("],\n \"registers\": [")
	err = errors.Join(err, lines(&b, s.Registers))
	b.WriteString("]}\n")
	return b.Bytes(), err
}

// lines writes the elements of a JSON array, one per line.
func lines[T any](b *bytes.Buffer, all []T) error {
	for i, v := range all {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString("\n  ")
		line, err := json.Marshal(v)
		if err != nil {
			return err
		}
		b.Write(line)
	}
	return nil
}

// Decode reads a snapshot. It fails with ErrSnapshot if the input is invalid or
// has duplicate entries.
func Decode(r io.Reader) (*Snapshot, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxSnapshot+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxSnapshot {
		return nil, fmt.Errorf("%w: larger than %d bytes", ErrSnapshot, maxSnapshot)
	}
	s := &Snapshot{}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(s); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSnapshot, err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%w: text after its end", ErrSnapshot)
	}
	return s, s.check()
}

func (s *Snapshot) check() error {
	if s.Format != format {
		return fmt.Errorf("%w: format %q, want %q", ErrSnapshot, s.Format, format)
	}
	seen := map[Hex]bool{}
	for _, c := range s.Config {
		if c.Off%4 != 0 || c.Off > 0xffc || seen[c.Off] {
			return fmt.Errorf("%w: configuration %#x twice, or no offset of a dword", ErrSnapshot, uint32(c.Off))
		}
		seen[c.Off] = true
	}
	clear(seen)
	names := map[string]bool{}
	for _, r := range s.Registers {
		if r.Off%4 != 0 || r.Off >= pcicfg.BAR0Size || seen[r.Off] || r.Name == "" || names[r.Name] {
			return fmt.Errorf("%w: register %q at %#x twice, or no offset of a dword in BAR0", ErrSnapshot, r.Name, uint32(r.Off))
		}
		seen[r.Off], names[r.Name] = true, true
	}
	return nil
}

// Load reads a snapshot from a file.
func Load(file string) (*Snapshot, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSnapshot, err)
	}
	defer f.Close()
	s, err := Decode(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return s, nil
}
