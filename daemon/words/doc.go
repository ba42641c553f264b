// Package words writes values for people: ages, times, tokens, sizes and the small parts of sentences. It also makes
// text from agents and programs safe to show. The command line, the terminal view, the dashboard, notifications and the
// log call the same functions, so that each of them writes a value in the same way.
package words
