package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/hilgpu/hilgpu/rtl/abi/idreg"
	"github.com/hilgpu/hilgpu/rtl/abi/regmap"
)

// version is what the version command prints.
type version struct {
	Version  string `json:"version"`  // of the module, or (devel)
	Revision string `json:"revision"` // of the source, or unknown
	Go       string `json:"go"`
	Hardware string `json:"hardware"` // ID.VERSION that this program drives
	MapHash  string `json:"map_hash"` // ID.MAP_HASH that it expects
}

func thisVersion() version {
	v := version{
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

func newVersion(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:   "version",
		Short: "Print the version, and the hardware and register map it drives",
		Example: `  hilgpu version
  hilgpu version --json`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			v := thisVersion()
			if a.Document(v) {
				return nil
			}
			_, err := fmt.Fprintf(a.Out, "hilgpu %s (revision %s, %s)\nhardware %s, register map %s\n",
				v.Version, v.Revision, v.Go, v.Hardware, v.MapHash)
			return err
		},
	}
	a.addJSON(c.Flags())
	return c
}
