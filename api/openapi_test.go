package api

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"

	"github.com/understudyd/understudy/daemon/engine"
	"github.com/understudyd/understudy/daemon/house"
)

func init() {
	for _, contentType := range []string{"text/markdown", "text/html", "text/event-stream", "application/yaml"} {
		openapi3filter.RegisterBodyDecoder(contentType, asText)
	}
}

// asText decodes a body as text, whatever its type.
func asText(body io.Reader, _ http.Header, _ *openapi3.SchemaRef, _ openapi3filter.EncodingFn) (any, error) {
	b, err := io.ReadAll(body)
	return string(b), err
}

// spec is the description of the API. The tests check each request and answer against it.
type spec struct {
	doc    *openapi3.T
	router routers.Router
}

// described loads the description once, because its check takes as long as most tests.
var described = sync.OnceValues(func() (*spec, error) {
	doc, err := openapi3.NewLoader().LoadFromData(openAPI)
	if err != nil {
		return nil, err
	}
	if err := doc.Validate(context.Background()); err != nil {
		return nil, err
	}
	doc.Servers = nil // the tests call other addresses
	router, err := gorillamux.NewRouter(doc)
	return &spec{doc, router}, err
})

// loadSpec returns the description, which all tests share. No test changes it.
func loadSpec(t testing.TB) *spec {
	t.Helper()
	return value(described())(t)
}

// checkedTransport checks each answer, and each accepted request, against the description.
type checkedTransport struct {
	http.RoundTripper
	h *fixture
}

func (c checkedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	var sent []byte
	if r.Body != nil {
		sent, _ = io.ReadAll(r.Body)
		r = r.Clone(r.Context())
		r.Body = io.NopCloser(bytes.NewReader(sent))
	}
	response, err := c.RoundTripper.RoundTrip(r)
	if err != nil {
		return response, err
	}
	if response.Header.Get("Content-Type") == "text/event-stream" {
		meet("streamEvents", response.StatusCode)
		return response, nil
	}
	got, err := io.ReadAll(response.Body)
	response.Body.Close()
	if err != nil {
		return nil, err
	}
	response.Body = io.NopCloser(bytes.NewReader(got))
	if strings.HasSuffix(r.URL.Path, "/pipelines/") { // the description has it in words
		r.URL.Path = strings.TrimSuffix(r.URL.Path, "/")
	}
	route, path, err := c.h.spec.router.FindRoute(r)
	if err != nil {
		if response.StatusCode < 400 {
			c.h.t.Errorf("%s %s answers %d, but is not described: %v", r.Method, r.URL.Path, response.StatusCode, err)
		}
		return response, nil
	}
	meet(route.Operation.OperationID, response.StatusCode)
	r = r.Clone(r.Context())
	r.Body = io.NopCloser(bytes.NewReader(sent))
	if len(sent) > 0 && r.Header.Get("Content-Type") == "" {
		r.Header.Set("Content-Type", "application/json")
	}
	input := &openapi3filter.RequestValidationInput{
		Request: r, PathParams: path, Route: route,
		Options: &openapi3filter.Options{AuthenticationFunc: openapi3filter.NoopAuthenticationFunc, IncludeResponseStatus: true},
	}
	if response.StatusCode < 400 {
		if len(sent) == 0 && route.Operation.RequestBody != nil && !route.Operation.RequestBody.Value.Required {
			input.Options.ExcludeRequestBody = true
		}
		if err := openapi3filter.ValidateRequest(r.Context(), input); err != nil {
			c.h.t.Errorf("%s %s with %.200q was accepted against the description: %v", r.Method, r.URL, sent, err)
		}
	}
	if len(got) == 0 && strings.HasPrefix(r.URL.Path, "/hooks/") {
		return response, nil // the answer to a hook may be empty
	}
	output := &openapi3filter.ResponseValidationInput{RequestValidationInput: input, Status: response.StatusCode, Header: response.Header, Options: input.Options}
	output.SetBodyBytes(got)
	if err := openapi3filter.ValidateResponse(r.Context(), output); err != nil {
		c.h.t.Errorf("%s %s: answer %d %.300q is not as described: %v", r.Method, r.URL, response.StatusCode, got, err)
	}
	return response, nil
}

