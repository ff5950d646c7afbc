package fault

import (
	"bytes"
	"fmt"
	"math/bits"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// pass sends n numbered frames of size bytes and returns the frames that
// arrive.
func pass(j *Injector, n, size int) (out [][]byte, effects []Effect) {
	for i := range n {
		f := bytes.Repeat([]byte{byte(i)}, size)
		effects = append(effects, j.Apply(f, func(f []byte) { out = append(out, bytes.Clone(f)) }))
	}
	return out, effects
}

func numbers(frames [][]byte) (n []int) {
	for _, f := range frames {
		n = append(n, int(f[0]))
	}
	return n
}

func TestNothing(t *testing.T) {
	out, effects := pass(New(Config{Seed: 1}, 0), 5, 3)
	assert.Equal(t, []int{0, 1, 2, 3, 4}, numbers(out))
	assert.Equal(t, make([]Effect, 5), effects)
}

func TestCertain(t *testing.T) {
	for _, tt := range []struct {
		name   string
		config Config
		want   []int
		stats  Stats
	}{
		{"loss", Config{Loss: 1}, nil, Stats{Frames: 3, Lost: 3}},
		{"dup", Config{Dup: 1}, []int{0, 0, 1, 1, 2, 2}, Stats{Frames: 3, Repeated: 3}},
		{"loss takes precedence over dup", Config{Dup: 1, Loss: 1}, nil, Stats{Frames: 3, Lost: 3}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			j := New(tt.config, 0)
			out, _ := pass(j, 3, 2)
			assert.Equal(t, tt.want, numbers(out))
			assert.Equal(t, tt.stats, j.Stats())
		})
	}
}

func TestFlip(t *testing.T) {
	in := []byte{0x5a, 0x00, 0xff, 0x11}
	j := New(Config{Flip: 1}, 0)
	seen := map[string]bool{}
	for range 400 {
		j.Apply(in, func(out []byte) {
			require.Len(t, out, 4)
			n := 0
			for i := range out {
				n += bits.OnesCount8(out[i] ^ in[i])
			}
			require.Equal(t, 1, n, "bits inverted")
			seen[string(out)] = true
		})
	}
	assert.Equal(t, []byte{0x5a, 0x00, 0xff, 0x11}, in, "the caller's frame")
	assert.Len(t, seen, 32, "every bit")
}

func TestTruncate(t *testing.T) {
	in := []byte{1, 2, 3, 4}
	j := New(Config{Truncate: 1}, 0)
	seen := map[int]bool{}
	for range 200 {
		j.Apply(in, func(out []byte) {
			require.Equal(t, in[:len(out)], out)
			seen[len(out)] = true
		})
	}
	assert.Equal(t, map[int]bool{1: true, 2: true, 3: true}, seen)
	out, _ := pass(j, 2, 1)
	assert.Equal(t, []int{0, 1}, numbers(out), "one byte cannot be shortened")
}

// A delayed frame arrives after one to three frames that were sent after it.
func TestReorder(t *testing.T) {
	j := New(Config{Reorder: 0.2, Seed: 4}, 0)
	out, _ := pass(j, 250, 1)
	late := map[int]int{}
	sent := map[int]bool{}
	for _, n := range numbers(out) {
		overtaken := 0
		for m := range sent {
			if m > n {
				overtaken++
			}
		}
		sent[n] = true
		late[overtaken]++
	}
	assert.InDelta(t, 50, int(j.Stats().Reordered), 20)
	for by := range late {
		assert.LessOrEqual(t, by, maxOvertake+maxOvertake, "a delayed frame may follow other delayed ones")
	}
	assert.NotZero(t, late[1])
	assert.NotZero(t, late[2])
	assert.NotZero(t, late[3])
	assert.GreaterOrEqual(t, len(out), 250-maxOvertake, "only frames still delayed are missing")
}

func TestRates(t *testing.T) {
	j := New(Config{Loss: 0.05, Dup: 0.03, Flip: 0.02, Truncate: 0.01, Reorder: 0.02, Stall: 0.01, Seed: 3}, 1)
	const n = 20000
	_, effects := pass(j, n, 20)
	s := j.Stats()
	for name, v := range map[string]struct {
		got  uint64
		want float64
	}{
		"lost": {s.Lost, 0.05}, "repeated": {s.Repeated, 0.95 * 0.03}, "flipped": {s.Flipped, 0.95 * 1.03 * 0.02},
		"truncated": {s.Truncated, 0.95 * 1.03 * 0.01}, "reordered": {s.Reordered, 0.95 * 0.02}, "stalls": {s.Stalls, 0.01},
	} {
		assert.InDelta(t, v.want*n, float64(v.got), 0.25*v.want*n, name)
	}
	stalls := 0
	for _, e := range effects {
		if e.Stall != 0 {
			require.Equal(t, DefaultStall, e.Stall)
			stalls++
		}
	}
	assert.Equal(t, int(s.Stalls), stalls)
}

