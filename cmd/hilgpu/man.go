package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// newMan returns the hidden command that writes the man pages, which is part of how
// the program is packed.
func newMan() *cobra.Command {
	return &cobra.Command{
		Use:    "man DIR",
		Short:  "Write a man page of each command to a directory",
		Long:   "Man writes a page of section 1 for each command to DIR, dated by SOURCE_DATE_EPOCH.",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE:   func(c *cobra.Command, args []string) error { return writeMan(c.Root(), args[0]) },
	}
}

// writeMan writes the pages of a command, of those below it and of the topics of help
// to dir, which it makes.
func writeMan(root *cobra.Command, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("%w: %w", errInput, err)
	}
	prepareMan(root)
	header := &doc.GenManHeader{Section: "1", Source: "hilgpu " + thisVersion().Version, Manual: "hilgpu"}
	if err := doc.GenManTree(root, header, dir); err != nil {
		return fmt.Errorf("%w: %w", errInput, err)
	}
	for _, c := range root.Commands() {
		if !c.IsAdditionalHelpTopicCommand() {
			continue
		}
		if err := writeTopic(c, *header, filepath.Join(dir, "hilgpu-"+c.Name()+".1")); err != nil {
			return fmt.Errorf("%w: %w", errInput, err)
		}
	}
	return nil
}

// writeTopic writes the page of a topic. GenMan completes its header.
func writeTopic(c *cobra.Command, header doc.GenManHeader, path string) error {
	var page bytes.Buffer
	header.Title = ""
	if err := doc.GenMan(c, &header, &page); err != nil {
		return err
	}
	return os.WriteFile(path, page.Bytes(), 0o666)
}

// prepareMan makes Markdown of the texts of a command and those below it.
func prepareMan(c *cobra.Command) {
	c.DisableAutoGenTag = true
	c.Long = markdown(c.Long)
	for _, sub := range c.Commands() {
		prepareMan(sub)
	}
}

// markdown fences the paragraphs of a help text that have an indented line: they are
// tables.
func markdown(text string) string {
	paragraphs := strings.Split(text, "\n\n")
	for i, p := range paragraphs {
		if strings.HasPrefix(p, "  ") || strings.Contains(p, "\n  ") {
			paragraphs[i] = "```\n" + p + "\n```"
		}
	}
	return strings.Join(paragraphs, "\n\n")
}
