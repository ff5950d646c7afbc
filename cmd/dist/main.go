// Dist packs the commit that is checked out: as archives for each system, with
// the program, its documents, man pages and shell completions, or as the module
// that go install requests from a proxy. Its output depends only on the commit
// and the Go version.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
)

func main() {
	root := &cobra.Command{
		Use:           "dist",
		Short:         "Write the archives of HEAD for each system, and SHA256SUMS",
		Args:          cobra.NoArgs,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	dir := root.PersistentFlags().StringP("output", "o", filepath.Join("out", "dist"), "`directory` to write to; it is emptied first")
	only := root.Flags().StringSlice("target", nil, "write only the archives of these `systems`, as linux_amd64")
	root.RunE = func(*cobra.Command, []string) error {
		systems, err := chosen(*only)
		if err != nil {
			return err
		}
		return run(*dir, func(s *source, dir string) error { return writeArchives(s, dir, systems) })
	}
	root.AddCommand(&cobra.Command{
		Use:   "module",
		Short: "Write the module of HEAD as a file-system proxy, and print its version",
		Args:  cobra.NoArgs,
		RunE:  func(*cobra.Command, []string) error { return run(*dir, writeModule) },
	})
	if err := root.Execute(); err != nil {
		fmt.Fprintf(os.Stderr, "dist: %v\n", err)
		os.Exit(1)
	}
}

// run checks HEAD out into a temporary directory, empties dir and calls write
// to fill it.
func run(dir string, write func(s *source, dir string) error) error {
	work, err := os.MkdirTemp("", "hilgpu-dist-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	s, err := checkout(".", work)
	if err != nil {
		return err
	}
	if s.dirty {
		fmt.Fprintf(os.Stderr, "dist: uncommitted changes are not in %s\n", s.version)
	}
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return write(s, dir)
}

func writeModule(s *source, dir string) error {
	if err := s.writeProxy(dir); err != nil {
		return err
	}
	fmt.Println(s.version)
	return nil
}
