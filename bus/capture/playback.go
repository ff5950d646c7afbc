package capture

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/bus/still"
	"github.com/hilgpu/hilgpu/bus/tlp"
)

// Playback is a bus.Link and a bus.Clock that plays back a capture. A read
// returns the board's last answer to a read of the same address. A read of data
// not in the capture is an error that wraps bus.ErrRecorded: an address that
// was never read, or one written since, because only the board knows the effect
// of a write on a register. A prefetchable BAR is memory, so there the last
// written value counts too. Writes are refused.
//
// Only the clock of a Playback changes. It counts nanoseconds and advances only
// in Wait.
type Playback struct {
	name   string
	config map[uint64]cell
	bars   [6]map[uint64]*page
	pages  int

	still.Clock
}

var (
	_ bus.Link  = (*Playback)(nil)
	_ bus.Clock = (*Playback)(nil)
)

// A cell is the known state of a dword.
type cell struct {
	state state
	value uint32
}

type state uint8

const (
	unseen  state = iota
	seen          // value is valid
	written       // written since it was last read, or never read
)

// pageBytes is the size of a part of a BAR whose cells are stored together.
// maxPages bounds the pages of a capture: slightly more than the largest VRAM
// has.
const (
	pageBytes = 4096
	maxPages  = 256<<20/pageBytes + 256
)

type page [pageBytes / 4]cell

// Open reads a capture from a file. It fails with the system's error, or with
// ErrFormat or ErrPacket.
func Open(file string) (bus.Link, bus.Clock, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, nil, fmt.Errorf("capture: %w", err)
	}
	defer f.Close()
	p, err := NewPlayback(f, file)
	if err != nil {
		return nil, nil, err
	}
	return p, p, nil
}

// NewPlayback reads a complete capture. Errors name it by name.
func NewPlayback(r io.Reader, name string) (*Playback, error) {
	c, err := NewReader(r)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	p := &Playback{name: name, config: map[uint64]cell{}}
	var f Follower
	for n := 1; ; n++ {
		rec, err := c.Next()
		if errors.Is(err, io.EOF) {
			return p, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		e, err := f.Follow(rec.Dir, rec.Packet)
		if errors.Is(err, tlp.ErrUnsupported) {
			continue // the board refuses it, so it has no effect
		}
		if err != nil {
			return nil, fmt.Errorf("%s: packet %d: %w", name, n, err)
		}
		p.take(&f, e)
		if p.pages > maxPages {
			return nil, fmt.Errorf("%s: packet %d: %w: the capture touches more than %d pages of the BARs", name, n, ErrPacket, maxPages)
		}
	}
}

// take records the data of one packet.
func (p *Playback) take(f *Follower, e Event) {
	k := &e.Packet
	switch {
	case e.Space != Config && e.Space != BAR || k.EP:
		return
	case k.Kind == tlp.CplD && e.Request != nil:
		for i := 0; i < len(k.Data); i += 4 {
			p.set(e, i, cell{seen, binary.LittleEndian.Uint32(k.Data[i:])})
		}
	case k.Kind == tlp.MWr32 || k.Kind == tlp.MWr64 || k.Kind == tlp.CfgWr0:
		memory := e.Space == BAR && f.prefetchable(e.BAR)
		for i := 0; i < len(k.Data); i += 4 {
			enable := uint8(15)
			if i == 0 {
				enable = k.First
			} else if i == len(k.Data)-4 {
				enable = k.Last
			}
			p.set(e, i, p.cell(e.Space, e.BAR, e.Off+uint64(i)).write(binary.LittleEndian.Uint32(k.Data[i:]), enable, memory))
		}
	}
}

// write returns the cell after a write of the enabled bytes.
func (c cell) write(v uint32, enable uint8, memory bool) cell {
	switch {
	case enable == 0:
		return c
	case !memory || enable != 15 && c.state != seen:
		return cell{state: written}
	}
	mask := uint32(0)
	for i := range 4 {
		if enable>>i&1 != 0 {
			mask |= 0xff << (8 * i)
		}
	}
	return cell{seen, c.value&^mask | v&mask}
}

func (p *Playback) set(e Event, i int, c cell) {
	off := e.Off + uint64(i)
	if e.Space == Config {
		p.config[off] = c
		return
	}
	pages := &p.bars[e.BAR]
	if *pages == nil {
		*pages = map[uint64]*page{}
	}
	at := (*pages)[off/pageBytes]
	if at == nil {
		at = &page{}
		(*pages)[off/pageBytes] = at
		p.pages++
	}
	at[off%pageBytes/4] = c
}

// cell returns the known state of a dword.
func (p *Playback) cell(space Space, bar int, off uint64) cell {
	if space == Config {
		return p.config[off]
	}
	if at := p.bars[bar][off/pageBytes]; at != nil {
		return at[off%pageBytes/4]
	}
	return cell{}
}

// Recording returns the name of the file. A link with this method has no board.
func (p *Playback) Recording() string { return p.name }

// value returns a dword, or an error if it is unknown.
func (p *Playback) value(space Space, bar int, off uint64) (uint32, error) {
	where := fmt.Sprintf("configuration %#x", off)
	if space == BAR {
		where = fmt.Sprintf("BAR %d offset %#x", bar, off)
	}
	switch c := p.cell(space, bar, off); c.state {
	case seen:
		return c.value, nil
	case written:
		return 0, fmt.Errorf("%w: %s is not in the capture %s: it was written and not read since", bus.ErrRecorded, where, p.name)
	}
	return 0, fmt.Errorf("%w: %s is not in the capture %s", bus.ErrRecorded, where, p.name)
}

// ReadConfig implements bus.Link.
func (p *Playback) ReadConfig(off int) (uint32, error) {
	if err := p.Usable(); err != nil {
		return 0, err
	}
	if off < 0 || off > 0xffc || off%4 != 0 {
		return 0, fmt.Errorf("%w: configuration read at %#x, want a multiple of 4 below 0x1000", bus.ErrArgument, off)
	}
	return p.value(Config, 0, uint64(off))
}

// WriteConfig implements bus.Link. It always fails.
func (p *Playback) WriteConfig(off int, _ uint32) error {
	if err := p.Usable(); err != nil {
		return err
	}
	return fmt.Errorf("%w: configuration write at %#x: %s is a capture", bus.ErrRecorded, off, p.name)
}

// Read implements bus.Link.
func (p *Playback) Read(bar int, off uint64, b []byte) error {
	if err := p.Usable(); err != nil {
		return err
	}
	if bar < 0 || bar > 5 || off%4 != 0 || len(b)%4 != 0 || off+uint64(len(b)) < off {
		return fmt.Errorf("%w: read of %d bytes at BAR %d offset %#x, want multiples of 4", bus.ErrArgument, len(b), bar, off)
	}
	for i := 0; i < len(b); i += 4 {
		v, err := p.value(BAR, bar, off+uint64(i))
		if err != nil {
			return err
		}
		binary.LittleEndian.PutUint32(b[i:], v)
	}
	return nil
}

// Write implements bus.Link. It always fails.
func (p *Playback) Write(bar int, off uint64, _ []byte) error {
	if err := p.Usable(); err != nil {
		return err
	}
	return fmt.Errorf("%w: write at BAR %d offset %#x: %s is a capture", bus.ErrRecorded, bar, off, p.name)
}
