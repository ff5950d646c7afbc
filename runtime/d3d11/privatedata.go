package d3d11

import (
	"slices"
	"sync"

	"github.com/hilgpu/hilgpu/runtime/ddi"
)

// GUID is a GUID in the order of its memory on Windows.
type GUID [16]byte

// DebugObjectName is WKPDID_D3DDebugObjectName of d3dcommon.h: SetPrivateData with it gives an object a name for
// messages.
var DebugObjectName = GUID{0x22, 0x8c, 0x9b, 0x42, 0x88, 0x91, 0x0c, 0x4b, 0x87, 0x42, 0xac, 0xb0, 0xbf, 0x85, 0xc2, 0x00}

// Unknown is IUnknown, as far as private data needs it.
type Unknown interface {
	AddRef() uint32
	Release() uint32
}

// privateData is the private data of an object. The zero value has none, and nil
// keeps none.
type privateData struct {
	mu   sync.Mutex
	all  map[GUID]privateEntry
	name string // the last data of DebugObjectName; clear keeps it
}

// A privateEntry is data, or an interface with a reference.
type privateEntry struct {
	data  []byte
	iface Unknown
}

// set replaces the entry of guid, or removes it.
func (p *privateData) set(guid GUID, e privateEntry, remove bool) {
	if p == nil {
		return
	}
	p.mu.Lock()
	if guid == DebugObjectName {
		p.name = string(e.data)
	}
	old := p.all[guid]
	if remove {
		delete(p.all, guid)
	} else {
		if p.all == nil {
			p.all = make(map[GUID]privateEntry)
		}
		p.all[guid] = e
	}
	p.mu.Unlock()
	if old.iface != nil {
		old.iface.Release()
	}
}

