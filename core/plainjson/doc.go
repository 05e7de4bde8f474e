// Package plainjson reads JSON that others wrote: answers of schedulers and managers,
// requests, release indexes, what a cloud tells a host. It is encoding/json but for its
// errors, which name the member, what is expected there and what came instead, for a
// person who knows neither Go nor our types. What came is quoted where a number, a truth
// value or a time is expected, and nowhere else: a text may be a secret. It needs only
// the standard library, since hosts' agents use it, too.
package plainjson
