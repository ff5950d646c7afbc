//go:build race

package testbench

import "time"

// stormEvery is the time between two messages of a storm. Under the race
// detector it is longer, since the host is slower.
const stormEvery = 2 * time.Millisecond
