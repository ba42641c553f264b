package api

import (
	"context"
	"encoding/json"
	"net/http"
	"reflect"

	"github.com/labstack/echo/v4"
)

// A route's handler is made of two functions: the inner one reads what the request says and returns the answer, the outer one, such as
// [reply], sends it. reply(byID(room.Agent)) is the handler that answers with the agent whose id is in the address.

// source returns the answer to a request.
type source[T any] = func(echo.Context) (T, error)

// byID asks get about the id in the address.
func byID[T any](get func(context.Context, int64) (T, error)) source[T] {
	return func(c echo.Context) (none T, err error) {
		id, err := pathID(c)
		if err != nil {
			return none, err
		}
		return get(c.Request().Context(), id)
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

// filteredByID is filtered for the id in the address.
func filteredByID[F, T any](read func(*params) F, get func(context.Context, int64, F) (T, error)) source[T] {
	return func(c echo.Context) (none T, err error) {
		id, err := pathID(c)
		if err != nil {
			return none, err
		}
		return filtered(read, func(ctx context.Context, filter F) (T, error) { return get(ctx, id, filter) })(c)
	}
}

// fromBody has do act on the body, which is decoded into an In.
func fromBody[In, T any](do func(echo.Context, In) (T, error)) source[T] {
	return func(c echo.Context) (none T, err error) {
		var in In
		if err := decode(c, &in); err != nil {
			return none, err
		}
		return do(c, in)
	}
}

// fromBodyByID is fromBody for the id in the address.
func fromBodyByID[In, T any](do func(echo.Context, int64, In) (T, error)) source[T] {
	return func(c echo.Context) (none T, err error) {
		id, err := pathID(c)
		if err != nil {
			return none, err
		}
		return fromBody(func(c echo.Context, in In) (T, error) { return do(c, id, in) })(c)
	}
}

// actByID has do act on the id in the address. The body must be empty, or an empty object.
func actByID[T any](do func(context.Context, int64) (T, error)) source[T] {
	return fromBodyByID(func(c echo.Context, id int64, _ struct{}) (T, error) { return do(c.Request().Context(), id) })
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
