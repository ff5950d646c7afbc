package relay_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/boards/serve"
	"github.com/hilgpu/hilgpu/bus/ether/ethertest"
	"github.com/hilgpu/hilgpu/testbench/relay"
)

// systemPaths is a pseudo-terminal.
func systemPaths() []path {
	listen := func(t *testing.T) serve.Listener {
		l, err := serve.ListenPty("")
		require.NoError(t, err)
		return l
	}
	return []path{{"pty", true, false, listen, func(t *testing.T, board string, p relay.Plan) (*relay.Relay, error) {
		return relay.Pty(board, filepath.Join(t.TempDir(), "port"), p)
	}}}
}

// ethernet is a path in namespaces.
func ethernet(t *testing.T, n *ethertest.Net) path {
	near, far := n.Between(t)
	return path{"eth", false, true, func(t *testing.T) (l serve.Listener) {
		var err error
		for range 100 { // the socket of the session before may still be closing
			n.Board(t, func() { l, err = serve.Listen("eth:" + ethertest.BoardInterface) })
			if err == nil {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		require.NoError(t, err)
		return l
	}, func(_ *testing.T, _ string, p relay.Plan) (*relay.Relay, error) {
		return relay.Ethernet("eth:"+ethertest.HostInterface+"/"+ethertest.BoardMAC, near, far, p)
	}}
}

// TestEthernetSessions is TestSessions on raw Ethernet, between two networks.
func TestEthernetSessions(t *testing.T) {
	ethertest.Run(t, func(t *testing.T, n *ethertest.Net) {
		p := ethernet(t, n)
		p.campaign(t)
	})
}

// TestEthernetFaultsAndCuts is TestFaultsAndCuts on raw Ethernet.
func TestEthernetFaultsAndCuts(t *testing.T) {
	ethertest.Run(t, func(t *testing.T, n *ethertest.Net) {
		p := ethernet(t, n)
		p.compare(t)
	})
}

// TestEthernetCompose is TestCompose on raw Ethernet.
func TestEthernetCompose(t *testing.T) {
	ethertest.Run(t, func(t *testing.T, n *ethertest.Net) {
		p := ethernet(t, n)
		p.compose(t)
	})
}
