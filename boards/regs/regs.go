// Package regs accesses the registers of a function by name, over any bus.Link:
// it reads and writes them, takes and compares snapshots, and describes
// captured packets.
//
// # Names
//
// A name is block.register or block.register.field, in any case, as in cp0.wptr
// or intc.status.done0. Two registers whose names end in _LO and _HI are also a
// 64-bit pair, named without the suffix: cp0.ring_base. Each part may be a
// pattern of path.Match: cp*.fault_*. @0x1018 is the register at that offset in
// BAR0. A ! at the end permits an otherwise refused access.
//
// [Open] identifies the function, [Function.Find] resolves names,
// [Function.ReadAll] and [Function.Write] access the registers, and
// [Function.Take] takes a [Snapshot]. The registers come from the tables of
// [github.com/hilgpu/hilgpu/rtl/abi/regmap].
package regs

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/rtl/abi/caps"
	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pcicfg"
	"github.com/hilgpu/hilgpu/rtl/abi/reg"
	"github.com/hilgpu/hilgpu/rtl/abi/regmap"
)

// Error kinds. Each is wrapped with details. Errors of the link are passed on.
var (
	ErrDevice   = errors.New("regs: no such device")
	ErrMapHash  = errors.New("regs: register map mismatch")
	ErrName     = errors.New("regs: bad name")
	ErrValue    = errors.New("regs: bad value")
	ErrRefused  = errors.New("regs: refused")
	ErrReadBack = errors.New("regs: read-back mismatch")
)

// Addresses that Open assigns to BARs without one: those that hal, the emulated
// PC, assigns to the first BAR of each kind.
const (
	BAR0Address = 0xe0000000
	BAR2Address = 1 << 32
)

// Options of Open.
type Options struct {
	// AnyMap accepts a function with another register map; names may refer to wrong registers.
	AnyMap bool
}

// A Function is the GPU at the end of a link.
type Function struct {
	link  bus.Link
	names *Names
	id    Identity
	found []dword // dwords of configuration space changed by Open, in order
}

// A dword is a dword of configuration space.
type dword struct {
	off   int
	value uint32
}

// Identity is the identity of a function, read from its registers. Members that
// a recording does not have are 0.
type Identity struct {
	Vendor     uint16 `json:"vendor"`
	Device     uint16 `json:"device"`
	Version    string `json:"version"`  // of the hardware, major.minor
	MapHash    string `json:"map_hash"` // eight hexadecimal digits
	Build      string `json:"build"`    // of gateware, eight hexadecimal digits; empty if it is not a build
	Nodes      int    `json:"nodes"`
	Tags       int    `json:"tags"`
	LengthBits int    `json:"length_bits"`
	HostBits   int    `json:"host_bits"`
	VRAMBytes  uint32 `json:"vram_bytes"`
	ClockHz    uint32 `json:"clock_hz"`
}

// A recording is a link that plays back a file. Its memory decode need not be
// enabled, and it may lack registers.
type recording interface{ Recording() string }

// Open identifies the function. If memory decode is off, Open enables it and
// assigns addresses to BARs without one, until Close; a function already set up
// by a driver is only read. Open fails with ErrDevice if the device is missing
// or another one, with ErrMapHash if its register map is not that of this
// program, and with an error of the link.
func Open(link bus.Link, opt Options) (*Function, error) {
	f := &Function{link: link}
	err := f.open(opt)
	if err == nil {
		return f, nil
	}
	if again := f.Close(); again != nil && !errors.Is(err, bus.ErrLinkDown) {
		err = errors.Join(err, again)
	}
	return nil, err
}

func (f *Function) open(opt Options) error {
	if err := f.identify(); err != nil {
		return err
	}
	if !f.recorded() {
		if err := f.enable(); err != nil {
			return err
		}
	}
	return f.readIdentity(opt)
}

func (f *Function) recorded() bool {
	_, ok := f.link.(recording)
	return ok
}

func (f *Function) identify() error {
	id, err := f.link.ReadConfig(pcicfg.ID)
	if f.recorded() && errors.Is(err, bus.ErrUnsupported) {
		return nil
	}
	switch {
	case err != nil:
		return err
	case id == 0 || id == 0xffffffff:
		return fmt.Errorf("%w: no answer, the identity reads %#08x", ErrDevice, id)
	case id != pcicfg.VendorID|pcicfg.DeviceID<<16:
		return fmt.Errorf("%w: found %04x:%04x, want %04x:%04x", ErrDevice, id&0xffff, id>>16, pcicfg.VendorID, pcicfg.DeviceID)
	}
	f.id.Vendor, f.id.Device = uint16(id), uint16(id>>16)
	return nil
}

