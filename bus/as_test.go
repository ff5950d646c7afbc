package bus_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hilgpu/hilgpu/bus"
)

type plain struct{ bus.Link }

type wide struct{ bus.Link }

func (wide) MaxPayload() int { return 256 }

type wrapper struct{ bus.Link }

func (w wrapper) Unwrap() bus.Link { return w.Link }

func TestAs(t *testing.T) {
	for _, link := range []bus.Link{wide{}, wrapper{wide{}}, wrapper{wrapper{wide{}}}} {
		p, ok := bus.As[bus.PayloadLink](link)
		assert.True(t, ok)
		assert.Equal(t, 256, p.MaxPayload())
	}
	for _, link := range []bus.Link{nil, plain{}, plain{wide{}}, wrapper{plain{}}, wrapper{}} {
		_, ok := bus.As[bus.PayloadLink](link)
		assert.False(t, ok)
	}
}
