package version

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestThis(t *testing.T) {
	v := This()
	assert.NotEmpty(t, v.Version)
	assert.NotEmpty(t, v.Revision)
	assert.Equal(t, runtime.Version(), v.Go)
	assert.Regexp(t, `^\d+\.\d+$`, v.Hardware)
	assert.Regexp(t, `^[0-9a-f]{8}$`, v.MapHash)
}

func TestString(t *testing.T) {
	v := Version{"v1.2.3", "abc", "go1.26", "1.0", "00c0ffee"}
	assert.Equal(t, "hilgpu v1.2.3 (revision abc, go1.26)\nhardware 1.0, register map 00c0ffee\n", v.String())
}
