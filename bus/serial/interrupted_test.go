package serial

import (
	"errors"
	"io"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// interrupting is a device whose reads return errors in turn.
type interrupting struct {
	io.ReadWriteCloser
	errs []error
}

func (d *interrupting) Read([]byte) (int, error) {
	err := d.errs[0]
	d.errs = d.errs[1:]
	return 0, err
}

// A signal that interrupts a read is not the end of the port; another error is.
func TestInterruptedRead(t *testing.T) {
	p := &Port{dev: &interrupting{errs: []error{syscall.EINTR, nil, errors.New("gone")}}}
	for range 2 {
		n, err := p.Read(make([]byte, 8))
		require.NoError(t, err)
		assert.Zero(t, n)
	}
	_, err := p.Read(make([]byte, 8))
	assert.ErrorIs(t, err, ErrUnplugged)
}
