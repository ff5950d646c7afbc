package testbench

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// wordList is the document that lists the phrases, so it may contain them.
const wordList = "docs/style.md"

// phrases are the phrases that docs/style.md replaces, and their replacements.
var phrases = []struct {
	re  *regexp.Regexp
	say string
}{
	{regexp.MustCompile(`(?i)\bbehind\b`), "after"},
	{regexp.MustCompile(`(?i)\bin\s+front\s+of\b`), "before"},
	{regexp.MustCompile(`(?i)\bso\s+many\b`), "the number, or the given number"},
	{regexp.MustCompile(`(?i)\bsays\s+whether\b`), "reports whether"},
	{regexp.MustCompile(`(?i)\bwhat\s+there\s+is\s+not\b`), "not supported"},
}

// maxFieldComment is the largest width of a comment on a struct field, in columns.
const maxFieldComment = 100

// A passage is a comment, a string or a document, and the line where it begins.
type passage struct {
	line int
	text string
}

// TestWords checks comments, strings and documents against docs/style.md.
func TestWords(t *testing.T) {
	n := 0
	check := func(name string, found []string) {
		for _, f := range found {
			t.Errorf("%s:%s", name, f)
		}
		n++
	}
	eachFile(t, ".md", func(name string, src []byte) {
		if name != wordList {
			check(name, badWords(passage{1, string(src)}))
		}
	})
	eachSource(t, func(name string, src []byte) {
		var found []string
		for _, p := range passages(src) {
			found = append(found, badWords(p)...)
		}
		check(name, append(found, badFields(t, src)...))
	})
	assert.Greater(t, n, 100, "files")
}

// passages returns the comments and the strings of a Go file. Lines of one
// comment group are one passage, so that a phrase is found across their ends.
func passages(src []byte) (all []passage) {
	var s scanner.Scanner
	fset := token.NewFileSet()
	file := fset.AddFile("", fset.Base(), len(src))
	s.Init(file, src, nil, scanner.ScanComments)
	last := -1 // the last line of the comment group, or -1
	for {
		pos, tok, text := s.Scan()
		line := file.Line(pos)
		switch {
		case tok == token.EOF:
			return all
		case tok == token.COMMENT && last == line-1:
			all[len(all)-1].text += "\n" + strings.TrimPrefix(text, "//")
		case tok == token.COMMENT || tok == token.STRING:
			all = append(all, passage{line, strings.TrimPrefix(text, "//")})
		}
		if last = -1; tok == token.COMMENT {
			last = line + strings.Count(text, "\n")
		}
	}
}

// badWords returns the line and the replacement of each phrase of a passage.
func badWords(p passage) (found []string) {
	for _, ph := range phrases {
		for _, at := range ph.re.FindAllStringIndex(p.text, -1) {
			line := p.line + strings.Count(p.text[:at[0]], "\n")
			found = append(found, fmt.Sprintf("%d: %q, want %s", line, p.text[at[0]:at[1]], ph.say))
		}
	}
	return found
}

// badFields returns the comments of struct fields that are too long. It ignores
// fields of function type, which are documented as functions.
func badFields(t *testing.T, src []byte) (found []string) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "", src, parser.ParseComments|parser.SkipObjectResolution)
	require.NoError(t, err)
	check := func(g *ast.CommentGroup) {
		if g == nil {
			return
		}
		from, to := fset.Position(g.Pos()), fset.Position(g.End())
		if n := to.Line - from.Line + 1; n > 1 {
			found = append(found, fmt.Sprintf("%d: field comment of %d lines, want 1", from.Line, n))
		}
		for _, c := range g.List {
			if n := utf8.RuneCountInString(c.Text); n > maxFieldComment {
				found = append(found, fmt.Sprintf("%d: field comment of %d columns, want at most %d", fset.Position(c.Pos()).Line, n, maxFieldComment))
			}
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if s, ok := n.(*ast.StructType); ok {
			for _, f := range s.Fields.List {
				if _, isFunc := f.Type.(*ast.FuncType); !isFunc {
					check(f.Doc)
					check(f.Comment)
				}
			}
		}
		return true
	})
	return found
}

func TestBadWords(t *testing.T) {
	const phrase = "so" + "   many" // two strings, so that TestWords accepts this file
	const source = `// Package p.
package p

// A T is in
// front of it.
type T struct {
	A int // one line
	// Two
	// lines.
	B int
	// F is a
	// function.
	F func()
	C int // %s
}

var x = "%s"
`
	var got []string
	for _, p := range passages(fmt.Appendf(nil, source, "", phrase)) {
		got = append(got, badWords(p)...)
	}
	assert.Equal(t, []string{`4: "in\n front of", want before`, fmt.Sprintf("17: %q, want the number, or the given number", phrase)}, got)
	long := fmt.Sprintf(source, strings.Repeat("x", maxFieldComment-3+1), phrase)
	assert.Equal(t, []string{"8: field comment of 2 lines, want 1", "14: field comment of 101 columns, want at most 100"}, badFields(t, []byte(long)))
	short := fmt.Sprintf(source, strings.Repeat("x", maxFieldComment-3), phrase)
	assert.Equal(t, []string{"8: field comment of 2 lines, want 1"}, badFields(t, []byte(short)))
}
