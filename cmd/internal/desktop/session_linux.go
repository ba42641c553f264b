package desktop

import (
	"os"
	"path/filepath"
	"strconv"
)

// session are the variables that lead to the session bus. It is always named: where it is not, the
// library would start a bus that outlives everybody.
func (n *Desktop) session() []string {
	address := n.getenv("DBUS_SESSION_BUS_ADDRESS")
	if address == "" {
		address = "unix:path=" + userBus()
	}
	return []string{"DBUS_SESSION_BUS_ADDRESS=" + address}
}

// userBus is where systemd has a user's session bus.
func userBus() string { return filepath.Join("/run/user", strconv.Itoa(os.Geteuid()), "bus") }

// Absent says why there is no desktop.
func (n *Desktop) Absent() string {
	if n.getenv("DBUS_SESSION_BUS_ADDRESS") != "" {
		return ""
	}
	if _, err := os.Stat(userBus()); err != nil {
		return "there is no desktop session (no DBUS_SESSION_BUS_ADDRESS and no " + userBus() + ")"
	}
	return ""
}
