//go:build !linux

package desktop

// session returns nothing, because the desktop of this system needs no variables.
func (n *Desktop) session() []string { return nil }

// Absent returns "", because this system always has a desktop.
func (n *Desktop) Absent() string { return "" }