// get returns the entry of guid, with a reference to its interface.
func (p *privateData) get(guid GUID) (privateEntry, bool) {
	if p == nil {
		return privateEntry{}, false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	e, ok := p.all[guid]
	if e.iface != nil {
		e.iface.AddRef()
	}
	return e, ok
}

// DebugName returns the name that the application gave a resource with DebugObjectName, or "". It is a method of the
// handle that the driver gets, for messages about the resource, also after its destruction.
func (r *resource) DebugName() string {
	r.private.mu.Lock()
	defer r.private.mu.Unlock()
	return r.private.name
}

// clear removes all entries.
func (p *privateData) clear() {
	p.mu.Lock()
	all := p.all
	p.all = nil
	p.mu.Unlock()
	for _, e := range all {
		if e.iface != nil {
			e.iface.Release()
		}
	}
}

// copyTo copies the data of guid to out.
func (p *privateData) copyTo(d *Device, guid GUID, out []byte) (int, error) {
	const api = "GetPrivateData"
	e, ok := p.get(guid)
	if e.iface != nil {
		e.iface.Release()
	}
	if !ok || e.iface != nil {
		return 0, d.failed(nil, api, ddi.DXGINotFound, noPrivateData(guid, "data"), nil)
	}
	if out != nil && len(out) < len(e.data) {
		p := problemf(MessageGetPrivateDataMoreData, "pData has %d bytes, want %d", len(out), len(e.data))
		return len(e.data), d.failed(nil, api, ddi.DXGIMoreData, p, nil)
	}
	copy(out, e.data)
	return len(e.data), nil
}

// interfaceOf returns a reference to the interface of guid.
func (p *privateData) interfaceOf(d *Device, guid GUID) (Unknown, error) {
	e, _ := p.get(guid)
	if e.iface == nil {
		return nil, d.failed(nil, "GetPrivateDataInterface", ddi.DXGINotFound, noPrivateData(guid, "interface"), nil)
	}
	return e.iface, nil
}

func noPrivateData(guid GUID, what string) problem {
	return problemf(MessagePrivateDataNotFound, "there is no %s with the GUID %x", what, guid[:])
}

// setInterface is SetPrivateDataInterface.
func (p *privateData) setInterface(guid GUID, u Unknown) {
	if u != nil && p != nil {
		u.AddRef()
	}
	p.set(guid, privateEntry{iface: u}, u == nil)
}

// privateOf returns the private data for a call, nil if the application has no
// reference to the object.
func (c *child) privateOf(call string) *privateData {
	if c.refs.Load() < apiRef {
		c.stale(call)
		return nil
	}
	return &c.private
}

// SetPrivateData stores a copy of data with the object, for GetPrivateData. nil
// removes what is stored with the GUID.
func (c *child) SetPrivateData(guid GUID, data []byte) {
	c.privateOf("SetPrivateData").set(guid, privateEntry{data: slices.Clone(data)}, data == nil)
}

// SetPrivateDataInterface stores a reference to u with the object, until other data
// replaces it or the object is destroyed. nil removes what is stored with the GUID.
func (c *child) SetPrivateDataInterface(guid GUID, u Unknown) {
	c.privateOf("SetPrivateDataInterface").setInterface(guid, u)
}

// GetPrivateData copies the data stored with the object to out and returns its size in
// bytes. A nil out only asks for the size.
//
//	Returns DXGINotFound; DXGIMoreData if out is too small
func (c *child) GetPrivateData(guid GUID, out []byte) (int, error) {
	return c.privateOf("GetPrivateData").copyTo(c.dev, guid, out)
}

// GetPrivateDataInterface is GetPrivateData for an interface. It returns a
// reference.
//
//	Returns DXGINotFound
func (c *child) GetPrivateDataInterface(guid GUID) (Unknown, error) {
	return c.privateOf("GetPrivateDataInterface").interfaceOf(c.dev, guid)
}

// SetPrivateData stores a copy of data with the device, for GetPrivateData. nil
// removes what is stored with the GUID.
func (d *Device) SetPrivateData(guid GUID, data []byte) {
	d.private.set(guid, privateEntry{data: slices.Clone(data)}, data == nil)
}

// SetPrivateDataInterface stores a reference to u with the device, until other data
// replaces it or the device is destroyed. nil removes what is stored with the GUID.
func (d *Device) SetPrivateDataInterface(guid GUID, u Unknown) { d.private.setInterface(guid, u) }

// GetPrivateData copies the data stored with the device to out and returns its size in
// bytes. A nil out only asks for the size.
//
//	Returns DXGINotFound; DXGIMoreData if out is too small
func (d *Device) GetPrivateData(guid GUID, out []byte) (int, error) {
	return d.private.copyTo(d, guid, out)
}

// GetPrivateDataInterface is GetPrivateData for an interface. It returns a
// reference.
//
//	Returns DXGINotFound
func (d *Device) GetPrivateDataInterface(guid GUID) (Unknown, error) {
	return d.private.interfaceOf(d, guid)
}

// privateOf is child.privateOf for a list.
func (l *CommandList) privateOf(call string) *privateData {
	if l.refs.Load()+apiRef < apiRef || l.body == nil {
		l.stale(call)
		return nil
	}
	return &l.body.private
}

// SetPrivateData stores a copy of data with the list, for GetPrivateData. nil
// removes what is stored with the GUID.
func (l *CommandList) SetPrivateData(guid GUID, data []byte) {
	l.privateOf("SetPrivateData").set(guid, privateEntry{data: slices.Clone(data)}, data == nil)
}

// SetPrivateDataInterface stores a reference to u with the list, until other data
// replaces it or the list is destroyed. nil removes what is stored with the GUID.
func (l *CommandList) SetPrivateDataInterface(guid GUID, u Unknown) {
	l.privateOf("SetPrivateDataInterface").setInterface(guid, u)
}

// GetPrivateData copies the data stored with the list to out and returns its size in
// bytes. A nil out only asks for the size.
//
//	Returns DXGINotFound; DXGIMoreData if out is too small
func (l *CommandList) GetPrivateData(guid GUID, out []byte) (int, error) {
	return l.privateOf("GetPrivateData").copyTo(l.body.dev, guid, out)
}

// GetPrivateDataInterface is GetPrivateData for an interface. It returns a
// reference.
//
//	Returns DXGINotFound
func (l *CommandList) GetPrivateDataInterface(guid GUID) (Unknown, error) {
	return l.privateOf("GetPrivateDataInterface").interfaceOf(l.body.dev, guid)
}
