package fault

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// ErrConfig is returned for an invalid configuration, wrapped with the key and
// the values it takes.
var ErrConfig = errors.New("fault: bad configuration")

// limits of a Config
const (
	minStall = time.Millisecond
	maxStall = 10 * time.Second
	maxCut   = 1_000_000_000
)

// A key is one setting of the text form.
type key struct {
	name  string
	doc   string
	legal string
	set   func(c *Config, value string) bool
	get   func(c *Config) string // returns "" if the key is omitted
}

func keys() []key {
	return []key{
		probability("loss", "the frame does not arrive", func(c *Config) *float64 { return &c.Loss }),
		probability("dup", "it arrives twice", func(c *Config) *float64 { return &c.Dup }),
		probability("flip", "one of its bits is inverted", func(c *Config) *float64 { return &c.Flip }),
		probability("truncate", "its last bytes do not arrive", func(c *Config) *float64 { return &c.Truncate }),
		probability("reorder", "one to three later frames overtake it", func(c *Config) *float64 { return &c.Reorder }),
		{
			"stall", "the line carries nothing for a time before the frame, 20ms by default",
			"a probability from 0 to 1, or one and a time from 1ms to 10s as in 0.01:50ms", setStall, getStall,
		},
		{"cut", "the line is cut repeatedly, after the given number of frames", "a number from 1 to 1000000000", setCut, getCut},
		{"seed", "seed of the random numbers", "a number from 0 to 18446744073709551615", setSeed, getSeed},
	}
}

func probability(name, doc string, field func(c *Config) *float64) key {
	return key{
		name, doc, "a probability from 0 to 1",
		func(c *Config, value string) bool { return ParseProbability(value, field(c)) },
		func(c *Config) string {
			if *field(c) == 0 {
				return ""
			}
			return formatProbability(*field(c))
		},
	}
}

func formatProbability(p float64) string { return strconv.FormatFloat(p, 'f', -1, 64) }

// ParseProbability sets *p to a number from 0 to 1, and reports whether value is one.
func ParseProbability(value string, p *float64) bool {
	v, err := strconv.ParseFloat(value, 64)
	if err != nil || !(v >= 0 && v <= 1) {
		return false
	}
	*p = v
	return true
}

func setStall(c *Config, value string) bool {
	p, d, timed := strings.Cut(value, ":")
	if timed {
		v, err := time.ParseDuration(d)
		if err != nil || v < minStall || v > maxStall {
			return false
		}
		c.StallFor = v
	}
	return ParseProbability(p, &c.Stall)
}

func getStall(c *Config) string {
	switch {
	case c.Stall == 0:
		return ""
	case c.StallFor == 0:
		return formatProbability(c.Stall)
	}
	return formatProbability(c.Stall) + ":" + c.StallFor.String()
}

func setCut(c *Config, value string) bool {
	v, err := strconv.Atoi(value)
	c.Cut = v
	return err == nil && v >= 1 && v <= maxCut
}

func getCut(c *Config) string {
	if c.Cut == 0 {
		return ""
	}
	return strconv.Itoa(c.Cut)
}

func setSeed(c *Config, value string) (ok bool) {
	v, err := strconv.ParseUint(value, 10, 64)
	c.Seed = v
	return err == nil
}

func getSeed(c *Config) string {
	if c.Seed == 0 {
		return ""
	}
	return strconv.FormatUint(c.Seed, 10)
}

// Parse parses a configuration such as "loss=0.05,dup=0.03,seed=7". Names lists
// the keys. The empty string is the zero value. It fails with ErrConfig, which
// names the key and the values it takes.
func Parse(s string) (Config, error) {
	var c Config
	if s == "" {
		return c, nil
	}
	all, given := keys(), map[string]bool{}
	for part := range strings.SplitSeq(s, ",") {
		name, value, _ := strings.Cut(part, "=")
		k, ok := find(all, name)
		switch {
		case !ok:
			return Config{}, fmt.Errorf("%w: unknown %q, want one of %s", ErrConfig, name, strings.Join(Names(), ", "))
		case given[name]:
			return Config{}, fmt.Errorf("%w: %s is given twice", ErrConfig, name)
		case !k.set(&c, value):
			return Config{}, fmt.Errorf("%w: %s is %q, want %s", ErrConfig, name, value, k.legal)
		}
		given[name] = true
	}
	return c, nil
}

// String returns the form that Parse reads, without zero settings.
func (c Config) String() string {
	var parts []string
	for _, k := range keys() {
		if v := k.get(&c); v != "" {
			parts = append(parts, k.name+"="+v)
		}
	}
	return strings.Join(parts, ",")
}

// Names returns the keys of the text form.
func Names() []string {
	var all []string
	for _, k := range keys() {
		all = append(all, k.name)
	}
	return all
}

// Doc describes a key: its effect and its values.
func Doc(name string) string {
	k, _ := find(keys(), name)
	return k.doc + "; " + k.legal
}

func find(all []key, name string) (key, bool) {
	for _, k := range all {
		if k.name == name {
			return k, true
		}
	}
	return key{}, false
}
