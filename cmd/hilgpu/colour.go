package main

import "strings"

// A palette colours words of the text on standard output, where that is a
// terminal and NO_COLOR is not set (no-color.org).
type palette bool

// painted colours the outcome that the first line of text has.
func (p palette) painted(text, outcome string) string {
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
