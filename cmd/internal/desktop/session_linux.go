package desktop

import (
	"os"
	"path/filepath"
	"strconv"
)

// session returns DBUS_SESSION_BUS_ADDRESS, the variable that names the session bus. It always sets a value, because
// without the variable the library would start a bus that nothing ends.
func (n *Desktop) session() []string {
	address := n.getenv("DBUS_SESSION_BUS_ADDRESS")
	if address == "" {
		address = "unix:path=" + userBus()
	}
	return []string{"DBUS_SESSION_BUS_ADDRESS=" + address}
}

// userBus returns the socket at which systemd serves a user's session bus.
func userBus() string { return filepath.Join("/run/user", strconv.Itoa(os.Geteuid()), "bus") }

// Absent returns why there is no desktop, or "" if there is one.
func (n *Desktop) Absent() string {
	if n.getenv("DBUS_SESSION_BUS_ADDRESS") != "" {
		return ""
	}
	if _, err := os.Stat(userBus()); err != nil {
		return "there is no desktop session (no DBUS_SESSION_BUS_ADDRESS and no " + userBus() + ")"
	}
	return ""
}
