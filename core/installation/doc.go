// Package installation is what people can do with an installation, as the command
// line and the API use it: small interfaces, one for each noun.
//
// The daemon is one in its own process, and so is the API's client over a socket or
// HTTPS. Its user doesn't know which.
package installation
