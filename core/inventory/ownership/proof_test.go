package ownership

import (
	"bytes"
	"errors"
	"regexp"
	"testing"

	"pgregory.net/rapid"

	"github.com/forgeyard/forgeyard-fleet/core/fleet"
)

func keyOf(fill byte) []byte { return bytes.Repeat([]byte{fill}, KeyBytes) }

func ring(t interface{ Fatal(...any) }, current []byte, earlier ...[]byte) Keyring {
	r, err := NewKeyring(current, earlier...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func prove(t interface{ Fatal(...any) }, r Keyring, c Claim) string {
	proof, err := r.Prove(c)
	if err != nil {
		t.Fatal(err)
	}
	return proof
}

func reason(err error) Reason {
	if refusal := (*RefusalError)(nil); errors.As(err, &refusal) {
		return refusal.Reason
	}
	return ""
}

var claim = Claim{Installation: "demo", Fleet: "01f", Instance: "01i", Key: "01k"}

func TestAProofIsWhatItIsEverywhereAndForEver(t *testing.T) {
	// Resources outlive programs: another encoding would disown them all.
	const want = "v1-a3a3adbae619ee19-37objbfuod5moae4uc6idcvkhu"
	got := prove(t, ring(t, keyOf(7)), claim)
	if got != want {
		t.Errorf("proof %s, want %s", got, want)
	}
}

func claims(t *rapid.T, label string) Claim {
	text := rapid.OneOf(rapid.StringMatching(`[a-z0-9-]{0,8}`), rapid.String())
	return Claim{
		Installation: text.Draw(t, label+" installation"),
		Fleet:        fleet.RunnerFleetID(text.Draw(t, label+" fleet")),
		Instance: fleet.CapacityInstanceID(
			text.Draw(t, label+" instance"),
		),
		Key: fleet.OperationID(text.Draw(t, label+" key")),
	}
}

var tagValue = regexp.MustCompile(`^[a-z0-9-]{1,63}$`)

func TestAProofFitsATagAndProvesItsClaimAndNoOther(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := ring(t, rapid.SliceOfN(rapid.Byte(), KeyBytes, KeyBytes).Draw(t, "key"))
		a, b := claims(t, "a"), claims(t, "b")
		proof := prove(t, r, a)
		if !tagValue.MatchString(proof) {
			t.Fatalf("%q can't be a tag", proof)
		}
		if err := r.Verify(proof, a); err != nil {
			t.Fatalf("its own claim: %v", err)
		}
		if err := r.Verify(proof, b); (err == nil) != (a == b) {
			t.Fatalf("the claim %+v by the proof of %+v: %v", b, a, err)
		}
	})
}

func TestFieldsThatReadAlikeTogetherAreNotTheSameClaim(t *testing.T) {
	r := ring(t, keyOf(1))
	proof := prove(t, r, Claim{Installation: "ab", Fleet: "c", Instance: "d", Key: "e"})
	for _, c := range []Claim{
		{Installation: "a", Fleet: "bc", Instance: "d", Key: "e"},
		{Installation: "abc", Instance: "d", Key: "e"},
		{Installation: "ab", Fleet: "c", Instance: "e", Key: "d"},
	} {
		if got := reason(r.Verify(proof, c)); got != AnotherClaim {
			t.Errorf("%+v: %q", c, got)
		}
	}
}

func TestAnyChangedCharacterOfAProofIsRefused(t *testing.T) {
	r := ring(t, keyOf(1))
	proof := prove(t, r, claim)
	for at := range proof {
		for _, c := range []byte("a7-Z=") {
			changed := []byte(proof)
			if changed[at] == c {
				continue
			}
			changed[at] = c
			if err := r.Verify(string(changed), claim); err == nil {
				t.Errorf("%s passes for %s", changed, proof)
			}
		}
	}
}

func TestARefusalSaysWhy(t *testing.T) {
	r, other := ring(t, keyOf(1)), ring(t, keyOf(2))
	for _, test := range []struct {
		name  string
		proof string
		want  Reason
	}{
		{"nothing", "", NoProof},
		{"other text", "managed-by-hand", Malformed},
		{"a proof cut short", prove(t, r, claim)[:40], Malformed},
		{"a proof with more behind it", prove(t, r, claim) + "-x", Malformed},
		{"a later version", "v2" + prove(t, r, claim)[2:], Malformed},
		{"another installation's key", prove(t, other, claim), UnknownKey},
		{"a forged key id", "v1-" + r.KeyID() + prove(t, other, claim)[19:], AnotherClaim},
		{"the proof of another key", prove(t, r, Claim{Installation: "demo", Fleet: "01f", Instance: "01i", Key: "01x"}),
			AnotherClaim},
	} {
		if got := reason(r.Verify(test.proof, claim)); got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}

func TestAProofFromBeforeARotationStaysGood(t *testing.T) {
	before := ring(t, keyOf(1))
	after := ring(t, keyOf(2), keyOf(1))
	old, fresh := prove(t, before, claim), prove(t, after, claim)
	if err := after.Verify(old, claim); err != nil {
		t.Errorf("the old proof: %v", err)
	}
	if old == fresh || after.KeyID() == before.KeyID() {
		t.Error("the current key doesn't make the new proofs")
	}
	if got := reason(before.Verify(fresh, claim)); got != UnknownKey {
		t.Errorf("a key from after: %q", got)
	}
}

func TestAKeyringTakesNoBadKey(t *testing.T) {
	for name, keys := range map[string][][]byte{"short": {keyOf(1)[1:]}, "empty": {nil}, "twice": {keyOf(1), keyOf(1)},
		"a short earlier one": {keyOf(1), {1}}} {
		if _, err := NewKeyring(keys[0], keys[1:]...); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
	if _, err := (Keyring{}).Prove(claim); !errors.Is(err, ErrNoKey) {
		t.Errorf("a proof without a key: %v", err)
	}
}

func FuzzVerify(f *testing.F) {
	r, err := NewKeyring(keyOf(1), keyOf(2))
	if err != nil {
		f.Fatal(err)
	}
	good, err := r.Prove(claim)
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{"", good, good[:10], "v1--", "v1-0123456789abcdef-", "--", good + good} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, proof string) {
		if err := r.Verify(proof, claim); err == nil && proof != good {
			t.Errorf("%q passes", proof)
		}
		if id, _, ok := parse(proof); ok && (len(id) != keyIDLength || !tagValue.MatchString(proof)) {
			t.Errorf("%q is read as a proof of %q", proof, id)
		}
	})
}
