package testbench

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/boards/serve"
	"github.com/hilgpu/hilgpu/bus/ether/ethertest"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

// onEthernet is onServedBoards on raw Ethernet, in namespaces.
func onEthernet(t *testing.T, patience time.Duration, f func(t *testing.T, board *serve.Board, s *System)) {
	t.Parallel()
	ethertest.Run(t, func(t *testing.T, n *ethertest.Net) {
		var l serve.Listener
		var err error
		n.Board(t, func() { l, err = serve.Listen("eth:" + ethertest.BoardInterface) })
		require.NoError(t, err)
		onServedBoard(t, l, "eth:"+ethertest.HostInterface+"/"+ethertest.BoardMAC, patience, f)
	})
}

// TestWorkContinuesOnEthernet is TestWorkContinuesInAPause on raw Ethernet.
func TestWorkContinuesOnEthernet(t *testing.T) { onEthernet(t, time.Minute, workContinues) }

// TestPauseOnEthernet is TestPauseAfterFlush on raw Ethernet.
func TestPauseOnEthernet(t *testing.T) {
	tooltest.Long(t)
	onEthernet(t, 0, pausesAfterFlush)
}
