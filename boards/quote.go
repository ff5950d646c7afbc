package boards

import "strings"

// Quote quotes text, such as a selector, as a word of a shell command.
func Quote(text string) string {
	if strings.ContainsAny(text, " ?&'\"$()[]{}*|\\^~;<>`!#") {
		return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
	}
	return text
}
