// Package words holds how every surface writes what a program counts and what a stranger wrote: safe
// text, ages, times, tokens, sizes and the small parts of sentences. The command line, the terminal view,
// the dashboard, notifications and the log call the same functions, so that one thing is written in one way.
package words
