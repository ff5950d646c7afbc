package colorlighti5

import (
	"bytes"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/eth/mac"
	"github.com/hilgpu/hilgpu/rtl/verilog/tool/tooltest"
)

// exchange returns a short run at a rate. The PHY receives three frames, one with an error, and
// then some of the most bytes. The design sends more than its queue holds. wrong returns what is
// wrong with a result, or "".
func exchange(r rate, burst int) (in run, wrong func(result) string) {
	rnd := rand.New(rand.NewPCG(7, 1))
	words := r.start()
	var all [][]byte
	const first = 3
	for i := range first + burst {
		c := carrier{frame(60, rnd), -1}
		if i == 1 {
			c.wrong = 5
		}
		if i >= first {
			c.data = frame(mac.MaxFrame, rnd)
		}
		words = append(words, r.words(c, 12, false, rnd)...)
		words = append(words, r.gap(mac.GapBytes)...)
		all = append(all, append(r.preambleOf(12), c.data...))
	}
	frames := [][]byte{frame(mac.MaxFrame, rnd), frame(mac.MinFrame, rnd), frame(900, rnd)}
	in = run{clk: clk, phy: r.ps, words: words, symbols: symbolsOf(frames, rnd)}
	return in, func(got result) string {
		if len(got.rx) != len(all) || len(got.broken) > 0 {
			return "carriers"
		}
		for i, f := range got.rx {
			n := min(len(f.data), len(all[i]))
			switch {
			case i < first && f.wrong != (i == 1):
				return "an error of the PHY"
			case !bytes.Equal(f.data, all[i][:n]):
				return "a byte"
			case !f.wrong && n != len(all[i]):
				return "a byte was lost"
			}
		}
		if len(got.tx) != len(frames) {
			return "frames"
		}
		for i, f := range frames {
			if !assert.ObjectsAreEqual(r.sent(f), got.tx[i]) {
				return "a frame"
			}
			if got.idle[i] < len(r.gap(mac.GapBytes)) {
				return "a gap"
			}
		}
		return ""
	}
}

// TestBroken: exchange finds nothing in the shell, also with a synchronizer whose bits arrive at
// different times, and finds each mistake.
func TestBroken(t *testing.T) {
	tooltest.Need(t, "iverilog", "vvp")
	skew, err := os.ReadFile("../shell/testdata/skew.v")
	require.NoError(t, err)
	for _, tt := range []struct {
		name           string
		rate           rate
		burst          int
		file, old, now string
		want           string
	}{
		{"nothing", gigabit, 5, "asyncfifo_sync.v", "", "", ""},
		{"nothing", fast, 0, "asyncfifo_sync.v", "", "", ""},
		{"a frame begins before it is complete", gigabit, 0, "rgmii_tx.v", "rvalid && frames != sent_gray", "rvalid", "a frame"},
		{"a gap of 11", fast, 0, "rgmii_tx.v", "GAP = 12", "GAP = 11", "a gap"},
		{"nibbles in the wrong order", fast, 0, "rgmii_tx.v", "step ? rdata[7:4] : rdata[3:0]", "step ? rdata[3:0] : rdata[7:4]", "a frame"},
		{"any two nibbles are a byte", fast, 0, "rgmii_rx.v", "aligned ? half : start", "half", "a byte"},
		{"a loss is forgotten", gigabit, 5, "rgmii_rx.v", "dv ? lost || drops", "dv ? drops", "a byte"},
		{"a loss is not marked", gigabit, 5, "rgmii_rx.v", "wrong || lost || drops", "wrong", "a byte was lost"},
		{"RX_ER is RX_DV", gigabit, 0, "rgmii_pins.v", "rise[4] ^ fall[4]", "rise[4]", "an error of the PHY"},
		{"falling edge for rising", gigabit, 0, "rgmii_pins.v", "{tx_en, tx_low}", "{tx_en, tx_high}", "a frame"},
		{"100 Mbit/s is a gigabit", fast, 0, "rgmii_rate.v", "LEAST = 12", "LEAST = 3", "a byte"},
		{"the count of frames in binary", gigabit, 0, "shell.v", "frames_next ^ (frames_next >> 1)", "frames_next", "a frame"},
		{"no room, but taken", slow, 0, "shell.v", "(room || !enable)", "1'b1", "frames"},
	} {
		t.Run(tt.name+" "+tt.rate.name, func(t *testing.T) {
			t.Parallel()
			found := 0
			b := newBench(t, func(name string, text []byte) []byte {
				if name == "asyncfifo_sync.v" {
					text = skew
				}
				if name == tt.file && tt.old != "" {
					found = bytes.Count(text, []byte(tt.old))
					return bytes.Replace(text, []byte(tt.old), []byte(tt.now), 1)
				}
				return text
			})
			require.Equal(t, tt.old != "", found == 1)
			in, wrong := exchange(tt.rate, tt.burst)
			got, err := parse(b.output(t, in))
			what := "output"
			if err == nil {
				what = wrong(got)
			}
			assert.Equal(t, tt.want, what, "%v", err)
		})
	}
}
