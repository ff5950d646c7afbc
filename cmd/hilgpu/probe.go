package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/hilgpu/hilgpu/boards/probe"
	"github.com/hilgpu/hilgpu/testbench/command"
	"github.com/hilgpu/hilgpu/testbench/command/exit"
)

// portsJSON is the output of board list --json.
type portsJSON struct {
	Ports []probe.Port `json:"ports"`
}

// networkJSON is the output of board list --discover --json.
type networkJSON struct {
	Boards []probe.Network `json:"boards"`
}

func newBoardList(a *command.App) *cobra.Command {
	var discover bool
	c := &cobra.Command{
		Use:   "list",
		Short: "List the serial ports that boards may be connected to, or the boards in networks",
		Long: `List prints the serial ports of the machine. It does not open them.

With --discover it asks in all networks of the machine by broadcast, for less than a
second, and prints the boards that answer: emulator or gateware, and the host that has the
board. It asks on UDP port 18503, and in raw Ethernet if it has CAP_NET_RAW.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if discover {
				return runDiscover(a, c.ErrOrStderr())
			}
			ports, err := probe.Ports()
			if err != nil || a.Document(portsJSON{ports}) {
				return err
			}
			return probe.WritePorts(a.Out, ports)
		},
	}
	a.AddJSON(c.Flags())
	c.Flags().BoolVar(&discover, "discover", false, "ask in the networks of this machine")
	return c
}

func runDiscover(a *command.App, stderr io.Writer) error {
	found, skipped := probe.Discovered()
	for _, err := range skipped {
		fmt.Fprintf(stderr, "warning: a network that was not asked: %v\n", err)
	}
	if a.Document(networkJSON{found}) {
		return nil
	}
	return probe.WriteNetworks(a.Out, found)
}

// boardsJSON is the output of board probe --json.
type boardsJSON struct {
	Boards []probe.Board `json:"boards"`
}

func newProbe(a *command.App) *cobra.Command {
	var options string
	c := &cobra.Command{
		Use:   "probe [SELECTOR...]",
		Short: "Identify boards: identity, register map, state, registers of the link",
		Long: `Probe opens each board, or the board at each serial port that is not in use, reads its
identity and closes it again. A board whose link is in hardware also has registers of the
link: the cause of the last end, the rate, and counters since the reset of the board, modulo
65536. docs/registers.md describes them under LINK.

Without selectors it fails only if the ports cannot be listed; with selectors it fails with
the error of the first board that is not ready.`,
		Example: `  hilgpu board probe
  hilgpu board probe --options baud=3000000
  hilgpu board probe tcp:127.0.0.1:4000 --json`,
		RunE: func(c *cobra.Command, args []string) error { return runProbe(a, args, options) },
	}
	a.AddJSON(c.Flags())
	c.Flags().StringVar(&options, "options", "", "`options` of the serial ports found, as in baud=3000000")
	a.Links.Add(c)
	return c
}

// runProbe probes the selectors, or all serial ports.
func runProbe(a *command.App, selectors []string, options string) error {
	link, err := a.Links.Options()
	if err != nil {
		return err
	}
	if len(selectors) > 0 && options != "" {
		return fmt.Errorf("%w: --options: a selector has its own options", exit.ErrInput)
	}
	find := func() ([]probe.Board, error) { return probe.Boards(selectors, link) }
	if len(selectors) == 0 {
		find = func() ([]probe.Board, error) { return probe.Attached(options, link) }
	}
	found, err := find()
	if err != nil {
		return err
	}
	if !a.Document(boardsJSON{found}) {
		if err := probe.WriteBoards(a.Out, found); err != nil {
			return err
		}
	}
	for _, b := range found {
		if len(selectors) > 0 && b.Err != nil {
			return b.Err
		}
	}
	return nil
}
