//go:build race

package pluginstore

const raceDetector = true
