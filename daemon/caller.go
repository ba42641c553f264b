package daemon

import "context"

type callerKey struct{}

// WithCaller notes in a context which part of the daemon goes on with it. All agents' lanes make the same
// calls; this is how those who carry the calls out tell them apart.
func WithCaller(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, callerKey{}, name)
}

// Caller returns what WithCaller noted: "agent 7", "pipeline 3", "sweep", "spool", "hub", "teller", "retention" or
// "start"; "" for nothing.
func Caller(ctx context.Context) string {
	name, _ := ctx.Value(callerKey{}).(string)
	return name
}

type readerKey struct{}

// AsReader marks what people and programs read for themselves. A store serves it apart from what hooks and lanes need,
// which it must not keep waiting.
func AsReader(ctx context.Context) context.Context { return context.WithValue(ctx, readerKey{}, true) }

// IsReader reports whether ctx is of [AsReader].
func IsReader(ctx context.Context) bool { return ctx.Value(readerKey{}) != nil }
