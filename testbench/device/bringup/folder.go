package bringup

import (
	"io"
	"os"
	"path/filepath"

	"github.com/hilgpu/hilgpu/testbench/output"
)

// Page is the name of the HTML report in a Folder.
const Page = "report.html"

// formats are the files of a Folder.
func formats() []struct {
	name  string
	write func(*Report, io.Writer) error
} {
	return []struct {
		name  string
		write func(*Report, io.Writer) error
	}{
		{Page, (*Report).WriteHTML},
		{"report.json", (*Report).WriteJSON},
		{"junit.xml", (*Report).WriteJUnit},
	}
}

// A Folder holds a report as report.html, report.json and junit.xml.
type Folder struct{ files []*output.File }

// NewFolder creates a folder and reserves its files with create, so that a file
// that cannot be written fails at once, with output.ErrWrite. For an empty path it
// returns nil.
func NewFolder(path string, create func(path string) (*output.File, error)) (*Folder, error) {
	if path == "" {
		return nil, nil
	}
	if err := os.MkdirAll(path, 0o777); err != nil {
		return nil, output.Failed(path, err)
	}
	f := new(Folder)
	for _, format := range formats() {
		o, err := create(filepath.Join(path, format.name))
		if err != nil {
			f.Discard()
			return nil, err
		}
		f.files = append(f.files, o)
	}
	return f, nil
}

// Write writes the report to the files. On a nil Folder it does nothing.
func (f *Folder) Write(r *Report) error {
	if f == nil {
		return nil
	}
	for i, format := range formats() {
		if err := format.write(r, f.files[i]); err != nil {
			return err
		}
		if err := f.files[i].Commit(); err != nil {
			return err
		}
	}
	return nil
}

// Discard keeps the earlier contents of the files that were not written.
func (f *Folder) Discard() {
	if f == nil {
		return
	}
	for _, o := range f.files {
		o.Discard()
	}
}
