package pluginhost

import "log/slog"

// strays are answers to questions that weren't asked. The first of a call is
// told, and then how many there were: a plugin may send a million of them.
type strays struct {
	logger *slog.Logger
	what   string
	count  int
}

func (s *strays) note(attributes ...any) {
	if s.count++; s.count == 1 {
		s.logger.Warn(s.what, attributes...)
	}
}

// sum ends the call.
func (s *strays) sum() {
	if s.count > 1 {
		s.logger.Warn(s.what, "times", s.count)
	}
}
