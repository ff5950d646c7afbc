package report_test

import (
	"bytes"
	"io"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/rtl/abi/regmap"
	"github.com/hilgpu/hilgpu/testbench/eventlog"
	"github.com/hilgpu/hilgpu/testbench/report"
)

// A page with a gap shows it, and does not tell how far a submission has come before it as if it were the end.
func TestGap(t *testing.T) {
	var b bytes.Buffer
	w, err := eventlog.NewWriter(&b, eventlog.Header{Hz: 1e6, Map: regmap.Hash(), Observed: true})
	require.NoError(t, err)
	var ends []int
	for _, block := range [][]eventlog.Event{
		{eventlog.New(eventlog.Queue, 1, 0, 7, 0x10, 0x1000).WithText("first"), eventlog.New(eventlog.Submit, 1), eventlog.New(eventlog.Queue, 2, 0, 8, 0x10, 0x2000).WithText("second"), eventlog.New(eventlog.Submit, 2),
			eventlog.New(eventlog.Queue, 3, 0, 9, 0x10, 0x3000).WithText("third"), eventlog.New(eventlog.Retire, 3)},
		{eventlog.New(eventlog.Retire, 1)},
		{eventlog.New(eventlog.Retire, 2)},
	} {
		for _, e := range block {
			w.Add(e)
		}
		require.NoError(t, w.Flush())
		ends = append(ends, b.Len())
	}
	whole := pageOf(t, &report.Source{Log: opener(b.Bytes())})
	assert.NotContains(t, whole, "<th>gaps</th>")
	b.Bytes()[ends[1]-1] ^= 0xff
	s := &report.Source{Log: opener(b.Bytes())}
	page := pageOf(t, s)
	require.ErrorIs(t, s.Damage(), eventlog.ErrCorrupt)
	assert.Contains(t, page, "event 7, between clock 0 and clock 0, is missing")
	assert.Contains(t, page, `1: first, node 0, fence 7, context 0x10, buffer HOST&#43;0x1000: <span class="changed">in the hardware before the gap of the log, and unknown after it</span>`)
	assert.Contains(t, page, `2: second, node 0, fence 8, context 0x10, buffer HOST&#43;0x2000: <span>retired</span>`)
	assert.Contains(t, page, `3: third, node 0, fence 9, context 0x10, buffer HOST&#43;0x3000: <span>retired</span>`)
}

// A gap before a damaged last block is damage too, and the error names both.
func TestGapBeforeADamagedEnd(t *testing.T) {
	var b bytes.Buffer
	w, err := eventlog.NewWriter(&b, eventlog.Header{Hz: 1e6, Map: regmap.Hash()})
	require.NoError(t, err)
	var ends []int
	for range 3 {
		w.Add(eventlog.New(eventlog.Text).WithText("a line"))
		require.NoError(t, w.Flush())
		ends = append(ends, b.Len())
	}
	b.Bytes()[ends[1]-1] ^= 0xff
	b.Bytes()[ends[2]-1] ^= 0xff
	for name, write := range map[string]func(s *report.Source) error{
		"page": func(s *report.Source) error { return s.Write(io.Discard) },
		"page, no chain": func(s *report.Source) error {
			s.Chain = func(eventlog.Event) string { return "" }
			return s.Write(io.Discard)
		},
		"timeline": func(s *report.Source) error { return s.WriteTimeline(io.Discard) },
	} {
		s := &report.Source{Log: opener(b.Bytes())}
		err := write(s)
		require.ErrorIs(t, err, eventlog.ErrCorrupt, name)
		assert.Contains(t, err.Error(), "fails its check", name)
		require.ErrorIs(t, s.Damage(), eventlog.ErrCorrupt, name)
		assert.Contains(t, s.Damage().Error(), "the events from 2 on, after clock 0, are missing", name)
		assert.Contains(t, err.Error(), s.Damage().Error(), name)
	}
}
