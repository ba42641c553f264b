//go:build !linux

package desktop

// session returns nothing: the desktop of this system needs no variables.
func (n *Desktop) session() []string { return nil }

// Absent returns "": this system always has a desktop.
func (n *Desktop) Absent() string { return "" }
