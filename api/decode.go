package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"github.com/understudyd/understudy/daemon"
	"github.com/understudyd/understudy/daemon/agents"
	"github.com/understudyd/understudy/daemon/pictures"
)

const (
	maxBody      = 1 << 20 // bytes
	defaultLimit = 100     // rows of a list
	maxLimit     = 500
)

func invalid(code daemon.Code, format string, args ...any) error {
	return daemon.Errorf(daemon.KindInvalid, code, format, args...)
}

// decode reads the body, which must be one JSON object, into the struct to which into points. It refuses a member that the
// struct does not have. If a member is absent or null, its field stays unchanged. An empty body counts as {}.
func decode(c echo.Context, into any) error {
	body, err := readBody(c)
	if err != nil {
		return err
	}
	return decodeObject(body, into)
}

// readBody returns the whole body. It refuses a body that is larger than maxBody or is not valid UTF-8.
func readBody(c echo.Context) ([]byte, error) {
	body, err := readAll(c.Response(), c.Request())
	if err == nil && !utf8.Valid(body) {
		err = invalid(codeInvalidUTF8, "The body is not valid UTF-8")
	}
	return body, err
}

// readAll returns the whole body. It refuses a body that is larger than maxBody.
func readAll(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return nil, errTooLarge
	case err != nil:
		return nil, &daemon.Error{Kind: daemon.KindInvalid, Code: codeBodyCutOff, Message: "The body could not be read to its end", Cause: err}
	}
	return body, nil
}

// decodeObject decodes a JSON object member by member. It does not use encoding/json for the whole object, because that
// accepts names in any letter case, and its errors name Go types.
func decodeObject(body []byte, into any) error {
	members, err := object(body)
	if err != nil {
		return err
	}
	fields := reflect.ValueOf(into).Elem()
	for i := range fields.NumField() {
		name, _, _ := strings.Cut(fields.Type().Field(i).Tag.Get("json"), ",")
		raw, ok := members[name]
		if !ok || name == "" || name == "-" { // a field without a name is the daemon's own, whatever a body calls it
			continue
		}
		delete(members, name)
		if err := decodeField(name, raw, fields.Field(i)); err != nil {
			return err
		}
	}
	if len(members) > 0 {
		unknown := slices.Min(slices.Collect(maps.Keys(members)))
		return invalid(codeUnknownField, "Field %.80q is not known here", unknown)
	}
	return nil
}

// decodeField decodes a member. A pointer to a struct takes an object, whose members are checked as well.
func decodeField(name string, raw json.RawMessage, field reflect.Value) error {
	if field.Kind() == reflect.Pointer && field.Type().Elem().Kind() == reflect.Struct && raw[0] == '{' {
		field.Set(reflect.New(field.Type().Elem()))
		return decodeObject(raw, field.Interface())
	}
	if err := json.Unmarshal(raw, field.Addr().Interface()); err != nil {
		return invalid(codeInvalidField, "Field %q must be %s", name, wanted(field))
	}
	return nil
}

// object returns the members of the JSON object body.
func object(body []byte) (map[string]json.RawMessage, error) {
	body = bytes.TrimLeft(body, " \t\r\n")
	if len(body) == 0 {
		return nil, nil
	}
	var members map[string]json.RawMessage
	err := json.Unmarshal(body, &members)
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &syntax):
		return nil, invalid(codeInvalidJSON, "The body is not one JSON object: error at byte %d", syntax.Offset)
	case err != nil || body[0] != '{':
		return nil, invalid(codeInvalidJSON, "The body must be a JSON object")
	}
	return members, nil
}

// wanted returns words for the JSON type of a field, such as "a string".
func wanted(field reflect.Value) string {
	switch field.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int64:
		return "an integer"
	case reflect.Float64:
		return "a number"
	case reflect.Slice:
		return "a list"
	case reflect.Struct:
		return "an object"
	case reflect.Pointer:
		return wanted(reflect.Zero(field.Type().Elem()))
	default:
		panic(fmt.Sprintf("api: a request has a field of kind %s that decode cannot name", field.Kind()))
	}
}

