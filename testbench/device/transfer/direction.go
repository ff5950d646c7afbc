package transfer

import (
	"maps"
	"slices"
)

// directions returns the places of source and destination by the command line's
// names. A fill has no source.
func directions(fill bool) map[string][2]Place {
	if fill {
		return map[string][2]Place{"vram": {1: VRAM}, "host": {1: Host}}
	}
	return map[string][2]Place{
		"vram-vram": {VRAM, VRAM}, "host-vram": {Host, VRAM}, "vram-host": {VRAM, Host}, "host-host": {Host, Host},
	}
}

// Directions returns the names of the directions of a copy, such as host-vram, or
// of the destinations of a fill, in order.
func Directions(fill bool) []string { return slices.Sorted(maps.Keys(directions(fill))) }

// Direction returns the places of a name in Directions. It reports whether there is
// such a name.
func Direction(fill bool, name string) (from, to Place, ok bool) {
	at, ok := directions(fill)[name]
	return at[0], at[1], ok
}
