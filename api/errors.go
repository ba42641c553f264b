package api

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"runtime/debug"

	"github.com/labstack/echo/v4"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/words"
	"github.com/understudyd/understudy/personas"
)

// errorBody is the body of every answer with an error.
type errorBody struct {
	Error string      `json:"error"`
	Code  daemon.Code `json:"code"`
}

// statuses maps the kinds of errors that a client may see to a status. An error of any other kind is a fault of ours and
// gets the status 500.
var statuses = map[daemon.Kind]int{
	daemon.KindInvalid:       http.StatusBadRequest,
	daemon.KindUnauthorized:  http.StatusUnauthorized,
	daemon.KindForbidden:     http.StatusForbidden,
	daemon.KindNotFound:      http.StatusNotFound,
	daemon.KindConflict:      http.StatusConflict,
	daemon.KindTooLarge:      http.StatusRequestEntityTooLarge,
	daemon.KindUnprocessable: http.StatusUnprocessableEntity,
	daemon.KindTooMany:       http.StatusTooManyRequests,
	daemon.KindUnavailable:   http.StatusServiceUnavailable,
}

var (
	errInternal        = daemon.Errorf(daemon.KindInternal, codeInternal, "Internal error; the daemon's log has the details")
	errNoRoute         = daemon.Errorf(daemon.KindNotFound, codeNotFound, "There is nothing at this address")
	errPersonaNotFound = daemon.Errorf(daemon.KindNotFound, CodePersonaNotFound, "Persona not found")
	errCutOff          = daemon.Errorf(daemon.KindUnavailable, codeCutOff, "The request was cut off; try again")
	errTooLarge        = daemon.Errorf(daemon.KindTooLarge, codeBodyTooLarge, "The body is larger than 1 MiB")
)

// errorAnswer returns the status and the body with which to answer an error. fault is true if the error is a fault of
// ours, which must be logged.
func errorAnswer(err error) (status int, body errorBody, fault bool) {
	var (
		told   *daemon.Error
		input  *personas.InputError
		routed *echo.HTTPError
	)
	switch {
	case errors.As(err, &told):
	case errors.As(err, &input):
		told = daemon.Errorf(daemon.KindInvalid, daemon.Code("invalid_"+input.Field), "%s", words.TrimDot(input.Message))
	case errors.Is(err, personas.ErrNotFound):
		told = errPersonaNotFound
	case errors.As(err, &routed) && routed.Code == http.StatusMethodNotAllowed:
		return routed.Code, errorBody{"This address does not take that method; the Allow header names those it takes", codeMethodNotAllowed}, false
	case errors.As(err, &routed) && routed.Code == http.StatusNotFound:
		told = errNoRoute
	default:
		told = errInternal
	}
	status, known := statuses[told.Kind]
	if !known {
		return http.StatusInternalServerError, errorBody{errInternal.Message, errInternal.Code}, true
	}
	return status, errorBody{told.Message, told.Code}, false
}

// handleError answers with the error of a handler, and logs it if it is a fault. No other function logs errors of
// handlers.
func (s *Server) handleError(err error, c echo.Context) {
	r := c.Request()
	if r.Context().Err() != nil && errors.Is(err, context.Canceled) {
		err = errCutOff // the client has closed the connection, which is not a fault of ours
	}
	status, body, fault := errorAnswer(err)
	if fault {
		s.Log.Error("request failed", "method", r.Method, "route", c.Path(), "error", err)
	} else if cause := errors.Unwrap(err); cause != nil {
		s.Log.Debug("request refused", "method", r.Method, "route", c.Path(), "error", err)
	}
	if c.Response().Committed {
		return
	}
	writeError(s.Log, c.Response(), status, body)
}

func writeError(log *slog.Logger, w http.ResponseWriter, status int, body errorBody) {
	b, err := json.Marshal(body)
	if err != nil {
		panic("api: two strings are JSON: " + err.Error())
	}
	w.Header().Set("Content-Type", "application/json")
	if status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	w.WriteHeader(status)
	if _, err := w.Write(append(b, '\n')); err != nil {
		log.Debug("answer not written", "error", err)
	}
}

// recovered turns a panic of a handler into an error, so that handleError logs it, one time and with its stack.
func recovered(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) (err error) {
		defer func() {
			switch r := recover(); r {
			case nil:
			case http.ErrAbortHandler:
				panic(r) // pass it on: a handler cuts its connection with this panic
			default:
				err = &panicError{value: r, stack: string(debug.Stack())}
			}
		}()
		return next(c)
	}
}

// panicError is a recovered panic.
type panicError struct {
	value any
	stack string
}

func (e *panicError) Error() string { return "panic" }

// LogValue returns the panic and its stack for the log.
func (e *panicError) LogValue() slog.Value {
	return slog.GroupValue(slog.Any("panic", e.value), slog.String("stack", e.stack))
}
