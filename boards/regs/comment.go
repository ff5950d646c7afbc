package regs

import (
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/hilgpu/hilgpu/bus/capture"
	"github.com/hilgpu/hilgpu/bus/tlp"
	"github.com/hilgpu/hilgpu/rtl/abi/intcreg"
	"github.com/hilgpu/hilgpu/rtl/abi/msixreg"
	"github.com/hilgpu/hilgpu/rtl/abi/pcicfg"
	"github.com/hilgpu/hilgpu/rtl/abi/regmap"
)

// A Commenter describes the packets of a link. It must see all packets in
// order: they tell it the addresses of the BARs, the request of each completion
// and the message of each vector.
type Commenter struct {
	follow  capture.Follower
	m       *regmap.Map
	config  map[int]string
	vectors [pcicfg.Vectors]vector
}

// A vector is the contents of an entry of the MSI-X table.
type vector struct {
	addr uint64
	data uint32
	set  bool
}

// NewCommenter returns a commenter for a link that has carried no packets yet.
func NewCommenter() *Commenter { return &Commenter{m: regmap.New(), config: ConfigNames()} }

// maxNames is the largest number of registers that one comment names.
const maxNames = 4

// Comment describes the next packet, in one line without a newline:
//
//	wr cp0.wptr = 0x40 (64 dwords)
//	completion of rd intc.status = 0x1 (done0=1 done1=0 fault0=0 fault1=0)
//	DMA wr 0x12345000, 64 bytes
//	MSI-X vector 0 (completion)
func (c *Commenter) Comment(dir capture.Dir, packet []byte) string {
	e, err := c.follow.Follow(dir, packet)
	p := &e.Packet
	if err != nil {
		return err.Error()
	}
	switch {
	case p.IsCompletion():
		return c.completion(dir, e)
	case p.IsConfig():
		return c.access(e, p, p.Kind == tlp.CfgWr0, e.Off)
	case p.IsMemory() && dir == capture.Up:
		return c.dma(e)
	case p.IsMemory():
		write := p.Kind == tlp.MWr32 || p.Kind == tlp.MWr64
		if write && e.Space == capture.BAR && e.BAR == 0 {
			c.learn(e)
		}
		return c.access(e, p, write, e.Off)
	}
	return p.String()
}

// completion describes a completion.
func (c *Commenter) completion(dir capture.Dir, e capture.Event) string {
	p := &e.Packet
	if e.Request == nil {
		return "unexpected completion: " + p.String()
	}
	what := c.access(e, e.Request, e.Request.Kind == tlp.CfgWr0, e.Off)
	if dir == capture.Down {
		what = c.dma(capture.Event{Packet: *e.Request, Off: e.Off})
	}
	switch {
	case p.Status != tlp.SC:
		return fmt.Sprintf("completion of %s: %s", what, p.Status)
	case p.Kind == tlp.CplD && dir == capture.Down:
		n, _ := p.Carries()
		return fmt.Sprintf("completion of DMA rd %#x, %d bytes", e.Off+uint64(p.Lower&3), n)
	case p.Kind == tlp.CplD:
		part := e
		part.Packet = *e.Request
		part.Packet.Data, part.Packet.Len = p.Data, p.Len
		return "completion of " + c.access(part, &part.Packet, false, e.Off) + poisoned(p)
	}
	return "completion of " + what
}

func poisoned(p *tlp.Packet) string {
	if p.EP {
		return ", poisoned"
	}
	return ""
}

// access describes a request of the host with the data of p.
func (c *Commenter) access(e capture.Event, p *tlp.Packet, write bool, off uint64) string {
	verb := "rd"
	if write {
		verb = "wr"
	}
	if p.First == 0 && p.Len == 1 && !write {
		return fmt.Sprintf("flush at %s", c.place(e, off))
	}
	named := e.Space == capture.Config || e.Space == capture.BAR && e.BAR == 0
	if !named || p.Len > maxNames {
		n := tlp.ByteCount(p.Len, p.First, p.Last)
		return fmt.Sprintf("%s %s, %d bytes", verb, c.place(e, off+uint64(tlp.Offset(p.First))), n) + poisoned(p)
	}
	var parts []string
	for i := range p.Len {
		at := off + 4*uint64(i)
		part := c.place(e, at)
		if len(p.Data) >= 4*i+4 {
			part += " = " + c.value(e, at, binary.LittleEndian.Uint32(p.Data[4*i:]))
		}
		parts = append(parts, part)
	}
	s := verb + " " + strings.Join(parts, ", ")
	if enables := p.First; enables != 15 || p.Len > 1 && p.Last != 15 {
		s += fmt.Sprintf(", byte enables %x/%x", p.First, p.Last)
	}
	return s + poisoned(p)
}

// place names an address.
func (c *Commenter) place(e capture.Event, off uint64) string {
	switch {
	case e.Space == capture.Config:
		if name, ok := c.config[int(off)]; ok {
			return "config." + name
		}
		return fmt.Sprintf("config+%#x", off)
	case e.Space == capture.BAR && e.BAR == 0:
		if r, ok := c.m.Lookup(uint32(off)); ok && off < pcicfg.BAR0Size {
			return Target{Entry: r}.Name()
		}
		return fmt.Sprintf("bar0+%#x", off)
	case e.Space == capture.BAR:
		return fmt.Sprintf("bar%d+%#x", e.BAR, off)
	}
	return fmt.Sprintf("%#x", off)
}

// value describes a dword at a named address.
func (c *Commenter) value(e capture.Event, off uint64, v uint32) string {
	if r, ok := c.m.Lookup(uint32(off)); ok && e.Space == capture.BAR {
		return short(r.Reg, v)
	}
	return fmt.Sprintf("%#x", v)
}

// learn records writes to the MSI-X table.
func (c *Commenter) learn(e capture.Event) {
	for i := 0; i+4 <= len(e.Packet.Data); i += 4 {
		at := e.Off + uint64(i)
		if at < msixreg.Base || at >= msixreg.Base+msixreg.Stride*pcicfg.Vectors {
			continue
		}
		at -= msixreg.Base
		w := &c.vectors[at/msixreg.Stride]
		v := binary.LittleEndian.Uint32(e.Packet.Data[i:])
		switch at % msixreg.Stride {
		case msixreg.AddrLo:
			w.addr = w.addr&^0xffffffff | uint64(v)
		case msixreg.AddrHi:
			w.addr = w.addr&0xffffffff | uint64(v)<<32
		case msixreg.Data:
			w.data = v
		}
		w.set = true
	}
}

// dma describes a request of the board.
func (c *Commenter) dma(e capture.Event) string {
	p := &e.Packet
	if p.Len == 1 && len(p.Data) == 4 {
		data := binary.LittleEndian.Uint32(p.Data)
		for i, v := range c.vectors {
			if v.set && v.addr == p.Addr && v.data == data {
				return fmt.Sprintf("MSI-X vector %d (%s)", i, map[int]string{intcreg.VectorDone: "completion", intcreg.VectorFault: "fault"}[i])
			}
		}
	}
	verb := "rd"
	if p.Kind == tlp.MWr32 || p.Kind == tlp.MWr64 {
		verb = "wr"
	}
	n := tlp.ByteCount(p.Len, p.First, p.Last)
	return fmt.Sprintf("DMA %s %#x, %d bytes", verb, p.Addr+uint64(tlp.Offset(p.First)), n) + poisoned(p)
}
