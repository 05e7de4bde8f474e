package daemon

import (
	"errors"
	"fmt"

	api "github.com/digitalocean/go-libvirt"

	"github.com/forgeyard/forgeyard-fleet/plugin-sdk/provider"
)

// UnreachableError: there was no connection, so nothing was asked.
type UnreachableError struct {
	Host, What string
	Err        error
}

// Error says what couldn't be asked, and of whom.
func (e *UnreachableError) Error() string {
	return fmt.Sprintf("%s: host %s can't be reached: %v", e.What, e.Host, e.Err)
}

// Unwrap gives the cause.
func (e *UnreachableError) Unwrap() error { return e.Err }

// LostError: the question may have arrived, and no answer came.
type LostError struct {
	Host, What string
	Err        error
	late       bool // the daemon hangs: asking again would cost as much
}

// Error says which answer is missing.
func (e *LostError) Error() string {
	return fmt.Sprintf("%s: the answer of host %s is missing: %v", e.What, e.Host, e.Err)
}

// Unwrap gives the cause.
func (e *LostError) Unwrap() error { return e.Err }

// Said is the code of what the daemon answered; 0: it answered nothing.
func Said(err error) api.ErrorNumber {
	if answer, ok := errors.AsType[api.Error](err); ok {
		return api.ErrorNumber(answer.Code)
	}
	return 0
}

// notFound are the codes for what isn't there: each kind of object has its own,
// and a driver may use that of the object's parent.
var notFound = map[api.ErrorNumber]bool{
	api.ErrNoDomain: true, api.ErrNoNetwork: true, api.ErrNoStoragePool: true, api.ErrNoStorageVol: true,
	api.ErrNoNodeDevice: true, api.ErrNoInterface: true, api.ErrNoDomainMetadata: true, api.ErrNoDomainSnapshot: true,
}

// IsNotFound says whether the daemon answered that the object doesn't exist.
func IsNotFound(err error) bool { return notFound[Said(err)] }

// classes are what a refusal means. What isn't here is Transient: another try may
// find the daemon in another mood, and a person sees its words.
//
// Drivers don't agree on codes: what qemu calls an operation that is invalid now,
// the test driver calls an invalid argument. So no step of this plugin decides by
// a code what exists; it looks.
var classes = map[api.ErrorNumber]provider.Class{
	api.ErrAuthFailed: provider.Auth, api.ErrAuthCancelled: provider.Auth, api.ErrAuthUnavailable: provider.Auth,
	api.ErrAccessDenied: provider.Permission, api.ErrOperationDenied: provider.Permission,
	api.ErrNoMemory: provider.Capacity, api.ErrResourceBusy: provider.Capacity,
	api.ErrXMLError: provider.Invalid, api.ErrXMLDetail: provider.Invalid, api.ErrXMLInvalidSchema: provider.Invalid,
	api.ErrConfigUnsupported: provider.Invalid, api.ErrInvalidArg: provider.Invalid, api.ErrNoSupport: provider.Invalid,
	api.ErrArgumentUnsupported: provider.Invalid, api.ErrNoNetwork: provider.Invalid,
	api.ErrNoStoragePool: provider.Invalid,
	api.ErrNoStorageVol:  provider.Invalid, api.ErrNoNodeDevice: provider.Invalid,
	api.ErrDomExist: provider.Conflict, api.ErrStorageVolExist: provider.Conflict,
	api.ErrRPC: provider.Transient, api.ErrInternalError: provider.Transient,
}

// ClassOf is what the host does about an error of this package.
func ClassOf(err error) provider.Class {
	if class, ok := classes[Said(err)]; ok {
		return class
	}
	return provider.Transient
}
