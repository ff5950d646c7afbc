// Package man writes the man pages of a command and its subcommands.
package man

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// Write writes the section 1 man pages of a command, its subcommands and its
// help topics to dir, which it creates. Source is the program and its version.
// The date is taken from SOURCE_DATE_EPOCH. Write changes root, which must not
// be used afterwards.
func Write(root *cobra.Command, dir, source string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	prepare(root)
	header := &doc.GenManHeader{Section: "1", Source: source, Manual: root.Name()}
	if err := doc.GenManTree(root, header, dir); err != nil {
		return err
	}
	for _, c := range root.Commands() {
		if !c.IsAdditionalHelpTopicCommand() {
			continue
		}
		if err := writeTopic(c, *header, filepath.Join(dir, root.Name()+"-"+c.Name()+".1")); err != nil {
			return err
		}
	}
	return nil
}

// writeTopic writes the page of a help topic. GenMan completes its header.
func writeTopic(c *cobra.Command, header doc.GenManHeader, path string) error {
	var page bytes.Buffer
	header.Title = ""
	if err := doc.GenMan(c, &header, &page); err != nil {
		return err
	}
	return os.WriteFile(path, page.Bytes(), 0o666)
}

// prepare converts the texts of a command and its subcommands to Markdown.
func prepare(c *cobra.Command) {
	c.DisableAutoGenTag = true
	c.Long = markdown(c.Long)
	for _, sub := range c.Commands() {
		prepare(sub)
	}
}

// markdown fences the paragraphs of a help text that have an indented line,
// because they are tables.
func markdown(text string) string {
	paragraphs := strings.Split(text, "\n\n")
	for i, p := range paragraphs {
		if strings.HasPrefix(p, "  ") || strings.Contains(p, "\n  ") {
			paragraphs[i] = "```\n" + p + "\n```"
		}
	}
	return strings.Join(paragraphs, "\n\n")
}
