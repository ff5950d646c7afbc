package mutant

import (
	"fmt"
	"regexp"
	"strings"
)

// A token is a word of Verilog. Comments, directives and white space are not tokens, and
// neither is what only lockstep has.
type token struct {
	text   string
	at     int // byte offset
	line   int
	source string // value of the last src attribute or comment
}

// end returns the byte offset after t.
func (t token) end() int { return t.at + len(t.text) }

// word reports whether t is a name or a keyword.
func (t token) word() bool {
	c := t.text[0]
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// shape returns the pattern of a token. Alternatives are tried in order, those to
// skip first.
func shape() *regexp.Regexp {
	return regexp.MustCompile("^(?:" + strings.Join([]string{
		`\s+`, `//[^\n]*`, "`ifdef LOCKSTEP(?s:.*?)`endif", "`[^\n]*", `\(\*[^)]*?\*\)`,
		`[A-Za-z_][A-Za-z0-9_]*`, `[0-9]+'bx`, `[0-9]+'[bdh][0-9a-f]+`, `[0-9]+`,
		`<=|>=|==|!=|&&|\|\||<<|>>|@\*`, `[-+*/&|^~!<>=?:;,.#@(){}\[\]]`,
	}, "|") + ")")
}

// scan returns the tokens of a file. It fails with ErrText.
func scan(name, src string) ([]token, error) {
	re := shape()
	var out []token
	line, source := 1, ""
	for at := 0; at < len(src); {
		text := re.FindString(src[at:])
		switch {
		case text == "":
			return nil, fmt.Errorf("%w: %s:%d: unexpected %q", ErrText, name, line, src[at])
		case strings.HasPrefix(text, "(*"):
			if _, rest, ok := strings.Cut(text, `src = "`); ok {
				source, _, _ = strings.Cut(rest, `"`)
			}
		case strings.HasPrefix(text, "// src "):
			source = strings.TrimPrefix(text, "// src ")
		case strings.TrimSpace(text) != "" && text[0] != '`' && !strings.HasPrefix(text, "//"):
			out = append(out, token{text, at, line, source})
		}
		line += strings.Count(text, "\n")
		at += len(text)
	}
	return out, nil
}
