package desktop

import (
	"os"
	"path/filepath"
	"strconv"
)

// session returns the variable that leads to the session bus. It always names a bus: without the variable the library would
// start a bus that nothing ends.
func (n *Desktop) session() []string {
	address := n.getenv("DBUS_SESSION_BUS_ADDRESS")
	if address == "" {
		address = "unix:path=" + userBus()
	}
	return []string{"DBUS_SESSION_BUS_ADDRESS=" + address}
}

// userBus is the socket at which systemd serves a user's session bus.
func userBus() string { return filepath.Join("/run/user", strconv.Itoa(os.Geteuid()), "bus") }

// Absent says why there is no desktop; "": there is one.
func (n *Desktop) Absent() string {
	if n.getenv("DBUS_SESSION_BUS_ADDRESS") != "" {
		return ""
	}
	if _, err := os.Stat(userBus()); err != nil {
		return "there is no desktop session (no DBUS_SESSION_BUS_ADDRESS and no " + userBus() + ")"
	}
	return ""
}
