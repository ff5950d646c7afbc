// Package d3d11 is the Direct3D-11-style runtime: the objects of the API, their
// validation, command lists, and the runtime's half of the user-mode DDI.
//
// It stands between an application and a user-mode display driver, which it
// opens through umddi.OpenAdapterFunc, and between that driver and the graphics
// kernel, which it reaches through kmt.Thunks. Names and behaviour are those of
// Direct3D 11.0; an HRESULT other than S_OK comes back as a ddi.HRESULT in an
// error, S_FALSE included. A method without a result does nothing when its
// arguments are invalid, as in Direct3D 11.
//
// # Threads
//
// Methods of Device and Release may be called from any goroutine. A Context
// belongs to one goroutine at a time; several deferred contexts can record at
// once, each in its own. If the driver does not report CapsFreeThreaded, calls
// of it are serialized on the immediate context's thread. Swap chains, and Close,
// belong to the immediate context's goroutine.
//
// # Command lists
//
// A driver that reports CapsFreeThreaded and CapsCommandListsBuild2 records
// lists itself: a deferred context is one of the driver's, objects have handles
// of their own in it, which are open from their first use in a list to its end,
// and handles of lists and contexts are recycled ("Supporting Command Lists").
// For other drivers the runtime records calls and makes them on the immediate
// context when the list executes. What an application sees is the same.
//
// While contexts record, nothing is shared between them: no lock, no counter.
// What a list refers to is counted per context (local.go), what belonged to a
// released list goes back to its context through a lock-free list (recycle.go).
//
// A list whose recording a driver had no memory for is dropped. The application
// is told by FinishCommandList, and what it records in between goes nowhere.
//
// # References
//
// Objects are counted: a Create or Get method hands out a reference, Release
// gives it back. Bindings, views, command lists and swap chains keep what they
// use alive. The use of an object to which the application holds no reference
// is an error, or ignored where a method has no result; released objects are
// never recycled, so that such a use cannot reach another object. (What is
// behind a CommandList is recycled, the CommandList is not.)
//
// # Removal
//
// A driver that reports an error that the running DDI function may not report
// loses its device: from then on every call fails with DXGIDeviceRemoved, or
// does nothing, and GetDeviceRemovedReason has the reason. What ends objects
// still works: Release, Unmap and Close.
//
// # Bugchecks
//
// A kernel-mode driver that breaks its contract stops the kernel with a
// bugcheck, which unwinds through the runtime to the application's caller. As
// after a real one nothing goes on: no object of the device may be used.
//
// # What there is not
//
// Shaders, draws and dispatches; shader resource, unordered access and
// depth-stencil views; samplers, input layouts, blend, depth and rasterizer
// state; stream output; queries that count what draws do, but for OCCLUSION and
// the predicates, whose results are those of no draws; queries other than EVENT
// and predication with a driver that lacks SetPredication; 1D and 3D textures;
// multisampling; generating mips, resolving, shared resources; views of buffers;
// a window, a display mode and scan-out. A device is not counted: Close ends it.
package d3d11
