// Package snap plays back a snapshot of a function's registers as a link, so
// that code that reads a board can also read a file.
package snap

import (
	"encoding/binary"
	"fmt"

	"github.com/hilgpu/hilgpu/boards/regs"
	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/bus/still"
)

// Link is a function played back from a snapshot: a bus.Link and a bus.Clock. A
// read of anything outside the snapshot, and every write, is an error that
// wraps bus.ErrRecorded. The clock counts nanoseconds and advances only in
// Wait.
type Link struct {
	name   string
	config map[int]uint32
	bar0   map[uint64]uint32

	still.Clock
}

var (
	_ bus.Link  = (*Link)(nil)
	_ bus.Clock = (*Link)(nil)
)

// Open reads a snapshot from a file, as regs.Load does.
func Open(file string) (bus.Link, bus.Clock, error) {
	s, err := regs.Load(file)
	if err != nil {
		return nil, nil, err
	}
	l := New(s, file)
	return l, l, nil
}

// New returns a link to s. Errors name it by name.
func New(s *regs.Snapshot, name string) *Link {
	l := &Link{name: name, config: map[int]uint32{}, bar0: map[uint64]uint32{}}
	for _, c := range s.Config {
		l.config[int(c.Off)] = uint32(c.Value)
	}
	for _, r := range s.Registers {
		l.bar0[uint64(r.Off)] = uint32(r.Value)
	}
	return l
}

// Recording returns the name of the file. A link with this method has no board.
func (l *Link) Recording() string { return l.name }

// ReadConfig implements bus.Link.
func (l *Link) ReadConfig(off int) (uint32, error) {
	if err := l.Usable(); err != nil {
		return 0, err
	}
	if off < 0 || off > 0xffc || off%4 != 0 {
		return 0, fmt.Errorf("%w: configuration read at %#x, want a multiple of 4 below 0x1000", bus.ErrArgument, off)
	}
	v, ok := l.config[off]
	if !ok {
		return 0, fmt.Errorf("%w: configuration %#x is not in the snapshot %s", bus.ErrRecorded, off, l.name)
	}
	return v, nil
}

// WriteConfig implements bus.Link. It always fails.
func (l *Link) WriteConfig(off int, _ uint32) error {
	if err := l.Usable(); err != nil {
		return err
	}
	return fmt.Errorf("%w: configuration write at %#x: %s is a snapshot", bus.ErrRecorded, off, l.name)
}

// Read implements bus.Link.
func (l *Link) Read(bar int, off uint64, p []byte) error {
	if err := l.Usable(); err != nil {
		return err
	}
	if bar < 0 || bar > 5 || off%4 != 0 || len(p)%4 != 0 || off+uint64(len(p)) < off {
		return fmt.Errorf("%w: read of %d bytes at BAR %d offset %#x, want multiples of 4", bus.ErrArgument, len(p), bar, off)
	}
	for i := 0; i < len(p); i += 4 {
		at := off + uint64(i)
		v, ok := l.bar0[at]
		if bar != 0 || !ok {
			return fmt.Errorf("%w: BAR %d offset %#x is not in the snapshot %s", bus.ErrRecorded, bar, at, l.name)
		}
		binary.LittleEndian.PutUint32(p[i:], v)
	}
	return nil
}

// Write implements bus.Link. It always fails.
func (l *Link) Write(bar int, off uint64, _ []byte) error {
	if err := l.Usable(); err != nil {
		return err
	}
	return fmt.Errorf("%w: write at BAR %d offset %#x: %s is a snapshot", bus.ErrRecorded, bar, off, l.name)
}
