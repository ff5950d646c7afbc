// Package d3d11 is the Direct3D-11-style runtime: the objects of the API, their
// validation, command lists, and the runtime's half of the user-mode DDI.
//
// It connects an application, a user-mode display driver, opened through
// [umddi.OpenAdapterFunc], and the graphics kernel, called through [kmt.Thunks].
// [CreateDevice] makes a [Device] and its immediate [Context].
// Names and behaviour are those of Direct3D 11.0. A failing HRESULT is returned
// as an [*Error], which names the call, the argument, the value and the limit, or
// the function of the driver that failed; errors.Is finds the ddi.HRESULT.
// S_FALSE is returned as ddi.False. A method without a result does nothing if its
// arguments are invalid, as in Direct3D 11.
//
// # Messages
//
// [Device.InfoQueue] lists what failed and what was dropped: each error and each
// invalid call of a method without a result adds a message. A successful call
// costs nothing for it.
//
// # Threads
//
// Methods of Device and Release may be called from any goroutine. A Context
// must be used by one goroutine at a time; several deferred contexts may record
// at once. [Context.Multithread] protects the immediate context with a lock. If the driver does not report CapsFreeThreaded, its calls are
// serialized on the immediate context's thread. Swap chains and Close must be
// used on the immediate context's goroutine.
//
// # Command lists
//
// A driver that reports CapsFreeThreaded and CapsCommandListsBuild2 records
// lists itself. Each deferred context is then a context of the driver with its
// own object handles, which are open from the first use in a list to the end of
// the list. List and context handles are recycled ("Supporting Command Lists").
// For other drivers the runtime records calls and makes them on the immediate
// context when the list executes. Applications see no difference.
//
// Contexts that record concurrently share no lock and no counter. References
// from lists to objects are counted per context (local.go), and memory of a
// released list returns to its context through a lock-free list (recycle.go).
//
// If the driver runs out of memory while recording, the list is dropped.
// FinishCommandList returns the error; commands recorded in between are
// ignored.
//
// # References
//
// Objects are reference counted: a Create or Get method returns a reference and
// Release drops it. Each object that the application has a reference to holds one
// to its device, and the Release of the last one closes the device. Device.Close
// does so at once. Bindings, views, command lists and swap chains keep the
// objects they use alive. Using an object without holding a reference is an
// error, or ignored by a method without a result. Released objects are never
// recycled, so a stale reference cannot reach another object. (The memory
// of a CommandList is recycled, the CommandList is not.)
//
// # Removal
//
// If a driver reports an error that the running DDI function may not report,
// its device is removed: every later call fails with DXGIDeviceRemoved, or does
// nothing. GetDeviceRemovedReason returns the reason, and the error of each later
// call wraps it: the function of the driver with its mistake, or the cause from
// [Config] and [Device.Stop]. Release, Unmap and Close still work.
//
// # Bugchecks
//
// If a kernel-mode driver breaks its contract, the kernel stops with a
// bugcheck, which unwinds through the runtime to the application's caller. No
// object of the device may be used after that.
//
// # Not supported
//
// Shaders, draws and dispatches; shader resource, unordered access and
// depth-stencil views; samplers, input layouts, blend, depth and rasterizer
// state; stream output; queries that count the effects of draws, except
// OCCLUSION and the predicates, whose results are those without draws; queries
// other than EVENT, and predication, with a driver that lacks SetPredication;
// 1D and 3D textures; multisampling; mip generation, resolving, shared
// resources; views of buffers; windows, display modes and scan-out.
package d3d11
