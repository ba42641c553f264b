//go:build !linux

package main

// session are the variables that lead to the desktop; here it needs none.
func (n *desktop) session() []string { return nil }

// absent says why there is no desktop; here there is always one.
func (n *desktop) absent() string { return "" }
