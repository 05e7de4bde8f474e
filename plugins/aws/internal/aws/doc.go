// Package aws is the provider: machines in EC2. It is the one package that imports
// the SDK's service/ec2, whose compilation takes minutes and gigabytes; nothing but
// the plugin's main may import it.
//
// One key is one call of RunInstances with the key as the client token and with
// the first of the request's offers: a token is bound to its parameters, so where
// that offer has no capacity the answer is NotCreated, and the host comes with
// another key and the offers that are left.
package aws
