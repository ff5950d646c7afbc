// Package version tells which program this is, and what hardware it drives.
package version

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/rtl/abi/regmap"
)

// A Version is a build of the program.
type Version struct {
	Version  string `json:"version"`  // of the module, or (devel)
	Revision string `json:"revision"` // of the source, or unknown
	Go       string `json:"go"`
	Hardware string `json:"hardware"` // ID.VERSION that this program drives
	MapHash  string `json:"map_hash"` // ID.MAP_HASH that it expects
}

// This returns the version of the program that runs.
func This() Version {
	v := Version{
		Version: "(devel)", Revision: "unknown", Go: runtime.Version(),
		Hardware: fmt.Sprintf("%d.%d", idreg.VersionValue>>16, idreg.VersionValue&0xffff),
		MapHash:  fmt.Sprintf("%08x", regmap.Hash()),
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	if info.Main.Version != "" {
		v.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			v.Revision = s.Value
		}
	}
	return v
}

// String returns the version in two lines of text.
func (v Version) String() string {
	return fmt.Sprintf("hilgpu %s (revision %s, %s)\nhardware %s, register map %s\n", v.Version, v.Revision, v.Go, v.Hardware, v.MapHash)
}
