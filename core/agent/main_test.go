package agent

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// helperArgument makes this test binary the helper that isolated jobs start by.
const helperArgument = "as-job"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == helperArgument {
		os.Exit(AsJob(os.Args[2:], os.Stdin, os.Stdout, os.Stderr))
	}
	beTestHelper()
	goleak.VerifyTestMain(m)
}
