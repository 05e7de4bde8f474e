package store

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

// encode is a value's record: its JSON. HTML escaping is off, since it would
// change the bytes of plugin bodies inside, and with them their digests.
func encode(value any) (string, error) {
	var record bytes.Buffer
	encoder := json.NewEncoder(&record)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return "", fmt.Errorf("encode %T: %w", value, err)
	}
	return strings.TrimSuffix(record.String(), "\n"), nil
}

// decode is encode's inverse.
func decode[T any](from row) (value T, err error) {
	if err := json.Unmarshal(from.record, &value); err != nil {
		return value, fmt.Errorf("decode %T: %w", value, err)
	}
	return value, nil
}

// storable makes text from outside fit a column of either database: PostgreSQL
// takes no NUL and no invalid UTF-8. Records need none of it, JSON escapes.
func storable(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
}

// encodeOperation splits off the request, which must keep its bytes.
func encodeOperation(operation fleet.Operation) (record, request string, err error) {
	request = string(operation.Request)
	operation.Request = nil
	record, err = encode(operation)
	return record, request, err
}

// decodeOperation is encodeOperation's inverse.
func decodeOperation(from row) (fleet.Operation, error) {
	operation, err := decode[fleet.Operation](from)
	return withRequest(operation, from.beside), err
}

// withRequest puts the bytes back that encodeOperation split off.
func withRequest(operation fleet.Operation, request []byte) fleet.Operation {
	operation.Request = nil
	if len(request) > 0 {
		operation.Request = request
	}
	return operation
}

// encodeRunner leaves out the revocation, which has a column and a writer of its
// own.
func encodeRunner(runner fleet.Runner) (string, error) {
	runner.Revoked = time.Time{}
	return encode(runner)
}

// decodeRunner puts the record and the revocation together.
func decodeRunner(from row) (fleet.Runner, error) {
	runner, err := decode[fleet.Runner](from)
	if err != nil {
		return runner, err
	}
	at, err := strconv.ParseInt(string(from.beside), 10, 64)
	if err != nil {
		return runner, fmt.Errorf("decode when runner %s was revoked: %w", runner.ID, err)
	}
	runner.Revoked = revokedAt(at)
	return runner, nil
}

func revokedAt(micros int64) time.Time {
	if micros == 0 {
		return time.Time{}
	}
	return time.UnixMicro(micros).UTC()
}

func revokedMicros(at time.Time) int64 {
	if at.IsZero() {
		return 0
	}
	return at.UnixMicro()
}
