package config

import "time"

// Duration reads a duration as fleet files have it: "10m", "1h30m", "7d".
func Duration(text string) (time.Duration, error) { return parseDuration(text) }

// Size reads a number of bytes as fleet files have it: "16GiB".
func Size(text string) (int64, error) { return parseSize(text) }
