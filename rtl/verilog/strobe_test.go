package verilog

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestStrobes reads from the registers' process which registers a clock may leave
// unchanged.
func TestStrobes(t *testing.T) {
	l, named := snippet(t, `
type Module struct {
	each uint8
	kept uint8
	mate uint8
	seen uint8
	sum  uint8
}

func (m *Module) Tick(a, b bool, v uint8) {
	m.each = 0
	if a {
		m.each = v
		if b {
			m.kept, m.mate = v, 3
			m.seen = m.seen + v
		}
	}
	if a != b {
		m.sum = m.seen ^ m.kept
		m.seen = 1
	}
}

func (m *Module) Reset() { *m = Module{seen: 7} }
`)
	d, err := l.translate(named, moduleOf(named), nil)
	require.NoError(t, err)
	text := string(d.Files[len(d.Files)-1].Text)
	_, clocked, ok := strings.Cut(text, "always @(posedge clk) begin\n")
	require.True(t, ok)
	clocked, _, _ = strings.Cut(clocked, "  end\n")
	require.Equal(t, `    each <= rst ? 8'd0 : n_each;
    if (w_kept || rst) kept <= rst ? 8'd0 : d_kept;
    if (w_kept || rst) mate <= rst ? 8'd0 : n_mate;
    if (w_seen || rst) seen <= rst ? 8'd7 : d_seen;
    if (w_sum || rst) sum <= rst ? 8'd0 : n_sum;
`, clocked)
	for _, line := range []string{
		"n_mate = 8'bx;",           // not read anywhere
		"n_kept = kept;",           // read after the path that assigns it
		"n_seen = seen + v;",       // of the value before the clock
		"n_sum = n_seen ^ n_kept;", // of the value after the clock
	} {
		require.Contains(t, text, line)
	}
}
