//go:build !linux

package desktop

// session are the variables that lead to the desktop; here it needs none.
func (n *Desktop) session() []string { return nil }

// Absent says why there is no desktop; here there is always one.
func (n *Desktop) Absent() string { return "" }