// parseID parses an id. It accepts only the spelling that an id has in JSON, such as 7 but not 07.
func parseID(name, s string) (int64, error) {
	id, err := strconv.ParseInt(s, 10, 64)
	if err != nil || id <= 0 || strconv.FormatInt(id, 10) != s {
		return 0, invalid(codeInvalidID, "%s must be a positive integer", name)
	}
	return id, nil
}

// fieldID returns the id in a field of the body, or 0 if the field is absent.
func fieldID(name string, id *int64) (int64, error) {
	switch {
	case id == nil:
		return 0, nil
	case *id <= 0:
		return 0, invalid(codeInvalidField, "Field %q must be a positive integer", name)
	}
	return *id, nil
}

// params are the parameters of a query. Each method checks one parameter and returns its value. If the parameter is
// wrong, the method returns the zero value, and sets err unless an earlier method has set it.
type params struct {
	values url.Values
	err    error
}

const paramsKey = "params"

// repeated is the name of the parameter that may occur several times, at the routes that have it.
const repeated = "file"

// withParams refuses a request with a parameter that the route does not have, or that occurs twice, other than repeated.
func withParams(names string, next echo.HandlerFunc) echo.HandlerFunc {
	known := strings.Fields(names)
	return func(c echo.Context) error {
		values, err := url.ParseQuery(c.Request().URL.RawQuery)
		if err != nil {
			return invalid(daemon.CodeInvalidParameter, "The query of the address is malformed")
		}
		for _, name := range slices.Sorted(maps.Keys(values)) {
			switch {
			case values.Get(name) == "" && slices.Contains(known, name) && strings.HasPrefix(c.Path(), "/ui/"):
				delete(values, name) // a form sends its empty fields
			case !slices.Contains(known, name):
				return invalid(codeUnknownParameter, "Parameter %.80q is not known here", name)
			case len(values[name]) > 1 && name != repeated:
				return invalid(daemon.CodeInvalidParameter, "Parameter %q is given more than once", name)
			case slices.ContainsFunc(values[name], func(v string) bool { return !utf8.ValidString(v) || strings.ContainsRune(v, 0) }):
				return invalid(daemon.CodeInvalidParameter, "Parameter %q is not valid text", name)
			}
		}
		c.Set(paramsKey, values)
		return next(c)
	}
}

func paramsOf(c echo.Context) *params {
	values, _ := c.Get(paramsKey).(url.Values)
	return &params{values: values}
}

func (p *params) fail(err error) {
	if p.err == nil {
		p.err = err
	}
}

// text returns a parameter unchanged, or "" if it is absent.
func (p *params) text(name string) string { return p.values.Get(name) }

// id returns the id in a parameter, or 0 if it is absent.
func (p *params) id(name string) int64 {
	if !p.values.Has(name) {
		return 0
	}
	id, err := parseID("Parameter "+strconv.Quote(name), p.text(name))
	if err != nil {
		p.fail(err)
	}
	return id
}

// limit returns how many rows the client wants.
func (p *params) limit() int {
	if !p.values.Has("limit") {
		return defaultLimit
	}
	limit, err := parseID("", p.text("limit"))
	if err != nil || limit > maxLimit {
		p.fail(invalid(daemon.CodeInvalidParameter, "Parameter \"limit\" must be an integer from 1 to %d", maxLimit))
		return 0
	}
	return int(limit)
}

// oneOf returns a parameter that must be one of the words, or "" if it is absent.
func (p *params) oneOf(name string, words ...string) string {
	value := p.text(name)
	if p.values.Has(name) && !slices.Contains(words, value) {
		words = slices.DeleteFunc(words, func(w string) bool { return w == "" })
		p.fail(invalid(daemon.CodeInvalidParameter, "Parameter %q must be one of %s", name, strings.Join(words, ", ")))
		return ""
	}
	return value
}

// diffRequest reads the parameters of a diff. The parameter file may be given several times.
func diffRequest(p *params) agents.DiffRequest {
	return agents.DiffRequest{Files: p.values[repeated], Stat: p.oneOf("stat", "", "false", "true") == "true"}
}

// spans are the values of the parameter span.
var spans = map[string]time.Duration{"": pictures.Day, "day": pictures.Day, "week": pictures.Week, "month": pictures.Month}

// span returns how much time a timeline shows.
func span(p *params) time.Duration { return spans[p.oneOf("span", "day", "week", "month")] }
