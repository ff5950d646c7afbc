package breaks

func statusBreaks() []Break { return nil }
func outputBreaks() []Break { return nil }
func memoryBreaks() []Break { return nil }
func infoBreaks() []Break   { return nil }
func resetBreaks() []Break  { return nil }
