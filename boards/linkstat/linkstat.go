// Package linkstat reads the registers of a link in hardware: its state, its rate, and the
// counters of what it has refused and repeated.
package linkstat

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"

	"github.com/hilgpu/hilgpu/bus"
	"github.com/hilgpu/hilgpu/rtl/abi/linkreg"
	"github.com/hilgpu/hilgpu/rtl/abi/reg"
)

// A State is the registers of a link. Counters are since the reset of the board, modulo 2^16.
type State struct {
	Up       bool     `json:"up"`
	Cause    string   `json:"cause"` // why the last session ended
	ClockHz  uint32   `json:"clock_hz"`
	Period   uint32   `json:"period,omitempty"` // of a bit, in 1/16 clocks; 0 on Ethernet
	Baud     uint32   `json:"baud,omitempty"`   // bits per second, rounded; 0 on Ethernet
	Counters Counters `json:"counters"`
	UART     *UART    `json:"uart,omitempty"`     // nil on Ethernet
	MAC      *MAC     `json:"ethernet,omitempty"` // nil at a UART
}

// Counters are those of the link, see linkreg.Block.
type Counters struct {
	Sessions uint32 `json:"sessions"`
	Received uint32 `json:"received"`
	Refused  uint32 `json:"refused"`
	Repeated uint32 `json:"repeated"`
	Naks     uint32 `json:"naks"`
	Packets  uint32 `json:"packets"`
}

// UART has the counters of a UART.
type UART struct {
	Framing  uint32 `json:"framing"`
	Glitches uint32 `json:"glitches"`
	Breaks   uint32 `json:"breaks"`
}

// MAC has the counters of an Ethernet MAC and of the IP layer above it.
type MAC struct {
	MAC     string `json:"mac"` // address of the station
	IP      string `json:"ip"`
	UDPPort uint16 `json:"udp_port"`

	Runts     uint32 `json:"runts"`
	Oversized uint32 `json:"oversized"`
	Bad       uint32 `json:"bad"`
	Filtered  uint32 `json:"filtered"`
	Good      uint32 `json:"good"`
	NoRoom    uint32 `json:"no_room"`
	Ignored   uint32 `json:"ignored"`
	Invalid   uint32 `json:"invalid"`
}

// A reader reads dwords of the capability. The first error stays.
type reader struct {
	link bus.Link
	err  error
}

// word reads a dword by its offset from linkreg.Base.
func (r *reader) word(off int) uint32 {
	if r.err != nil {
		return 0
	}
	var v uint32
	v, r.err = r.link.ReadConfig(linkreg.Base + off)
	return v
}

// words reads dwords that follow each other.
func (r *reader) words(off int, to ...*uint32) {
	for i, p := range to {
		*p = r.word(off + 4*i)
	}
}

// Read reads the registers. It returns nil and no error if the board has none: the emulator,
// and a recording. It fails with an error of the link.
func Read(link bus.Link) (*State, error) {
	r := &reader{link: link}
	header := r.word(linkreg.Header)
	if errors.Is(r.err, bus.ErrUnsupported) || r.err == nil && header != linkreg.HeaderValue {
		return nil, nil // a root port need not have extended configuration space
	}
	if v := r.word(linkreg.VSEC); r.err == nil && v != linkreg.VSECValue {
		return nil, nil
	}
	s := r.state()
	if r.err != nil {
		return nil, r.err
	}
	return s, nil
}

func (r *reader) state() *State {
	word := r.word(linkreg.State)
	s := &State{Up: word&linkreg.StateUp != 0, Cause: Cause(word), ClockHz: r.word(linkreg.Clock)}
	c := &s.Counters
	r.words(linkreg.Counters, &c.Sessions, &c.Received, &c.Refused, &c.Repeated, &c.Naks, &c.Packets)
	if word&linkreg.StateUART != 0 {
		s.UART = new(UART)
		s.Period = r.word(linkreg.Rate) & linkreg.RatePeriod
		s.Baud = Baud(s.ClockHz, s.Period)
		r.words(linkreg.UART, &s.UART.Framing, &s.UART.Glitches, &s.UART.Breaks)
	}
	if word&linkreg.StateMAC != 0 {
		m := new(MAC)
		s.MAC = m
		m.station(r.word(linkreg.Station), r.word(linkreg.MACLow), r.word(linkreg.IP))
		r.words(linkreg.MAC, &m.Runts, &m.Oversized, &m.Bad, &m.Filtered, &m.Good, &m.NoRoom, &m.Ignored, &m.Invalid)
	}
	return s
}

// station sets the addresses from their registers.
func (m *MAC) station(first, mac, ip uint32) {
	b := binary.BigEndian.AppendUint16(nil, uint16(first&linkreg.StationMAC))
	m.MAC = net.HardwareAddr(binary.BigEndian.AppendUint32(b, mac)).String()
	m.IP = net.IP(binary.BigEndian.AppendUint32(nil, ip)).String()
	m.UDPPort = uint16(first >> 16)
}

// Cause returns the cause in a value of STATE, by its name.
func Cause(state uint32) string {
	return cause.Format(cause.Get(state))
}

var cause = reg.Field{Mask: linkreg.StateCause, Enum: linkreg.Causes}

// Baud returns the bits per second of a period in 1/16 clocks, rounded; 0 if that is 0.
func Baud(hz, period uint32) uint32 {
	if period == 0 {
		return 0
	}
	return uint32((16*uint64(hz) + uint64(period)/2) / uint64(period))
}

// Lines returns the registers as text, one line each for the state, for the counters of the
// link and for those of its line.
func (s *State) Lines() []string {
	up, rate := "up", ""
	if !s.Up {
		up = "down"
	}
	if s.Baud != 0 {
		rate = fmt.Sprintf(", %d bit/s", s.Baud)
	}
	c := s.Counters
	out := []string{
		fmt.Sprintf("link %s, cause of the last end %s%s, clock %d Hz", up, s.Cause, rate, s.ClockHz),
		fmt.Sprintf("sessions %d, received %d, refused %d, repeated %d, naks %d, packets %d", c.Sessions, c.Received, c.Refused, c.Repeated, c.Naks, c.Packets),
	}
	if u := s.UART; u != nil {
		out = append(out, fmt.Sprintf("framing %d, glitches %d, breaks %d", u.Framing, u.Glitches, u.Breaks))
	}
	if m := s.MAC; m != nil {
		out = append(out, fmt.Sprintf("MAC %s, IP %s, port %d", m.MAC, m.IP, m.UDPPort))
		out = append(out, fmt.Sprintf("runts %d, oversized %d, bad %d, filtered %d, good %d, no_room %d, ignored %d, invalid %d",
			m.Runts, m.Oversized, m.Bad, m.Filtered, m.Good, m.NoRoom, m.Ignored, m.Invalid))
	}
	return out
}
