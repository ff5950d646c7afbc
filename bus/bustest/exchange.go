package bustest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/bus"
)

// Exchange writes n bytes to BAR 2 and reads them back, each round at the next multiple of 64
// bytes and with other data.
func Exchange(t testing.TB, link bus.Link, n, rounds int) {
	t.Helper()
	want, got := make([]byte, n), make([]byte, n)
	for i := range rounds {
		for j := range want {
			want[j] = byte(i + 3*j)
		}
		require.NoError(t, link.Write(2, uint64(64*i), want))
		require.NoError(t, link.Read(2, uint64(64*i), got))
		require.Equal(t, want, got)
	}
}
