// Package machinefake is a provider for tests whose machines run in the test's own
// process: what would happen on a machine is a function.
//
// It is an executor.Provider that always tells the truth at once, for tests in which the
// manager is real and the wall clock runs. Faults of clouds are the business of others:
// testonly/simulation has a cloud in virtual time whose lists lag and whose calls get lost,
// the tests of core/loop play provider and loop by hand, those of core/pluginhost and the
// SDK have plugins that break the contract, and ec2sim answers the requests of EC2.
package machinefake
