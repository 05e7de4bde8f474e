package postgrestest

import "syscall"

// endWithParent makes the kernel stop the server when the test binary dies
// without calling Stop.
func endWithParent(attributes *syscall.SysProcAttr) { attributes.Pdeathsig = syscall.SIGQUIT }
