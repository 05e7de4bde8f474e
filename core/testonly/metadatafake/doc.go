// Package metadatafake is a cloud's metadata service for tests, and the key by which the
// cloud signs identity documents.
//
// It is the cloud as an instance sees it; the cloud as a manager sees it is a provider
// (testonly/machinefake and what its documentation names).
package metadatafake
