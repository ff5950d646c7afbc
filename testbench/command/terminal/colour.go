package terminal

import "strings"

// A Palette colours words of the text on standard output if it is true.
type Palette bool

// PaletteOf returns a palette that colours on a terminal unless NO_COLOR is set
// in the environment (no-color.org), which getenv reads.
func PaletteOf(t Terminal, getenv func(string) string) Palette {
	return Palette(t.ok && getenv("NO_COLOR") == "")
}

// Painted returns text with the outcome in its first line coloured. The
// outcomes ok, passed, FAIL, failed, skip, skipped, flaky and known have colours.
func (p Palette) Painted(text, outcome string) string {
	// Colours, as selected by ECMA-48 §8.3.117.
	colours := map[string]string{"ok": "32", "passed": "32", "FAIL": "31", "failed": "31", "skip": "33", "warn": "33", "skipped": "33", "flaky": "33", "known": "33"}
	line, rest, _ := strings.Cut(text, "\n")
	at := strings.LastIndex(line, outcome)
	colour, ok := colours[outcome]
	if !bool(p) || !ok || at < 0 {
		return text
	}
	return line[:at] + "\x1b[" + colour + "m" + outcome + "\x1b[0m" + line[at+len(outcome):] + "\n" + rest
}
