package transfer

import (
	"maps"
	"slices"
)

// ways are the places of source and destination, by what a command line calls them. A
// fill has no source.
func ways(fill bool) map[string][2]Place {
	if fill {
		return map[string][2]Place{"vram": {1: VRAM}, "host": {1: Host}}
	}
	return map[string][2]Place{
		"vram-vram": {VRAM, VRAM}, "host-vram": {Host, VRAM}, "vram-host": {VRAM, Host}, "host-host": {Host, Host},
	}
}

// Ways returns what a command line calls the ways of a copy, such as host-vram, or the
// destinations of a fill, in order.
func Ways(fill bool) []string { return slices.Sorted(maps.Keys(ways(fill))) }

// Way returns the places of one of Ways, and reports whether it is one.
func Way(fill bool, name string) (from, to Place, ok bool) {
	at, ok := ways(fill)[name]
	return at[0], at[1], ok
}
