package agent

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/forgeyard/forgeyard-fleet/core/agent/isolation"
)

// helperArgument makes this test binary the helper that isolated jobs start by.
const helperArgument = "as-job"

// playVariable makes this program one of plays instead of tests.
const playVariable = "PLAY"

var plays = map[string]func(){}

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == helperArgument {
		os.Exit(isolation.AsJob(os.Args[2:], os.Stdin, os.Stdout, os.Stderr))
	}
	beTestHelper()
	if play := plays[os.Getenv(playVariable)]; play != nil {
		play()
		return
	}
	goleak.VerifyTestMain(m)
}
