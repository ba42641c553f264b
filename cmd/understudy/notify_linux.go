package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/godbus/dbus/v5"

	"github.com/understudyd/understudy/daemon"
)

// notificationService is on every desktop, by the Desktop Notifications Specification.
const notificationService = "org.freedesktop.Notifications"

// The specification's levels of urgency.
const (
	urgencyNormal   byte = 1
	urgencyCritical byte = 2 // stays until it is dismissed
)

// What an agent wrote must be no markup. A service that does not say that it knows markup may strip it
// all the same (dunst does by default) or show what is escaped as it is: there are no brackets for it.
var (
	escaper   = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")
	unbracket = strings.NewReplacer("<", "‹", ">", "›")
)

// showOnDesktop calls the notification service on a connection of its own, which ends with the call.
// beeep, which shows them elsewhere, can't do that; and it rings a bell on standard output with each
// message that is urgent.
func (n *desktop) showOnDesktop(ctx context.Context, m daemon.Notification) error {
	conn, err := dbus.Connect(n.bus(), dbus.WithContext(ctx))
	if err != nil {
		return fmt.Errorf("session bus: %w", err)
	}
	defer conn.Close()
	service := conn.Object(notificationService, "/org/freedesktop/Notifications")
	var able []string
	if err := service.CallWithContext(ctx, notificationService+".GetCapabilities", 0).Store(&able); err != nil {
		return fmt.Errorf("notification service: %w", err)
	}
	body, icon, urgency := unbracket.Replace(m.Message), "dialog-information", urgencyNormal
	if slices.Contains(able, "body-markup") {
		body = escaper.Replace(m.Message)
	}
	if m.Urgent {
		icon, urgency = "dialog-error", urgencyCritical
	}
	const replacesNone, itsOwnTimeout = uint32(0), int32(-1)
	hints := map[string]dbus.Variant{"urgency": dbus.MakeVariant(urgency)}
	call := service.CallWithContext(ctx, notificationService+".Notify", 0,
		"understudy", replacesNone, icon, m.Title, body, []string{}, hints, itsOwnTimeout)
	if call.Err != nil {
		return fmt.Errorf("notification service: %w", call.Err)
	}
	return nil
}

// bus is the address of the session bus.
func (n *desktop) bus() string {
	if address := n.getenv("DBUS_SESSION_BUS_ADDRESS"); address != "" {
		return address
	}
	return "unix:path=" + userBus()
}

// userBus is where systemd has a user's session bus.
func userBus() string { return filepath.Join("/run/user", strconv.Itoa(os.Geteuid()), "bus") }

// absent says why there is no desktop.
func (n *desktop) absent() string {
	if n.getenv("DBUS_SESSION_BUS_ADDRESS") != "" {
		return ""
	}
	if _, err := os.Stat(userBus()); err != nil {
		return "there is no desktop session (no DBUS_SESSION_BUS_ADDRESS and no " + userBus() + ")"
	}
	return ""
}
