package d3d11

import "sync"

// A Multithread is ID3D11Multithread: it protects the immediate context from
// concurrent use.
//
// Design note: the lock of COM is recursive for a thread. A goroutine has no
// identity, so the calls between Enter and Leave differ by their receiver: Enter
// returns a Context whose methods do not lock.
type Multithread struct {
	ctx    *Context // the immediate context, or what Enter has returned
	inside *Context // what Enter returns

	protected bool

	mu      sync.Mutex // held during a protected call, and from Enter to Leave
	entered bool       // guarded by mu
}

// newMultithread returns the protection of an immediate context.
func newMultithread(c *Context) *Multithread {
	in := &Context{outer: c}
	in.dev, in.multi = c.dev, &Multithread{ctx: in}
	return &Multithread{ctx: c, inside: in}
}

// Multithread returns the protection of the immediate context, like QueryInterface
// for ID3D11Multithread, but adds no reference. On a deferred context, which must
// be used by one goroutine at a time, it returns nil.
func (c *Context) Multithread() *Multithread { return c.multi }

// SetMultithreadProtected turns the protection on or off and returns whether it was
// on. It is off at first. While it is on, any goroutine may call methods of the
// immediate context: one lock serializes them. No other goroutine may use the
// context during this call, and between Enter and Leave it does nothing.
//
// Swap chains do not lock. Use them between Enter and Leave. Close, and the Release
// that closes the device, must follow all other uses.
//
//	Source  learn.microsoft.com, nf-d3d11_4-id3d11multithread-setmultithreadprotected
func (m *Multithread) SetMultithreadProtected(on bool) bool {
	before := m.GetMultithreadProtected()
	m.protected = on
	return before
}

// GetMultithreadProtected reports whether the protection is on.
func (m *Multithread) GetMultithreadProtected() bool { return m.protected || m.ctx.outer != nil }

// Enter takes the lock for several calls, until Leave, and returns the context
// through which they must be made. A call on the immediate context itself waits for
// Leave. If the goroutine that called Enter makes it, it waits for ever. Without
// protection Enter does nothing and returns the immediate context.
//
// The Multithread of the returned context nests: its Enter and Leave do not lock.
//
//	Source  learn.microsoft.com, nf-d3d11_4-id3d11multithread-enter
func (m *Multithread) Enter() *Context {
	if !m.protected || m.inside == nil {
		return m.ctx
	}
	m.mu.Lock()
	m.entered = true
	return m.inside
}

// Leave releases the lock of the last Enter. Without one it does nothing.
//
//	Source  learn.microsoft.com, nf-d3d11_4-id3d11multithread-leave
func (m *Multithread) Leave() {
	if m.entered {
		m.entered = false
		m.mu.Unlock()
	}
}

// lockImmediate is the part of lock that an immediate context needs.
func (c *Context) lockImmediate() (*Context, *Multithread) {
	switch {
	case c.outer != nil:
		return c.outer, nil
	case !c.multi.protected:
		return c, nil
	}
	c.multi.mu.Lock()
	return c, c.multi
}

// counted returns the context that has the references and the private data.
func (c *Context) counted() *child {
	if c.outer != nil {
		return &c.outer.child
	}
	return &c.child
}

// AddRef adds an application reference and returns their number. It does nothing if
// the application holds no reference.
func (c *Context) AddRef() uint32 { return c.counted().AddRef() }

// Release drops an application reference and returns the remaining number. It does
// nothing if the application holds no reference.
func (c *Context) Release() uint32 { return c.counted().Release() }

// SetPrivateData stores a copy of data with the context, for GetPrivateData. nil
// removes what is stored with the GUID.
func (c *Context) SetPrivateData(guid GUID, data []byte) { c.counted().SetPrivateData(guid, data) }

// SetPrivateDataInterface stores a reference to u with the context, until other data
// replaces it or the context is destroyed. nil removes what is stored with the GUID.
func (c *Context) SetPrivateDataInterface(guid GUID, u Unknown) {
	c.counted().SetPrivateDataInterface(guid, u)
}

// GetPrivateData copies the data stored with the context to out and returns its size
// in bytes. A nil out only asks for the size.
//
//	Returns DXGINotFound; DXGIMoreData if out is too small
func (c *Context) GetPrivateData(guid GUID, out []byte) (int, error) {
	return c.counted().GetPrivateData(guid, out)
}

// GetPrivateDataInterface is GetPrivateData for an interface. It returns a
// reference.
//
//	Returns DXGINotFound
func (c *Context) GetPrivateDataInterface(guid GUID) (Unknown, error) {
	return c.counted().GetPrivateDataInterface(guid)
}
