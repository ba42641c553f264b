// Package targets sends notifications beyond the machine: to ntfy, to a webhook that speaks Slack's format, or to a
// command. A target is what the operator's settings name, and never comes from the API.
//
// Each target is safe for concurrent use and keeps nothing. Its secrets are in files, which it reads at each attempt, so
// a secret can be replaced while the daemon runs. No error contains a secret.
package targets

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/understudyd/understudy/daemon/tell"
)

// client follows no redirect: the receiver is the one in the settings. The time limit is that of the caller's context.
var client = &http.Client{
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// post sends a body to an address, and returns nil if the receiver has taken it.
func post(ctx context.Context, address string, body []byte, header http.Header) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return &tell.Unsent{Err: errors.New("the address is not a URL"), Final: true} // the cause would quote the address
	}
	req.Header = header
	resp, err := client.Do(req)
	if err != nil {
		var about *url.Error
		if errors.As(err, &about) { // its text has the address, which may be a secret
			err = about.Err
		}
		return fmt.Errorf("%s does not answer: %w", req.URL.Hostname(), err)
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10)) // so that the connection can be used again
	return outcome(req.URL.Hostname(), resp, time.Now())
}

// outcome returns nil if an answer says that the message was taken.
func outcome(host string, resp *http.Response, now time.Time) error {
	code := resp.StatusCode
	err := fmt.Errorf("%s answered %d %s", host, code, http.StatusText(code))
	switch {
	case code >= 200 && code < 300:
		return nil
	case code >= 300 && code < 400:
		return &tell.Unsent{Err: fmt.Errorf("%w: write the address to which it redirects into the settings", err), Final: true}
	case code == http.StatusRequestTimeout, code == http.StatusTooEarly, code == http.StatusTooManyRequests, code >= 500:
		return &tell.Unsent{Err: err, After: retryAfter(resp.Header.Get("Retry-After"), now)}
	}
	return &tell.Unsent{Err: err, Final: true}
}

// retryAfter returns how long the header Retry-After asks to wait; 0: not at all.
func retryAfter(header string, now time.Time) time.Duration {
	if n, err := strconv.Atoi(header); err == nil && n > 0 {
		return time.Duration(min(n, 86400)) * time.Second
	}
	if at, err := http.ParseTime(header); err == nil {
		return max(at.Sub(now), 0)
	}
	return 0
}

// CheckURL refuses an address to which no message can be sent. Its error does not contain the address.
func CheckURL(address string) error {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return errors.New("must be a URL that begins with https:// or http://")
	case u.User != nil:
		return errors.New("must not contain a password: put a token into token_file")
	case strings.ContainsAny(address, " \r\n\t"):
		return errors.New("must not contain white space")
	}
	return nil
}
