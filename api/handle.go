package api

import (
	"context"
	"encoding/json"
	"net/http"
	"reflect"

	"github.com/labstack/echo/v4"
)

// A route's handler is made of two functions: the inner one reads what the request says and returns the answer, the outer one, such as
// [reply], sends it. reply(byKey(room.Agent)) is the handler that answers with the agent whose id is in the address.

// source returns the answer to a request.
type source[T any] = func(echo.Context) (T, error)

// key reads what the address names: an id, or a slug or another text.
func key[K int64 | string](c echo.Context) (k K, err error) {
	switch k := any(&k).(type) {
	case *int64:
		*k, err = parseID("Id", c.Param("id"))
	case *string:
		*k = c.ParamValues()[0]
	}
	return k, err
}

// byKey asks get about what the address names.
func byKey[K int64 | string, T any](get func(context.Context, K) (T, error)) source[T] {
	return func(c echo.Context) (none T, err error) {
		k, err := key[K](c)
		if err != nil {
			return none, err
		}
		return get(c.Request().Context(), k)
	}
}

// plain asks get, whatever the address says.
func plain[T any](get func(context.Context) (T, error)) source[T] {
	return func(c echo.Context) (T, error) { return get(c.Request().Context()) }
}

// filtered asks get for what read finds in the parameters.
func filtered[F, T any](read func(*params) F, get func(context.Context, F) (T, error)) source[T] {
	return func(c echo.Context) (none T, err error) {
		p := paramsOf(c)
		filter := read(p)
		if p.err != nil {
			return none, p.err
		}
		return get(c.Request().Context(), filter)
	}
}

// filteredByKey is filtered for what the address names.
func filteredByKey[K int64 | string, F, T any](read func(*params) F, get func(context.Context, K, F) (T, error)) source[T] {
	return func(c echo.Context) (none T, err error) {
		k, err := key[K](c)
		if err != nil {
			return none, err
		}
		return filtered(read, func(ctx context.Context, filter F) (T, error) { return get(ctx, k, filter) })(c)
	}
}

// fromBody has do act on the body, which is decoded into an In.
func fromBody[In, T any](do func(context.Context, In) (T, error)) source[T] {
	return func(c echo.Context) (none T, err error) {
		var in In
		if err := decode(c, &in); err != nil {
			return none, err
		}
		return do(c.Request().Context(), in)
	}
}

// fromBodyByKey is fromBody for what the address names.
func fromBodyByKey[K int64 | string, In, T any](do func(context.Context, K, In) (T, error)) source[T] {
	return func(c echo.Context) (none T, err error) {
		k, err := key[K](c)
		if err != nil {
			return none, err
		}
		return fromBody(func(ctx context.Context, in In) (T, error) { return do(ctx, k, in) })(c)
	}
}

// act has do act. The body must be empty, or an empty object.
func act[T any](do func(context.Context) (T, error)) source[T] {
	return fromBody(func(ctx context.Context, _ struct{}) (T, error) { return do(ctx) })
}

// actByKey is act for what the address names.
func actByKey[K int64 | string, T any](do func(context.Context, K) (T, error)) source[T] {
	return fromBodyByKey(func(ctx context.Context, k K, _ struct{}) (T, error) { return do(ctx, k) })
}

// reply sends an answer with status 200.
func reply[T any](get source[T]) echo.HandlerFunc { return send(http.StatusOK, get) }

// created sends the answer of a request that has made something.
func created[T any](do source[T]) echo.HandlerFunc { return send(http.StatusCreated, do) }

// accepted sends the answer of a request that will be done after it.
func accepted[T any](do source[T]) echo.HandlerFunc { return send(http.StatusAccepted, do) }

// send sends an answer as JSON. A list is an array, never null.
func send[T any](status int, get source[T]) echo.HandlerFunc {
	return func(c echo.Context) error {
		v, err := get(c)
		if err != nil {
			return err
		}
		b, err := json.Marshal(v)
		if err != nil {
			return err
		}
		if list := reflect.ValueOf(v); list.Kind() == reflect.Slice && list.IsNil() {
			b = []byte("[]")
		}
		return c.Blob(status, "application/json", append(b, '\n'))
	}
}

// markdown sends a text.
func markdown(get source[[]byte]) echo.HandlerFunc {
	return func(c echo.Context) error {
		text, err := get(c)
		if err != nil {
			return err
		}
		return c.Blob(http.StatusOK, "text/markdown; charset=utf-8", text)
	}
}
