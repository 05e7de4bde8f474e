package ec2sim

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
)

// Transport carries requests to the simulator without a socket, so that they
// work under synthetic time. The host of the request's address doesn't matter.
func (s *Simulator) Transport() http.RoundTripper { return transport{s} }

type transport struct{ simulator *Simulator }

// RoundTrip answers io.ErrUnexpectedEOF where a real connection would be cut,
// and the context's error where the caller stops waiting: the request still has
// its effect, as it would have far away.
func (t transport) RoundTrip(request *http.Request) (*http.Response, error) {
	if err := request.Context().Err(); err != nil {
		return nil, err
	}
	sent := request.Clone(request.Context())
	if sent.Body == nil {
		sent.Body = http.NoBody
	}
	defer sent.Body.Close()
	recorder := httptest.NewRecorder()
	if err := serve(t.simulator, recorder, sent); err != nil {
		return nil, err
	}
	if err := request.Context().Err(); err != nil {
		return nil, err
	}
	response := recorder.Result()
	response.Request = request
	return response, nil
}

func serve(handler http.Handler, w http.ResponseWriter, request *http.Request) (err error) {
	defer func() {
		switch raised := recover(); {
		case raised == nil:
		case errors.Is(asError(raised), http.ErrAbortHandler):
			err = io.ErrUnexpectedEOF
		default:
			panic(raised)
		}
	}()
	handler.ServeHTTP(w, request)
	return nil
}

func asError(raised any) error {
	err, _ := raised.(error)
	return err
}