// enable makes the BARs accessible.
func (f *Function) enable() error {
	var v [4]uint32
	for i, off := range []int{pcicfg.Command, pcicfg.BAR0, pcicfg.BAR2, pcicfg.BAR3} {
		var err error
		if v[i], err = f.link.ReadConfig(off); err != nil {
			return err
		}
	}
	if v[1]&^pcicfg.BARFlags == 0 {
		if err := f.place(pcicfg.BAR0, v[1], BAR0Address, pcicfg.BARFlags); err != nil {
			return err
		}
	}
	if v[2] != 0 && v[2]&^pcicfg.BARFlags == 0 && v[3] == 0 { // implemented but without an address
		if err := f.place(pcicfg.BAR3, v[3], BAR2Address>>32, 0); err != nil {
			return err
		}
	}
	if v[0]&pcicfg.CommandMemory != 0 {
		return nil
	}
	// The status half is write-1-to-clear.
	command := v[0] & 0xffff
	f.found = append(f.found, dword{pcicfg.Command, command})
	return f.link.WriteConfig(pcicfg.Command, command|pcicfg.CommandMemory)
}

// place writes an address to a BAR, or to the high half of one, and checks that
// it was accepted. Flags are the bits of the BAR outside the address.
func (f *Function) place(off int, old, addr, flags uint32) error {
	f.found = append(f.found, dword{off, old})
	if err := f.link.WriteConfig(off, addr); err != nil {
		return err
	}
	got, err := f.link.ReadConfig(off)
	if err != nil {
		return err
	}
	if got&^flags != addr {
		return fmt.Errorf("%w: BAR %d reads %#x after %#x was written", ErrDevice, (off-pcicfg.BAR0)/4, got, addr)
	}
	return nil
}

// Close restores the values changed by Open, in reverse order. The link stays
// open. Close is idempotent.
func (f *Function) Close() error {
	var first error
	for n := len(f.found) - 1; n >= 0; n-- {
		if err := f.link.WriteConfig(f.found[n].off, f.found[n].value); err != nil && first == nil {
			first = fmt.Errorf("regs: configuration space stays changed: %w", err)
		}
	}
	f.found = nil
	return first
}

// readIdentity reads the identity registers.
func (f *Function) readIdentity(opt Options) error {
	magic, err := f.word(idreg.Base + idreg.Magic)
	if err != nil {
		return err
	}
	if magic != idreg.MagicValue {
		return fmt.Errorf("%w: id.magic reads %#08x, want %#08x", ErrDevice, magic, uint32(idreg.MagicValue))
	}
	hash, err := f.word(idreg.Base + idreg.MapHash)
	if err != nil {
		return err
	}
	if want := regmap.Hash(); hash != want && !opt.AnyMap {
		return fmt.Errorf("%w: the device has %08x, want %08x: names would refer to other registers", ErrMapHash, hash, want)
	}
	f.id.MapHash = fmt.Sprintf("%08x", hash)
	var version, word, word2, bits, build uint32
	type reading struct {
		off uint32
		to  *uint32
	}
	readings := []reading{
		{idreg.Version, &version}, {idreg.Caps, &word}, {idreg.HostBits, &bits},
		{idreg.VRAMSize, &f.id.VRAMBytes}, {idreg.ClockHz, &f.id.ClockHz},
	}
	if hash == regmap.Hash() { // another map may have nothing there
		readings = append(readings, reading{idreg.Caps2, &word2}, reading{idreg.Build, &build})
	}
	for _, r := range readings {
		*r.to, err = f.word(idreg.Base + r.off)
		if err != nil && !f.absent(err) {
			return err
		}
	}
	if version != 0 {
		f.id.Version = fmt.Sprintf("%d.%d", version>>16, version&0xffff)
	}
	if build != 0 {
		f.id.Build = fmt.Sprintf("%08x", build)
	}
	get := func(mask uint32) int { return int(reg.Field{Mask: mask}.Get(word)) }
	f.id.Nodes, f.id.Tags, f.id.LengthBits = get(idreg.CapsNodes), get(idreg.CapsTags), get(idreg.CapsLength)
	f.id.HostBits = int(bits)
	f.names = AllNames()
	if word != 0 { // a recording may not have it
		f.names = NewNames(caps.Of(word, word2))
	}
	return nil
}

// absent reports whether err means that a recording lacks the data.
func (f *Function) absent(err error) bool {
	return f.recorded() && errors.Is(err, bus.ErrUnsupported)
}

// Link returns the link to the function.
func (f *Function) Link() bus.Link { return f.link }

// Identity returns the identity of the function.
func (f *Function) Identity() Identity { return f.id }

// Names returns the names of the registers that this function has.
func (f *Function) Names() *Names { return f.names }

// word reads one register by its offset in BAR0.
func (f *Function) word(off uint32) (uint32, error) {
	var b [4]byte
	if err := f.link.Read(0, uint64(off), b[:]); err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint32(b[:]), nil
}

func (f *Function) setWord(off, v uint32) error {
	return f.link.Write(0, uint64(off), binary.LittleEndian.AppendUint32(nil, v))
}

// NoMemory is a host without memory, for programs that only access registers.
// It refuses every request of a device.
type NoMemory struct{}

// ReadMem implements bus.Host.
func (NoMemory) ReadMem(addr uint64, _ []byte) error {
	return fmt.Errorf("%w: read of host memory at %#x", bus.ErrUnsupported, addr)
}

// WriteMem implements bus.Host.
func (NoMemory) WriteMem(addr uint64, _ []byte) error {
	return fmt.Errorf("%w: write of host memory at %#x", bus.ErrUnsupported, addr)
}
