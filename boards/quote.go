package boards

import "strings"

// plain are the characters besides letters and digits that a shell leaves alone
// in a word.
const plain = ":/._-+=,@%"

// Quote quotes text, such as a selector, as a word of a shell command. A word
// with any other character than ASCII letters, digits and :/._-+=,@% is quoted.
func Quote(text string) string {
	special := func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune(plain, r)
	}
	if text != "" && !strings.ContainsFunc(text, special) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
