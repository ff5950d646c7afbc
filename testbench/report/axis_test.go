package report

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hilgpu/hilgpu/testbench/timeline"
)

// The axis begins and ends with the slices, and is cut where nothing begins or ends for most of
// the time.
func TestAxis(t *testing.T) {
	track := &timeline.Track{}
	rowsOf := func(bands ...band) *rows {
		return &rows{bands: map[*timeline.Track][]band{track: bands}}
	}
	a := rowsOf(band{start: 1000, end: 1400}, band{start: 1500, end: 2000}).axis()
	assert.Equal(t, axis{start: 1000, end: 2000}, a)
	assert.InDelta(t, labelWidth, a.x(1000), 0.001)
	assert.InDelta(t, labelWidth+plotWidth/2, a.x(1500), 0.001)
	assert.InDelta(t, labelWidth+plotWidth, a.x(2000), 0.001)
	assert.Equal(t, []uint64{1000, 1200, 1400, 1600, 1800, 2000}, a.ticks())

	a = rowsOf(band{start: 100, end: 200}, band{start: 200, end: 100200}, band{start: 100250, end: 100300}).axis()
	assert.Equal(t, axis{start: 100, end: 100300, from: 200, to: 100200}, a)
	assert.InDelta(t, labelWidth+(plotWidth-cutWidth)/2, a.x(200), 0.001)
	assert.InDelta(t, labelWidth+(plotWidth-cutWidth)/2+cutWidth/2, a.x(50200), 0.001)
	assert.InDelta(t, labelWidth+(plotWidth-cutWidth)/2+cutWidth, a.x(100200), 0.001)
	assert.InDelta(t, labelWidth+plotWidth, a.x(100300), 0.001)
	assert.Equal(t, axis{end: 1}, rowsOf().axis())
}
