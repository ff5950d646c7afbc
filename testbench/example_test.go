package testbench_test

import (
	"fmt"

	"github.com/hilgpu/hilgpu/runtime/d3d11"
	"github.com/hilgpu/hilgpu/runtime/ddi/dxgi"
	"github.com/hilgpu/hilgpu/testbench"
)

// A system runs the whole stack: here a texture is copied by the GPU and read back.
// Other drivers take the place of HostDrivers.
func ExampleOpen() {
	sys, err := testbench.Open("emu", testbench.HostDrivers(), testbench.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer sys.Close()
	pixels, err := copyTexture(sys, []byte{10, 20, 30, 40})
	fmt.Println(pixels, err)
	fmt.Println(sys.Stats().DMABuffers, "DMA buffer")
	// Output:
	// [10 20 30 40] <nil>
	// 1 DMA buffer
}

// copyTexture makes a texture of 4 by 1 bytes, copies it on the GPU and returns the copy.
func copyTexture(sys *testbench.System, content []byte) ([]byte, error) {
	dev, ctx, err := sys.CreateDevice()
	if err != nil {
		return nil, err
	}
	defer dev.Close()
	desc := d3d11.Texture2DDesc{
		Width: 4, Height: 1, MipLevels: 1, ArraySize: 1, Format: dxgi.R8UNorm,
		SampleDesc: dxgi.SampleDesc{Count: 1}, BindFlags: d3d11.BindShaderResource,
	}
	from, err := dev.CreateTexture2D(desc, []d3d11.SubresourceData{{SysMem: content, SysMemPitch: 4}})
	if err != nil {
		return nil, err
	}
	defer from.Release()
	desc.Usage, desc.BindFlags, desc.CPUAccessFlags = d3d11.UsageStaging, 0, d3d11.CPUAccessRead
	to, err := dev.CreateTexture2D(desc, nil)
	if err != nil {
		return nil, err
	}
	defer to.Release()
	ctx.CopyResource(to, from)
	var m d3d11.MappedSubresource
	if err := ctx.Map(to, 0, d3d11.MapRead, 0, &m); err != nil {
		return nil, err
	}
	defer ctx.Unmap(to, 0)
	return append([]byte(nil), m.Data[:4]...), nil
}
