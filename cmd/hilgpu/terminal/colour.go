package terminal

import "strings"

// A Palette colours words of the text on standard output, or does not if it is false.
type Palette bool

// PaletteOf returns a palette that colours where there is a terminal and NO_COLOR is
// not set (no-color.org) in the environment that getenv reads.
func PaletteOf(t Terminal, getenv func(string) string) Palette {
	return Palette(t.ok && getenv("NO_COLOR") == "")
}

// Painted returns text with the outcome that its first line has in colour. An outcome
// is ok, passed, FAIL, failed, skip or skipped; another has no colour.
func (p Palette) Painted(text, outcome string) string {
	// Colours, as ECMA-48 §8.3.117 selects them.
	colours := map[string]string{"ok": "32", "passed": "32", "FAIL": "31", "failed": "31", "skip": "33", "skipped": "33"}
	line, rest, _ := strings.Cut(text, "\n")
	at := strings.LastIndex(line, outcome)
	colour, ok := colours[outcome]
	if !bool(p) || !ok || at < 0 {
		return text
	}
	return line[:at] + "\x1b[" + colour + "m" + outcome + "\x1b[0m" + line[at+len(outcome):] + "\n" + rest
}
