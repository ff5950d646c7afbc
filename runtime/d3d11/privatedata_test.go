package d3d11

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hilgpu/hilgpu/runtime/ddi"
)

// counted is an interface that counts its references.
type counted struct{ refs uint32 }

func (c *counted) AddRef() uint32  { c.refs++; return c.refs }
func (c *counted) Release() uint32 { c.refs--; return c.refs }

// holder is anything with private data.
type holder interface {
	SetPrivateData(GUID, []byte)
	SetPrivateDataInterface(GUID, Unknown)
	GetPrivateData(GUID, []byte) (int, error)
	GetPrivateDataInterface(GUID) (Unknown, error)
	Release() uint32
}

// TestPrivateData: data is copied, an interface is held, and each replaces the
// other. Destruction drops them.
//
//	Source  learn.microsoft.com, nf-d3d11-id3d11devicechild-getprivatedata, -setprivatedatainterface
func TestPrivateData(t *testing.T) {
	one, two := GUID{1}, GUID{2}
	for name, object := range map[string]func(b *bench, o *objects) holder{
		"a buffer": func(_ *bench, o *objects) holder { return o.cb },
		"a list":   func(_ *bench, o *objects) holder { return o.list },
		"a device": func(b *bench, _ *objects) holder { return b.dev },
	} {
		b := newBench(t)
		h := object(b, newObjects(b))
		data := []byte("name")
		h.SetPrivateData(one, data)
		data[0] = 'x'
		n, err := h.GetPrivateData(one, nil)
		require.NoError(t, err, name)
		assert.Equal(t, 4, n)
		out := make([]byte, 5)
		n, err = h.GetPrivateData(one, out)
		require.NoError(t, err)
		assert.Equal(t, "name", string(out[:n]))
		n, err = h.GetPrivateData(one, out[:3])
		check(t, ddi.DXGIMoreData, err)
		assert.Equal(t, 4, n)
		assert.EqualError(t, err, "GetPrivateData: DXGI_ERROR_MORE_DATA: pData has 3 bytes, want 4")
		assert.EqualValues(t, 51, b.last().ID)
		_, err = h.GetPrivateData(two, nil)
		check(t, ddi.DXGINotFound, err)

		u := &counted{refs: 1}
		h.SetPrivateDataInterface(one, u)
		assert.EqualValues(t, 2, u.refs)
		got, err := h.GetPrivateDataInterface(one)
		require.NoError(t, err)
		assert.Same(t, u, got)
		assert.EqualValues(t, 3, u.refs)
		_, err = h.GetPrivateData(one, nil)
		check(t, ddi.DXGINotFound, err, "it is an interface")
		assert.EqualValues(t, 3, u.refs)
		h.SetPrivateData(one, []byte{})
		assert.EqualValues(t, 2, u.refs, "replaced")
		got.Release()
		n, err = h.GetPrivateData(one, nil)
		assert.NoError(t, err, "empty data is data")
		assert.Zero(t, n)
		h.SetPrivateData(one, nil)
		_, err = h.GetPrivateData(one, nil)
		check(t, ddi.DXGINotFound, err, "removed")
		_, err = h.GetPrivateDataInterface(one)
		check(t, ddi.DXGINotFound, err)

		h.SetPrivateDataInterface(two, u)
		if h.Release() > 0 {
			b.dev.Close()
		}
		assert.EqualValues(t, 1, u.refs, "%s is destroyed", name)
		if name != "a device" {
			h.SetPrivateDataInterface(two, u)
			assert.EqualValues(t, 1, u.refs)
			assert.Equal(t, SeverityCorruption, b.last().Severity, "%s was released", name)
		}
	}
}
