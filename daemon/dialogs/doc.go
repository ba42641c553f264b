// Package dialogs is the room in which a person's hands reach an agent's pane from elsewhere: choices of the dialogs that stand in panes, and
// keys that come from a browser. Nothing else depends on it.
//
// It writes two columns of an agent, DialogAnswer and Keys, and, when a choice has led to another dialog, WaitsFor. Its two duties come before
// all else that types. What a crash leaves: an answer whose keys an earlier daemon may have pressed is ended as unknown, and nothing is
// pressed; a session of keys is over, because nobody knows which of its batches were typed.
package dialogs
