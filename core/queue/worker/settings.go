package worker

import (
	crand "crypto/rand"
	"encoding/hex"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"strconv"
)

// FromEnvironment is the configuration that the agent gave by the environment.
// The token is in it, and not in the environment any more.
func FromEnvironment(log *slog.Logger) (Config, error) {
	token, err := takeToken()
	if err != nil {
		return Config{}, fmt.Errorf("take the queue's token from the environment: %w", err)
	}
	c := Config{
		URL:              os.Getenv(URLVariable),
		Runner:           os.Getenv(RunnerVariable),
		Token:            token,
		HostInterruption: os.Getenv(HostInterruptionVariable),
		Environ:          os.Environ(),
		NewID:            newID,
		Random:           rand.Float64,
		Logger:           log,
	}
	for _, number := range []struct {
		name string
		into *int
	}{{SlotsVariable, &c.Slots}, {MaxJobsVariable, &c.MaxJobs}} {
		text := os.Getenv(number.name)
		if text == "" {
			continue
		}
		if *number.into, err = strconv.Atoi(text); err != nil || *number.into < 0 {
			return Config{}, fmt.Errorf("%s is %.40q, and must be a number that isn't negative", number.name, text)
		}
	}
	return c, nil
}

func newID() string {
	id := make([]byte, 16)
	_, _ = crand.Read(id) // never fails
	return hex.EncodeToString(id)
}
