package pluginhost

import "log/slog"

// unexpectedItems are answers to questions that weren't asked. The first of a call is
// told, and then how many there were: a plugin may send a million of them.
type unexpectedItems struct {
	logger *slog.Logger
	what   string
	count  int
}

func (s *unexpectedItems) note(attributes ...any) {
	if s.count++; s.count == 1 {
		s.logger.Warn(s.what, attributes...)
	}
}

// report ends the call with their number.
func (s *unexpectedItems) report() {
	if s.count > 1 {
		s.logger.Warn(s.what, "times", s.count)
	}
}
