package pluginhost

import (
	"encoding/base32"
	"encoding/hex"
	"strings"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/providerpb"
)

// digestLabels writes a digest as a label: lower case, without padding.
var digestLabels = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

const digestPrefix = "sha256:"

// labelOf writes a digest in the contract's form: the 64 hexadecimal digits of
// "sha256:…" are one more than a label holds, so they become 52 of base32. What is a
// label already stays as it is.
func labelOf(digest string) string {
	sum, err := hex.DecodeString(strings.TrimPrefix(digest, digestPrefix))
	if err != nil || providerpb.Label.MatchString(digest) {
		return digest
	}
	return digestLabels.EncodeToString(sum)
}

// digestOfLabel reads what a plugin echoes. What isn't a digest in the contract's form stays
// as it is, and differs from every digest.
func digestOfLabel(label string) string {
	sum, err := digestLabels.DecodeString(label)
	if err != nil || len(sum) != 32 {
		return label
	}
	return digestPrefix + hex.EncodeToString(sum)
}
