// Package dashboard draws the pages of the operator's dashboard: agents, handoffs, runs, the log.
//
// A page is plain HTML, made anew from the database for each request. What a browser has to do is
// in static/: it asks for the page again when the feed tells of a change that the page shows, and
// puts what has changed into the page that is on screen (morph.js), so that focus, scroll and what
// is being typed stay. Buttons and forms name the call of the API that they make in data attributes.
//
// Whatever an agent wrote is hostile. It gets into a page by html/template as text, by [markdown]
// or by the screen's own converter, and in no other way; the policy of the pages ([Policy]) allows
// no script, style or image that is not ours.
package dashboard
