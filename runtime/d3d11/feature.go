package d3d11

import "fmt"

// FeatureLevel is D3D_FEATURE_LEVEL.
type FeatureLevel uint32

// FeatureLevel11_0 is D3D_FEATURE_LEVEL_11_0, the level of each device. What it
// promises and this version lacks is under "Not supported" in the package
// comment.
const FeatureLevel11_0 FeatureLevel = 0xb000

// GetFeatureLevel returns FeatureLevel11_0.
func (d *Device) GetFeatureLevel() FeatureLevel { return FeatureLevel11_0 }

// CreateDeviceSingleThreaded is D3D11_CREATE_DEVICE_SINGLETHREADED.
const CreateDeviceSingleThreaded = 0x1

// GetCreationFlags returns CreateDeviceSingleThreaded if Config.SingleThreaded
// was set, else 0.
func (d *Device) GetCreationFlags() uint32 {
	if d.singleThreaded {
		return CreateDeviceSingleThreaded
	}
	return 0
}

// Feature is D3D11_FEATURE.
type Feature uint32

// FeatureThreading is D3D11_FEATURE_THREADING. Its data is FeatureDataThreading.
const FeatureThreading Feature = 0

// FeatureDataThreading is D3D11_FEATURE_DATA_THREADING.
type FeatureDataThreading struct {
	DriverConcurrentCreates bool // the driver is free-threaded (CapsFreeThreaded)
	DriverCommandLists      bool // the driver records command lists (CapsCommandListsBuild2); else the runtime does
}

// CheckFeatureSupport fills in data, a pointer to the data of a feature.
//
//	In      f: FeatureThreading, the only supported one
//	Returns EInvalidArg if f is not supported or data has another type
//	Source  learn.microsoft.com, nf-d3d11-id3d11device-checkfeaturesupport
func (d *Device) CheckFeatureSupport(f Feature, data any) error {
	const api = "CheckFeatureSupport"
	if f != FeatureThreading {
		return d.refuse(nil, api, problemf(MessageInvalidArgument, "Feature is %d, want %d", f, FeatureThreading))
	}
	out, ok := data.(*FeatureDataThreading)
	if !ok || out == nil {
		return d.refuse(nil, api, problem{MessageInvalidArgument, fmt.Sprintf("pFeatureSupportData is a %T, want a %T", data, out)})
	}
	*out = FeatureDataThreading{DriverConcurrentCreates: !d.serialized, DriverCommandLists: d.native}
	return nil
}
