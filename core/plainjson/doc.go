// Package plainjson decodes JSON that other programs wrote (answers of schedulers and
// managers, requests, release indexes, metadata of clouds) with readable errors.
//
// It wraps encoding/json. Its errors name the member, what was expected and what was
// found, for readers who know neither Go nor our types. A value is quoted only where a
// number, a boolean or a time was expected, since a text may be a secret. It imports the
// standard library only, since the agent uses it.
package plainjson
