package pluginstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"oras.land/oras-go/v2/registry/remote/errcode"
)

// impatient gives up answers that begin and then bring nothing for a while: a
// registry must not be able to hold a command for ever.
type impatient struct {
	http.RoundTripper
	stall time.Duration
}

func (i impatient) RoundTrip(request *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(request.Context())
	response, err := i.RoundTripper.RoundTrip(request.WithContext(ctx))
	if err != nil {
		cancel(err)
		return nil, err
	}
	response.Body = &answerBody{response.Body, ctx, cancel, i.stall}
	return response, nil
}

// answerBody ends its request when nothing comes.
type answerBody struct {
	io.ReadCloser
	ctx    context.Context
	cancel context.CancelCauseFunc
	stall  time.Duration
}

func (b *answerBody) Read(into []byte) (int, error) {
	timer := time.AfterFunc(b.stall, func() { b.cancel(stalledError(b.stall)) })
	defer timer.Stop()
	n, err := b.ReadCloser.Read(into)
	var stalled stalledError
	if err != nil && err != io.EOF && errors.As(context.Cause(b.ctx), &stalled) {
		err = stalled
	}
	return n, err
}

func (b *answerBody) Close() error {
	defer b.cancel(nil)
	return b.ReadCloser.Close()
}

// stalledError is a net.Error: what stalls can't be reached.
type stalledError time.Duration

func (e stalledError) Error() string   { return fmt.Sprintf("nothing came for %s", time.Duration(e)) }
func (e stalledError) Timeout() bool   { return true }
func (e stalledError) Temporary() bool { return true }

// withoutQueries takes the queries out of the addresses that an error names. A
// registry redirects to storage with addresses whose queries are credentials.
func withoutQueries(err error) {
	var answer *errcode.ErrorResponse
	if errors.As(err, &answer) && answer.URL != nil {
		answer.URL = withoutQuery(*answer.URL)
	}
	for {
		var at *url.Error
		if !errors.As(err, &at) {
			return
		}
		if address, parseErr := url.Parse(at.URL); parseErr == nil {
			at.URL = withoutQuery(*address).String()
		} else {
			at.URL = "an address that is none"
		}
		err = at.Err
	}
}

func withoutQuery(u url.URL) *url.URL {
	u.User, u.RawQuery, u.ForceQuery, u.Fragment, u.RawFragment = nil, "", false, "", ""
	return &u
}
