package datalink

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// observed returns a function for Config.Observe, and the number of incidents of a kind so far.
func observed() (observe func(Incident), count func(IncidentKind) uint64) {
	counts := map[IncidentKind]uint64{}
	return func(i Incident) { counts[i.Kind]++ }, func(k IncidentKind) uint64 { return counts[k] }
}

// A hello with another register map is an incident of both ends.
func TestRefusedHelloIsAnIncident(t *testing.T) {
	host, hostCount := observed()
	board, boardCount := observed()
	s := newSim(t, 1, faults{}, Config{MapHash: 1, Observe: host}, Config{MapHash: 2, Observe: board})
	s.open(9)
	s.run(time.Second)
	require.ErrorIs(t, s.links[0].Err(), ErrMapHash)
	assert.Equal(t, uint64(1), hostCount(HelloRefused))
	assert.Equal(t, uint64(1), boardCount(HelloRefused))
	assert.Zero(t, hostCount(SessionBegins))
	assert.Equal(t, uint64(1), hostCount(SessionEnds), "its opening ends")
}

// A packet that waits for credits is an incident, once until it is sent.
func TestMissingCreditsAreAnIncident(t *testing.T) {
	observe, count := observed()
	s, got := start(t, Config{Observe: observe}, Config{Credits: Credits{{2, 0}}})
	for range 2 {
		require.NoError(t, s.send(0, write))
	}
	s.run(time.Second)
	require.Zero(t, count(CreditsMissing), "both have credits")
	require.NoError(t, s.send(0, write))
	s.run(time.Second)
	require.Equal(t, uint64(1), count(CreditsMissing))
	s.release(1, got[1][0])
	s.run(time.Second)
	require.Len(t, got[1], 3)
	assert.Equal(t, uint64(1), count(CreditsMissing))
	assert.Equal(t, uint64(1), count(SessionBegins))
}
