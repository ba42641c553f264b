package daemon

import "context"

type readerKey struct{}

// AsReader marks what people and programs read for themselves. A store serves it apart from what hooks and lanes need,
// which it must not keep waiting.
func AsReader(ctx context.Context) context.Context { return context.WithValue(ctx, readerKey{}, true) }

// IsReader reports whether ctx is of [AsReader].
func IsReader(ctx context.Context) bool { return ctx.Value(readerKey{}) != nil }
