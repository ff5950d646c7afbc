package main

import "github.com/spf13/cobra"

// newTopics returns what help explains beside the commands.
func newTopics() []*cobra.Command {
	return []*cobra.Command{
		{Use: "exit-codes", Short: "Exit codes, and the kinds of error in JSON", Long: "Exit codes, and the kind of the error in a JSON document:\n\n" + exitText()},
	}
}
