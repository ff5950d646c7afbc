//go:build !race

package testbench

import "time"

// stormEvery is the time between two messages of a storm.
const stormEvery = 100 * time.Microsecond
