// Package probe lists the serial ports to which boards may be connected, and
// identifies boards.
package probe

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/hilgpu/hilgpu/boards"
	"github.com/hilgpu/hilgpu/boards/gateware"
	"github.com/hilgpu/hilgpu/boards/linkstat"
	"github.com/hilgpu/hilgpu/boards/regs"
	"github.com/hilgpu/hilgpu/bus/datalink"
	"github.com/hilgpu/hilgpu/bus/serial"
)

// A Port is a serial port. For a board elsewhere it has only the selector.
type Port struct {
	Selector     string   `json:"selector"`
	Path         string   `json:"path,omitempty"`
	Serial       string   `json:"serial,omitempty"`
	VendorID     string   `json:"vendor_id,omitempty"`
	ProductID    string   `json:"product_id,omitempty"`
	Manufacturer string   `json:"manufacturer,omitempty"`
	Product      string   `json:"product,omitempty"`
	Interface    *int     `json:"interface,omitempty"`
	Holders      []string `json:"holders,omitempty"` // programs that have it open
}

// A Board is the board at a port or selector.
type Board struct {
	Port
	Identity *regs.Identity  `json:"identity"`       // nil if it could not be read
	Link     *linkstat.State `json:"link,omitempty"` // registers of the link, nil if the board has none
	State    string          `json:"state"`          // "ready", or why not

	Err error `json:"-"` // why the board is not ready
}

// Ports returns the serial ports of the machine without opening them.
func Ports() ([]Port, error) {
	found, err := serial.List()
	if err != nil {
		return nil, err
	}
	ports := []Port{}
	for _, p := range found {
		ports = append(ports, newPort(p))
	}
	return ports, nil
}

func newPort(p serial.PortInfo) Port {
	out := Port{
		Selector: "serial:" + p.String(), Path: p.Path, Serial: p.Serial, VendorID: p.Vendor, ProductID: p.Product,
		Manufacturer: p.Manufacturer, Product: p.Name,
	}
	if p.Interface >= 0 {
		out.Interface = &p.Interface
	}
	for _, h := range p.Holders {
		out.Holders = append(out.Holders, h.String())
	}
	return out
}

// adapter describes the USB adapter of the port.
func (p Port) adapter() string {
	if p.VendorID == "" {
		return "not on USB"
	}
	return strings.Join(strings.Fields(fmt.Sprintf("%s:%s %s %s", p.VendorID, p.ProductID, p.Manufacturer, p.Product)), " ")
}

// holder names the programs that have the port open.
func (p Port) holder() string {
	switch {
	case len(p.Holders) > 0:
	case serial.HoldersKnown(runtime.GOOS):
		return "free"
	default:
		return "unknown"
	}
	return "held by " + strings.Join(p.Holders, ", ")
}

// Boards opens the board of each selector with opt, reads its identity and
// closes it. A board that is not ready has its error in Err; it does not make
// Boards fail.
func Boards(selectors []string, opt boards.Options) ([]Board, error) {
	all := []Board{}
	for _, s := range selectors {
		if err := boards.Check(s); err != nil {
			return nil, err
		}
		all = append(all, ask(Port{Selector: s}, opt))
	}
	return all, nil
}

// Attached is Boards for each serial port of the machine that is not in use.
// Options are those of the ports, as in baud=3000000. It fails with boards.ErrSelector if one
// of them has a bad value.
func Attached(options string, opt boards.Options) ([]Board, error) {
	ports, err := Ports()
	if err != nil {
		return nil, err
	}
	all := []Board{}
	for _, port := range ports {
		if options != "" {
			port.Selector += "?" + options
		}
		if err := boards.Check(port.Selector); err != nil {
			return nil, err
		}
		if len(port.Holders) > 0 {
			all = append(all, Board{Port: port, State: port.holder(), Err: serial.ErrBusy})
			continue
		}
		b := ask(port, opt)
		if errors.Is(b.Err, boards.ErrSelector) {
			return nil, b.Err
		}
		all = append(all, b)
	}
	return all, nil
}

// ask opens a board and reads its identity.
func ask(port Port, opt boards.Options) Board {
	b := Board{Port: port, State: "ready"}
	err := boards.WithRegisters(port.Selector, opt, regs.Options{}, func(f *regs.Function) error {
		id := f.Identity()
		b.Identity = &id
		link, err := linkstat.Read(f.Link())
		b.Link = link
		return err
	})
	if err != nil {
		b.State, b.Err = err.Error(), err
	}
	if errors.Is(err, datalink.ErrMapHash) || errors.Is(err, regs.ErrMapHash) {
		b.State = "map mismatch: " + err.Error()
	}
	return b
}

// WritePorts writes the ports as a table, or a message if there are none.
func WritePorts(w io.Writer, ports []Port) error {
	var rows [][]string
	for _, p := range ports {
		rows = append(rows, []string{p.Selector, p.Path, p.adapter(), p.holder()})
	}
	return writeTable(w, "no serial port", "SELECTOR\tDEVICE\tADAPTER\tSTATE", rows)
}

// WriteBoards writes the boards as a table, or a message if there was no port.
func WriteBoards(w io.Writer, all []Board) error {
	var rows [][]string
	for _, b := range all {
		id := "-"
		if b.Identity != nil {
			id = fmt.Sprintf("%04x:%04x v%s, map %s, %s%d nodes, %d KiB VRAM", b.Identity.Vendor, b.Identity.Device,
				b.Identity.Version, b.Identity.MapHash, build(b.Identity.Build, b.Link), b.Identity.Nodes, b.Identity.VRAMBytes>>10)
		}
		rows = append(rows, []string{b.Selector, id, b.State})
	}
	if err := writeTable(w, "no serial port", "SELECTOR\tIDENTITY\tSTATE", rows); err != nil {
		return err
	}
	return writeLinks(w, all)
}

// writeLinks writes the registers of the links that have some.
func writeLinks(w io.Writer, all []Board) error {
	for _, b := range all {
		if b.Link == nil {
			continue
		}
		if _, err := fmt.Fprintf(w, "%s\n  %s\n", b.Selector, strings.Join(b.Link.Lines(), "\n  ")); err != nil {
			return err
		}
	}
	return nil
}

// build describes a value of ID.BUILD, before other text: the board whose gateware in this
// program has it with the addresses of its station, or that it is another one. The description
// of no build is empty.
func build(text string, link *linkstat.State) string {
	v, err := strconv.ParseUint(text, 16, 32)
	if err != nil {
		return ""
	}
	var at gateware.Addresses
	if link != nil && link.MAC != nil {
		m := link.MAC
		at = gateware.Addresses{MAC: m.MAC, IP: m.IP, Port: strconv.Itoa(int(m.UDPPort))}
	}
	name := gateware.ByBuild(uint32(v), at)
	if name == "" {
		name = "of another source"
	}
	return fmt.Sprintf("build %s (%s), ", text, name)
}

// writeTable writes a table, or that there is nothing to write.
func writeTable(w io.Writer, none, header string, rows [][]string) error {
	if len(rows) == 0 {
		_, err := fmt.Fprintln(w, none)
		return err
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, header)
	for _, row := range rows {
		fmt.Fprintln(t, strings.Join(row, "\t"))
	}
	return t.Flush()
}
