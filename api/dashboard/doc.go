// Package dashboard draws the pages of the operator's dashboard: agents, handoffs, pipelines, the event log.
//
// A page is plain HTML, drawn from the database for each request. static/ has the scripts: they ask for the page
// again when the feed reports an event that the page shows. morph.js then changes only the parts of the page that
// differ, so that focus, scroll position and typed text stay. Buttons and forms name the API call that they make in
// data attributes.
//
// A text of an agent may be an attack. It gets into a page in three ways only: as text through html/template, through
// [markdown], or through the converter of screens (api/sgr.go). The policy of the pages ([Policy]) allows no script, style
// or image that is not ours.
package dashboard
