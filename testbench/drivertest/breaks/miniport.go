package breaks

func miniportBreaks() []Break { return nil }
