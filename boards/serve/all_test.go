package serve_test

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/boards/serve"
)

// The error of an unusable listen address names it and a remedy.
func TestListenAdvises(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	for where, advice := range map[string]string{
		"tcp:" + taken.Addr().String():                      "choose another port, or 0",
		"tcp:192.0.2.1:0":                                   "this machine does not have the address", // TEST-NET-1, RFC 5737
		"pty:" + filepath.Join(t.TempDir(), "no", "folder"): "create it first",
	} {
		_, err := serve.Listen(where)
		require.ErrorIs(t, err, serve.ErrListen, where)
		assert.ErrorContains(t, err, "cannot listen at "+where+": ")
		assert.ErrorContains(t, err, advice)
	}
}

// ending is a listener that ends with an error, or with the context if err is
// nil.
type ending struct{ err error }

func (e ending) Serve(ctx context.Context, _ *serve.Board) error {
	if e.err != nil {
		return e.err
	}
	<-ctx.Done()
	return ctx.Err()
}

func (ending) Selector() string { return "" }
func (ending) Close() error     { return nil }

func (ending) Open() bool { return false }

func TestAll(t *testing.T) {
	broken := errors.New("broken")
	err := serve.All(t.Context(), []serve.Station{{Listener: ending{}}, {Listener: ending{broken}}})
	assert.ErrorIs(t, err, broken, "and the other one has ended")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	assert.NoError(t, serve.All(ctx, []serve.Station{{Listener: ending{}}, {Listener: ending{}}}))
}
