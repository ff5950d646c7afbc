package suite

// Save writes the artifacts of each failed case to dir, as Result.Save does, and
// returns the paths of the files by the name of the case. If dir is "" it writes
// nothing.
func (r *Report) Save(dir string) (map[string][]string, error) {
	files := map[string][]string{}
	for _, res := range r.Results {
		if dir == "" || res.Outcome != Failed {
			continue
		}
		var err error
		if files[res.Name], err = res.Save(dir, r.Board); err != nil {
			return files, err
		}
	}
	return files, nil
}
