// Package bustest is the conformance suite for implementations of bus.Link. It
// includes a test host and a small reference device.
package bustest

import (
	"testing"

	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/rtl/abi/pcicfg"
)

// A Fixture describes one link to a device that has just been powered on. The
// device has the BARs and the MSI-X capability of pcicfg, and BAR2 is memory of
// at least 4 KiB.
type Fixture struct {
	Link  bus.Link
	Clock bus.Clock
	Host  *Host // host of the link, with at least 4 KiB of memory

	// Register is the BAR0 offset of a read-write dword. A read at Unmapped is a completer abort.
	Register, Unmapped uint64

	// Announce makes the device, through the link, write to host memory at
	// addr, a multiple of 128, and then send message 0. It returns the bytes
	// that the device will write.
	Announce func(link bus.Link, addr uint64) ([]byte, error)

	// Requests returns the number of requests that have reached the device. It
	// is nil if the number is unknown.
	Requests func() uint64

	// Kill cuts the connection. It is nil if the link cannot be cut.
	Kill func()
}

// A suiteCase checks one rule. Its function returns an error that describes the
// violation.
type suiteCase struct {
	name  string
	check func(Fixture) error
}

// Run checks the rules of bus.Link, bus.Clock and bus.Host. Each check gets its
// own link from open, which Run closes.
func Run(t *testing.T, open func(t *testing.T) Fixture) {
	for _, c := range cases() {
		t.Run(c.name, func(t *testing.T) {
			f := open(t)
			defer f.Link.Close()
			if err := c.check(f); err != nil {
				t.Error(err)
			}
		})
	}
}

func cases() []suiteCase {
	return []suiteCase{
		{"configuration space can be read and written", checkConfig},
		{"BARs can be sized", checkSizing},
		{"a read sees the writes before it", checkPosted},
		{"any range of memory reads as written", checkRanges},
		{"bad arguments are refused and not sent", checkArguments},
		{"an access with memory decode off is unsupported", checkDecodeOff},
		{"an access beyond the BARs is unsupported", checkBeyond},
		{"an unmapped register aborts", checkUnmapped},
		{"the access after an error succeeds", checkRecovery},
		{"a message arrives after its data", checkMessage},
		{"a message ends a wait", checkWait},
		{"a wait ends at its deadline", checkDeadline},
		{"time passes and does not go backwards", checkTime},
		{"concurrent goroutines do not interfere", checkGoroutines},
		{"close is idempotent and final", checkClose},
		{"a dead link stays dead", checkDead},
	}
}

// Addresses that Enumerate assigns to the BARs, in bytes.
const (
	Base0 = 0xe0000000
	Base2 = 0x2_0000_0000
)

// Enumerate places the BARs, routes message v to MessageBase with data v, and
// enables memory decode, bus mastering and MSI-X.
func Enumerate(link bus.Link) error {
	for _, w := range []struct {
		off int
		v   uint32
	}{
		{pcicfg.BAR0, Base0},
		{pcicfg.BAR2, Base2 & 0xffffffff},
		{pcicfg.BAR3, Base2 >> 32},
		{pcicfg.Command, pcicfg.CommandMemory | pcicfg.CommandBusMaster},
		{pcicfg.MSIX, pcicfg.MSIXEnable},
	} {
		if err := link.WriteConfig(w.off, w.v); err != nil {
			return err
		}
	}
	for v := range pcicfg.Vectors {
		entry := make([]byte, 16)
		putLE32(entry, MessageBase)
		putLE32(entry[8:], uint32(v))
		if err := link.Write(0, pcicfg.MSIXTableOffset+16*uint64(v), entry); err != nil {
			return err
		}
	}
	return nil
}

// DeviceFixture describes a link, its clock and its host with the reference
// device d at the other end.
func DeviceFixture(link bus.Link, clock bus.Clock, host *Host, d *Device) Fixture {
	return Fixture{
		Link: link, Clock: clock, Host: host,
		Register: RegScratch, Unmapped: 0x1000,
		Announce: announce, Requests: d.Requests,
	}
}

// announce makes the reference device write 100 bytes of its memory.
func announce(link bus.Link, addr uint64) ([]byte, error) {
	want := make([]byte, 100)
	for i := range want {
		want[i] = byte(3*i + 1)
	}
	if err := link.Write(2, 0, want); err != nil {
		return nil, err
	}
	return want, StartJob(link, JobWrite, addr, 0, uint32(len(want)))
}

// StartJob starts a job of the reference device.
func StartJob(link bus.Link, job uint32, host uint64, mem, n uint32) error {
	p := make([]byte, 20)
	for i, v := range []uint32{uint32(host), uint32(host >> 32), mem, n, job} {
		putLE32(p[4*i:], v)
	}
	return link.Write(0, RegHostLo, p)
}
