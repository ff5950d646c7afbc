package probe

import (
	"fmt"
	"io"

	"github.com/hilgpu/hilgpu/bus/discovery"
	"github.com/hilgpu/hilgpu/rtl/abi/regmap"
)

// A Network is a board that has answered in a network.
type Network struct {
	Selector string `json:"selector"`
	Kind     string `json:"kind"` // emulator or gateware
	Name     string `json:"name"`
	MapHash  string `json:"map_hash"` // of its register map, 8 hexadecimal digits
	Token    bool   `json:"token"`    // it wants one
	Holder   string `json:"holder"`   // address of the host that has it, or ""
}

// Discovered asks in all networks of this machine. skipped says which ones it could not
// ask, and why.
func Discovered() (all []Network, skipped []error) {
	found, skipped := discovery.Ask()
	all = []Network{}
	for _, f := range found {
		all = append(all, Network{
			Selector: f.Selector, Kind: f.Kind.String(), Name: f.Name, MapHash: fmt.Sprintf("%08x", f.MapHash), Token: f.Token, Holder: f.Holder,
		})
	}
	return all, skipped
}

// state describes in words whether a host can have the board.
func (n Network) state() string {
	text := "free"
	if n.Holder != "" {
		text = "held by " + n.Holder
	}
	if n.MapHash != fmt.Sprintf("%08x", regmap.Hash()) {
		text += ", another register map"
	}
	if n.Token {
		text += ", wants a token"
	}
	return text
}

// WriteNetworks writes boards as a table, or a message if there are none.
func WriteNetworks(w io.Writer, all []Network) error {
	var rows [][]string
	for _, n := range all {
		rows = append(rows, []string{n.Selector, n.Kind, n.Name, n.state()})
	}
	return writeTable(w, "no board in a network", "SELECTOR\tKIND\tBOARD\tSTATE", rows)
}
