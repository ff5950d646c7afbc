package suite

import (
	"errors"
	"fmt"
	"strings"
)

// A Tier is the kind of requirement that a case checks.
type Tier string

// The tiers.
const (
	DDI  Tier = "ddi"  // the contract of the driver interfaces
	API  Tier = "api"  // facts of Direct3D 11 that every driver must give
	Caps Tier = "caps" // promises of a capability that a driver claims; skipped if it does not
	Own  Tier = "own"  // choices of the drivers of this GPU, which no other driver must make
)

// Tiers returns all tiers.
func Tiers() []Tier { return []Tier{DDI, API, Caps, Own} }

// Doc describes the tier in one line.
func (t Tier) Doc() string {
	return map[Tier]string{
		DDI:  "the contract of the driver interfaces",
		API:  "facts of Direct3D 11",
		Caps: "promises of the claimed capabilities",
		Own:  "choices of the drivers of this GPU",
	}[t]
}

// ErrTier is wrapped by the error of an unknown tier.
var ErrTier = errors.New("suite: no such tier")

// ParseTiers returns the tiers with the given names.
func ParseTiers(names []string) (out []Tier, err error) {
	var all []string
	for _, t := range Tiers() {
		all = append(all, string(t))
	}
	for _, name := range names {
		t := Tier(name)
		if t.Doc() == "" {
			return nil, fmt.Errorf("%w: %q, want one of %s", ErrTier, name, strings.Join(all, ", "))
		}
		out = append(out, t)
	}
	return out, nil
}
