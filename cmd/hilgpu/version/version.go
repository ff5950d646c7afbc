// Package version reports the version of the program and the hardware it
// drives.
package version

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/rtl/abi/regmap"
)

// A Version describes a build of the program.
type Version struct {
	Version  string `json:"version"`  // module version, or "(devel)"
	Revision string `json:"revision"` // source revision, or "unknown"
	Go       string `json:"go"`
	Hardware string `json:"hardware"` // supported ID.VERSION
	MapHash  string `json:"map_hash"` // expected ID.MAP_HASH
}

// This returns the version of the running program.
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

// Release returns the version of the running program. It reports whether the program
// was built from a module of that version, which others can download, and not from a
// source tree.
func Release() (version string, ok bool) {
	info, built := debug.ReadBuildInfo()
	return This().Version, built && info.Main.Sum != ""
}

// String formats the version in two lines.
func (v Version) String() string {
	return fmt.Sprintf("hilgpu %s (revision %s, %s)\nhardware %s, register map %s\n", v.Version, v.Revision, v.Go, v.Hardware, v.MapHash)
}
