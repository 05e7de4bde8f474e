package agent

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// playVariable makes this program one of plays instead of tests.
const playVariable = "PLAY"

var plays = map[string]func(){}

func TestMain(m *testing.M) {
	if play := plays[os.Getenv(playVariable)]; play != nil {
		play()
		return
	}
	goleak.VerifyTestMain(m)
}
