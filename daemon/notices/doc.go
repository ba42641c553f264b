// Package notices is the room that tells the operator: on the desktop, at targets elsewhere, and as each host's preferences say. It reads the
// event log, where all that must be told stands, and marks there what was told.
//
// It writes the preferences, the marks of alerts and the rows of pushes. It has no duty: a teller and a pusher go on beside the lanes. What a
// crash leaves: a notification may be shown a second time on the desktop if the daemon ends between showing and marking it; the row of a push
// then says that it may have arrived twice.
package notices