var pathParam = regexp.MustCompile(`:(\w+)`)

func TestDescriptionHasEveryRoute(t *testing.T) {
	t.Parallel()
	s := New(Config{House: house.New(engine.Config{})})
	described := map[string]*openapi3.Operation{}
	for path, item := range loadSpec(t).doc.Paths.Map() {
		bases := []string{""}
		if len(item.Servers) > 0 {
			bases = nil
		}
		for _, server := range item.Servers {
			bases = append(bases, strings.TrimSuffix(server.URL, "/"))
		}
		for method, operation := range item.Operations() {
			own := *operation // a copy, because all tests share the description
			own.Parameters = slices.Concat(operation.Parameters, item.Parameters)
			for _, base := range bases {
				described[method+" "+base+path] = &own
			}
		}
	}
	all := slices.Concat(s.routes(), s.hookRoutes())
	met := map[string]bool{}
	for _, r := range all {
		name := r.method + " " + pathParam.ReplaceAllString(r.path, "{$1}")
		operation := described[name]
		if operation == nil {
			t.Errorf("%s is not described: add it to paths in api/openapi.yaml", name)
			continue
		}
		met[name] = true
		params := []string{}
		for _, p := range operation.Parameters {
			if p.Value.In == "query" {
				params = append(params, p.Value.Name)
			}
		}
		want := strings.Fields(r.params)
		slices.Sort(want)
		slices.Sort(params)
		equal(t, "the described parameters of "+name, params, want)
	}
	for name := range described {
		if !met[name] {
			t.Errorf("%s is described but does not exist: remove it from paths in api/openapi.yaml", name)
		}
	}
	for _, r := range s.hookRoutes() {
		if slices.Contains([]string{"/api/agents/:id/context", "/api/agents/:id/peers", "/api/agents/:id/peers/messages"}, r.path) {
			continue // only agents use these
		}
		if !slices.ContainsFunc(s.routes(), func(other route) bool {
			return other.method == r.method && other.path == r.path && other.params == r.params
		}) {
			t.Errorf("%s %s is on the hook socket only", r.method, r.path)
		}
	}
}

// met counts, for each operation of the description, the successful answers and the errors in all tests.
var met struct {
	sync.Mutex
	answers, errors map[string]bool
}

func meet(operation string, status int) {
	met.Lock()
	defer met.Unlock()
	if met.answers == nil {
		met.answers, met.errors = map[string]bool{}, map[string]bool{}
	}
	if status < 400 {
		met.answers[operation] = true
	} else {
		met.errors[operation] = true
	}
}

// unmet returns, after all tests, the operations of which no test has had both a successful answer and an error.
func unmet() (missing []string) {
	for _, name := range []string{"test.run", "test.skip", "test.list", "test.bench", "test.fuzz"} {
		if f := flag.Lookup(name); f != nil && f.Value.String() != "" {
			return nil // not all tests have run
		}
	}
	doc, err := openapi3.NewLoader().LoadFromData(openAPI)
	if err != nil {
		return []string{err.Error()}
	}
	met.Lock()
	defer met.Unlock()
	for path, item := range doc.Paths.Map() {
		for method, operation := range item.Operations() {
			for what, done := range map[string]map[string]bool{"answer": met.answers, "error": met.errors} {
				if !done[operation.OperationID] {
					missing = append(missing, fmt.Sprintf("%s %s: no test has had an %s of it that was checked against the description: "+
						"call it through a door or the client of a fixture (fixture_test.go)", method, path, what))
				}
			}
		}
	}
	slices.Sort(missing)
	return missing
}
