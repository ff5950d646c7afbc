package bus

// As returns link as a T, or the first link below it that is one. A link that wraps another has
// a method Unwrap() Link.
func As[T any](link Link) (t T, ok bool) {
	for link != nil {
		if t, ok = link.(T); ok {
			return t, true
		}
		w, wraps := link.(interface{ Unwrap() Link })
		if !wraps {
			break
		}
		link = w.Unwrap()
	}
	return t, false
}
