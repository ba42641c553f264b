// Package words writes what programs count and what strangers wrote: ages, times, tokens, sizes, safe text, and the
// small parts of sentences. The command line, the terminal view, the dashboard, notifications and the log call the
// same functions, so that each thing is written in one way.
package words
