package desktop

import (
	"fmt"

	"github.com/godbus/dbus/v5"

	"github.com/understudyd/understudy/daemon/tell"
)

// The notification service of a session bus: Desktop Notifications Specification 1.3.
const (
	serviceName = "org.freedesktop.Notifications"
	servicePath = "/org/freedesktop/Notifications"
)

// Urgencies and time-outs of that specification.
const (
	urgencyNormal   = byte(1)
	urgencyCritical = byte(2)
	asDesktopSays   = int32(-1)
	never           = int32(0)
)

// show shows a message by the notification service. An urgent one stays until somebody closes it; how long others stay is the desktop's own
// rule. If the service takes none, show tries the other programs that the library knows.
func show(m tell.Notification) error {
	urgency, expires := urgencyNormal, asDesktopSays
	if m.Urgent {
		urgency, expires = urgencyCritical, never
	}
	conn, err := dbus.ConnectSessionBus()
	if err == nil {
		defer func() { _ = conn.Close() }()
		hints := map[string]dbus.Variant{"urgency": dbus.MakeVariant(urgency)}
		err = conn.Object(serviceName, servicePath).Call(serviceName+".Notify", 0, appName, uint32(0), iconOf(m), m.Title, m.Message, []string{}, hints, expires).Err
	}
	if err == nil || byLibrary(m) == nil {
		return nil
	}
	return fmt.Errorf("session bus: %w", err)
}
