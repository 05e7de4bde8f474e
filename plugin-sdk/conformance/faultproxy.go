package conformance

import (
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync"
	"time"
)

// Proxy is how a plugin that talks HTTP is sent through the kit's own proxy.
type Proxy struct {
	// Target is the URL of the infrastructure.
	Target string
	// Provider makes the provider block as JSON, with the address of the proxy in the place
	// of the infrastructure's.
	Provider func(endpoint string) ([]byte, error)
	// Mutates says whether a request changes something; nil: whether its method is neither
	// GET nor HEAD.
	Mutates func(*http.Request) bool
}

// faultProxy passes requests on, but for what it is told to do to some.
type faultProxy struct {
	url     string
	mutates func(*http.Request) bool
	server  *http.Server
	pass    *httputil.ReverseProxy
	serving sync.WaitGroup

	mutex sync.Mutex
	// disturb decides about each request; nil: all pass.
	disturb func(number int, mutates bool) disturbance
	// reads and writes count the requests since the last disturbance was set.
	reads, writes int
}

// disturbance is what happens to a request.
type disturbance struct {
	// status is answered in the place of the infrastructure; 0: its answer is passed on.
	status     int
	retryAfter time.Duration
	// carriedOut is whether it is asked all the same where status answers.
	carriedOut bool
	// cut breaks the connection in the place of the answer.
	cut bool
}

func newFaultProxy(p Proxy) (*faultProxy, error) {
	target, err := url.Parse(p.Target)
	if err != nil || target.Host == "" {
		return nil, fmt.Errorf("the target of the proxy, %q, is not a URL with a host", p.Target)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("start the proxy: %w", err)
	}
	f := &faultProxy{url: "http://" + listener.Addr().String(), mutates: p.Mutates}
	if f.mutates == nil {
		f.mutates = func(r *http.Request) bool { return r.Method != http.MethodGet && r.Method != http.MethodHead }
	}
	f.pass = &httputil.ReverseProxy{
		Rewrite:  func(r *httputil.ProxyRequest) { r.SetURL(target) },
		ErrorLog: log.New(io.Discard, "", 0), // the plugin is told, and what it says is the rules' business
	}
	f.server = &http.Server{Handler: f, ReadHeaderTimeout: time.Minute}
	f.serving.Go(func() { _ = f.server.Serve(listener) })
	return f, nil
}

func (f *faultProxy) close() {
	_ = f.server.Close()
	f.serving.Wait()
}

// set makes another disturbance and counts from zero; nil ends it.
func (f *faultProxy) set(disturb func(number int, mutates bool) disturbance) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.disturb, f.reads, f.writes = disturb, 0, 0
}

// counted is how many requests came since the disturbance was set.
func (f *faultProxy) counted() (reads, writes int) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	return f.reads, f.writes
}

func (f *faultProxy) decide(r *http.Request) disturbance {
	mutates := f.mutates(r)
	f.mutex.Lock()
	defer f.mutex.Unlock()
	number := &f.reads
	if mutates {
		number = &f.writes
	}
	*number++
	if f.disturb == nil {
		return disturbance{}
	}
	return f.disturb(*number, mutates)
}

func (f *faultProxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d := f.decide(r)
	if d.status != 0 {
		if d.carriedOut {
			f.pass.ServeHTTP(discard{http.Header{}}, r)
		}
		if d.retryAfter > 0 {
			w.Header().Set("Retry-After", fmt.Sprint(int(d.retryAfter.Seconds())))
		}
		http.Error(w, http.StatusText(d.status), d.status)
		return
	}
	if d.cut {
		f.pass.ServeHTTP(discard{http.Header{}}, r) // it is carried out, and the answer is lost
		panic(http.ErrAbortHandler)
	}
	f.pass.ServeHTTP(w, r)
}

// discard is an answer that no one gets.
type discard struct{ header http.Header }

func (d discard) Header() http.Header          { return d.header }
func (discard) Write(text []byte) (int, error) { return len(text), nil }
func (discard) WriteHeader(int)                {}
