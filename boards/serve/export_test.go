package serve

// Peers returns the number of hosts of which a listener at UDP keeps state.
func Peers(l Listener) int {
	u := l.(*UDP)
	u.mu.Lock()
	defer u.mu.Unlock()
	return len(u.peers)
}