func TestCut(t *testing.T) {
	j := New(Config{Cut: 3}, 0)
	out, effects := pass(j, 6, 1)
	assert.Equal(t, []int{0, 1, 2}, numbers(out))
	cut := Effect{Cut: true}
	assert.Equal(t, []Effect{{}, {}, {}, cut, cut, cut}, effects)
	j.Restore()
	out, _ = pass(j, 6, 1)
	assert.Equal(t, []int{0, 1, 2}, numbers(out))
	assert.Equal(t, Stats{Frames: 12, Cuts: 2, Swallowed: 6}, j.Stats())
}

// Frames delayed when the line is cut are dropped.
func TestCutDropsDelayedFrames(t *testing.T) {
	j := New(Config{Reorder: 1, Cut: 1}, 0)
	out, _ := pass(j, 2, 1)
	assert.Empty(t, out)
	j.config = Config{}
	j.Restore()
	out, _ = pass(j, 3, 1)
	assert.Equal(t, []int{0, 1, 2}, numbers(out))
}

func TestSeed(t *testing.T) {
	c := Config{Loss: 0.1, Dup: 0.1, Flip: 0.1, Truncate: 0.1, Reorder: 0.1, Stall: 0.1, Seed: 9}
	run := func(c Config, direction uint64) string {
		out, effects := pass(New(c, direction), 200, 9)
		return fmt.Sprint(out, effects)
	}
	assert.Equal(t, run(c, 0), run(c, 0))
	assert.NotEqual(t, run(c, 0), run(c, 1))
	other := c
	other.Seed = 10
	assert.NotEqual(t, run(c, 0), run(other, 0))
}

func TestParse(t *testing.T) {
	for _, tt := range []struct {
		text string
		want Config
	}{
		{"", Config{}},
		{
			"loss=0.05,dup=0.03,flip=0.02,truncate=0.01,reorder=0.02,stall=0.001:50ms,cut=5000,seed=7",
			Config{0.05, 0.03, 0.02, 0.01, 0.02, 0.001, 50 * time.Millisecond, 5000, 7},
		},
		{"loss=1", Config{Loss: 1}},
		{"loss=0", Config{}},
		{"stall=0.5", Config{Stall: 0.5}},
		{"stall=0.5:1ms", Config{Stall: 0.5, StallFor: time.Millisecond}},
		{"stall=0.5:10s", Config{Stall: 0.5, StallFor: 10 * time.Second}},
		{"cut=1", Config{Cut: 1}},
		{"seed=18446744073709551615", Config{Seed: 1<<64 - 1}},
	} {
		got, err := Parse(tt.text)
		require.NoError(t, err, tt.text)
		assert.Equal(t, tt.want, got, tt.text)
	}
	for text, want := range map[string]string{
		"los=0.1":         `unknown "los", want one of loss, dup, flip, truncate, reorder, stall, cut, seed`,
		"loss=1.1":        `loss is "1.1", want a probability from 0 to 1`,
		"loss=-0.1":       `loss is "-0.1", want a probability from 0 to 1`,
		"flip=NaN":        `flip is "NaN", want a probability from 0 to 1`,
		"dup":             `dup is "", want a probability from 0 to 1`,
		"loss=0,loss=0":   `loss is given twice`,
		"loss=0,":         `unknown ""`,
		"stall=0.1:11s":   `stall is "0.1:11s", want a probability from 0 to 1, or one and a time from 1ms to 10s`,
		"stall=0.1:999us": `stall is "0.1:999us"`,
		"stall=2:1s":      `stall is "2:1s"`,
		"cut=0":           `cut is "0", want a number from 1 to 1000000000`,
		"cut=1000000001":  `cut is "1000000001"`,
		"seed=-1":         `seed is "-1", want a number from 0`,
	} {
		_, err := Parse(text)
		require.ErrorIs(t, err, ErrConfig, text)
		assert.ErrorContains(t, err, want)
	}
}

// The output of String parses back.
func TestString(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.Float64Range(0, 1)
		c := Config{
			Loss: p.Draw(t, "loss"), Dup: p.Draw(t, "dup"), Flip: p.Draw(t, "flip"), Truncate: p.Draw(t, "truncate"),
			Reorder: p.Draw(t, "reorder"), Stall: p.Draw(t, "stall"),
			Cut: rapid.IntRange(0, maxCut).Draw(t, "cut"), Seed: rapid.Uint64().Draw(t, "seed"),
		}
		if c.Stall > 0 {
			c.StallFor = time.Duration(rapid.Int64Range(int64(minStall), int64(maxStall)).Draw(t, "time"))
		}
		got, err := Parse(c.String())
		require.NoError(t, err, c.String())
		require.Equal(t, c, got)
	})
	assert.Equal(t, "loss=0.05,cut=3", Config{Loss: 0.05, Cut: 3}.String())
}

func TestDoc(t *testing.T) {
	assert.Equal(t, []string{"loss", "dup", "flip", "truncate", "reorder", "stall", "cut", "seed"}, Names())
	for _, name := range Names() {
		assert.Regexp(t, `^[a-z].*;.*[01]`, Doc(name))
	}
}
