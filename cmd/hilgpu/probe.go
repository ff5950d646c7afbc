package main

import (
	"cmp"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/hilgpu/hilgpu/boards"
	"github.com/hilgpu/hilgpu/boards/regs"
	"github.com/hilgpu/hilgpu/bus/datalink"
	"github.com/hilgpu/hilgpu/bus/serial"
)

// portJSON is a serial port as board list and board probe print it.
type portJSON struct {
	Selector     string   `json:"selector"`
	Path         string   `json:"path,omitempty"`
	Serial       string   `json:"serial,omitempty"`
	VendorID     string   `json:"vendor_id,omitempty"`
	ProductID    string   `json:"product_id,omitempty"`
	Manufacturer string   `json:"manufacturer,omitempty"`
	Product      string   `json:"product,omitempty"`
	Interface    *int     `json:"interface,omitempty"`
	Holders      []string `json:"holders,omitempty"`
}

func newPortJSON(p serial.PortInfo) portJSON {
	out := portJSON{
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

// adapter names what the port is at.
func (p portJSON) adapter() string {
	if p.VendorID == "" {
		return "not on USB"
	}
	return strings.Join(strings.Fields(fmt.Sprintf("%s:%s %s %s", p.VendorID, p.ProductID, p.Manufacturer, p.Product)), " ")
}

func (p portJSON) holder() string {
	switch {
	case len(p.Holders) > 0:
	case serial.HoldersKnown(runtime.GOOS):
		return "free"
	default:
		return "not known"
	}
	return "held by " + strings.Join(p.Holders, ", ")
}

func newBoardList(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:   "list",
		Short: "List the serial ports that boards may be at, and who holds them",
		Long:  "List prints the serial ports of the machine. It opens none of them.",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			ports, err := serial.List()
			if err != nil {
				return err
			}
			return printPorts(a, ports)
		},
	}
	a.addJSON(c.Flags())
	return c
}

// portsJSON is what board list --json prints.
type portsJSON struct {
	Ports []portJSON `json:"ports"`
}

func printPorts(a *app, ports []serial.PortInfo) error {
	list := []portJSON{}
	for _, p := range ports {
		list = append(list, newPortJSON(p))
	}
	if a.Document(portsJSON{list}) {
		return nil
	}
	if len(list) == 0 {
		_, err := fmt.Fprintln(a.Out, "no serial port")
		return err
	}
	t := tabwriter.NewWriter(a.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "SELECTOR\tDEVICE\tADAPTER\tSTATE")
	for _, p := range list {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", p.Selector, p.Path, p.adapter(), p.holder())
	}
	return t.Flush()
}

// probed is what probe found at a selector.
type probed struct {
	portJSON
	Identity *regs.Identity `json:"identity"`
	State    string         `json:"state"` // ready, or why not

	err error
}

func newProbe(a *app) *cobra.Command {
	var options string
	c := &cobra.Command{
		Use:   "probe [SELECTOR...]",
		Short: "Ask boards who they are: identity, register map, state",
		Long: `Probe opens each board, or what is at each serial port that nobody holds, reads its
identity and closes it again. Without selectors it fails only if it cannot look;
with selectors it fails as the first of them that is not ready.`,
		Example: `  hilgpu board probe
  hilgpu board probe --options baud=3000000
  hilgpu board probe tcp:127.0.0.1:4000 --json`,
		RunE: func(c *cobra.Command, args []string) error {
			found, err := probeAll(a, args, options)
			if err != nil {
				return err
			}
			if err := printProbed(a, found); err != nil {
				return err
			}
			for _, p := range found {
				if len(args) > 0 && p.err != nil {
					return p.err
				}
			}
			return nil
		},
	}
	a.addJSON(c.Flags())
	c.Flags().StringVar(&options, "options", "", "`options` of the serial ports that are found, as in baud=3000000")
	a.links.add(c)
	return c
}

// probeAll asks the selectors, or all serial ports.
func probeAll(a *app, selectors []string, options string) ([]probed, error) {
	defer a.onSignal()()
	link, err := a.links.Options()
	if err != nil {
		return nil, err
	}
	var all []probed
	for _, s := range selectors {
		if err := boards.Check(s); err != nil {
			return nil, err
		}
		all = append(all, probe(portJSON{Selector: s}, link))
	}
	if len(selectors) > 0 {
		return all, nil
	}
	ports, err := serial.List()
	if err != nil {
		return nil, err
	}
	for _, p := range ports {
		port := newPortJSON(p)
		if options != "" {
			port.Selector += "?" + options
		}
		if err := boards.Check(port.Selector); err != nil {
			return nil, err
		}
		if len(port.Holders) > 0 {
			all = append(all, probed{portJSON: port, State: port.holder(), err: serial.ErrBusy})
			continue
		}
		all = append(all, probe(port, link))
	}
	return all, nil
}

// probe opens a board and reads its identity.
func probe(port portJSON, opt boards.Options) probed {
	p := probed{portJSON: port, State: "ready"}
	link, _, err := boards.OpenWith(port.Selector, regs.NoMemory{}, opt)
	if err == nil {
		var f *regs.Function
		if f, err = regs.Open(link, regs.Options{}); err == nil {
			id := f.Identity()
			p.Identity, err = &id, f.Close()
		}
		err = cmp.Or(err, link.Close())
	}
	if err != nil {
		p.State, p.err = err.Error(), err
	}
	if errors.Is(err, datalink.ErrMapHash) || errors.Is(err, regs.ErrMapHash) {
		p.State = "map mismatch: " + err.Error()
	}
	return p
}

// probedJSON is what board probe --json prints.
type probedJSON struct {
	Boards []probed `json:"boards"`
}

func printProbed(a *app, all []probed) error {
	if a.Document(probedJSON{append([]probed{}, all...)}) {
		return nil
	}
	if len(all) == 0 {
		_, err := fmt.Fprintln(a.Out, "no serial port")
		return err
	}
	t := tabwriter.NewWriter(a.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "SELECTOR\tIDENTITY\tSTATE")
	for _, p := range all {
		id := "-"
		if p.Identity != nil {
			id = fmt.Sprintf("%04x:%04x v%s, map %s, %d nodes, %d KiB VRAM", p.Identity.Vendor, p.Identity.Device,
				p.Identity.Version, p.Identity.MapHash, p.Identity.Nodes, p.Identity.VRAMBytes>>10)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\n", p.Selector, id, p.State)
	}
	return t.Flush()
}
