package testbench

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/d3d11"
	"github.com/hilgpu/hilgpu/testbench/events/eventstest"
)

// A finding of the sanitizer names the resource as the application does.
func TestFindingsHaveDebugNames(t *testing.T) {
	for name, want := range map[string]string{"vertices": `(resource 1 "vertices", a buffer of 64 bytes), of which nobody has written`, "": "(resource 1, a buffer of 64 bytes), of which nobody has written"} {
		s, err := Open("emu", HostDrivers(), Options{Sanitize: true, Record: eventstest.Record(t)})
		require.NoError(t, err)
		dev, ctx, err := s.CreateDevice()
		require.NoError(t, err)
		var bufs []*d3d11.Buffer
		for range 2 {
			b, err := dev.CreateBuffer(d3d11.BufferDesc{ByteWidth: 64, BindFlags: d3d11.BindVertexBuffer}, nil)
			require.NoError(t, err)
			bufs = append(bufs, b)
		}
		bufs[0].SetPrivateData(d3d11.DebugObjectName, []byte(name))
		ctx.CopyResource(bufs[1], bufs[0])
		bufs[0].Release() // the name stays
		ctx.Flush()
		require.NoError(t, s.WaitForIdle())
		require.NoError(t, s.Close())
		require.Len(t, s.Findings(), 1)
		assert.Equal(t, "access-unwritten", s.Findings()[0].Rule)
		assert.Contains(t, s.Findings()[0].First, want)
	}
}
