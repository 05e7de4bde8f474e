package failpoint

// point is a place in the program. Nothing outside of this file can make one, so
// a point that isn't listed here doesn't compile.
type point string

// The points, in the order in which a first apply and a last one pass them. What
// dies where is decided only by the name: the sentence says where it lies and
// what a crash there leaves behind.
const (
	// In control, after the writer's lock is taken: nothing else was touched.
	WriterLocked point = "writer-locked"
	// In store, before the first migration: an empty database.
	MigrationsUnstarted point = "migrations-unstarted"
	// In store, after each migration: the tables are of a version in between.
	MigrationDone point = "migration-done"
	// In control, after the epoch was claimed: the epoch of a writer that never wrote.
	StoreClaimed point = "store-claimed"
	// In pki, before a new key file gets its name: the key is on disk under a temporary one.
	KeyFileUnnamed point = "key-file-unnamed"
	// In pki, after it got its name: the key has two names, and the store doesn't know it.
	KeyFileNamed point = "key-file-named"
	// In control, before the id of a key goes into the store: a key that the store doesn't know.
	KeyUnremembered point = "key-unremembered"
	// In control, after the agents' port was opened: agents are told one that may be another next time.
	PortUnremembered point = "port-unremembered"

	// In control, before an approved definition is stored: the old one stays.
	DefinitionUncommitted point = "definition-uncommitted"
	// In control, after it was stored with its audit record: the loop and its plugins don't know yet.
	DefinitionCommitted point = "definition-committed"

	// In loop, before a new instance and its operation are stored: nothing is known of it.
	RequestUncommitted point = "request-uncommitted"
	// In loop, after that: an intent that was never sent.
	RequestCommitted point = "request-committed"
	// In loop, before a request is marked as going out: it wasn't sent.
	SendUncommitted point = "send-uncommitted"
	// In loop, after that: in progress, and no call was made.
	SendCommitted point = "send-committed"
	// In executor, right before the provision call: as above, with a plugin that is ready.
	ProvisionUnsent point = "provision-unsent"
	// In pluginhost, when the provision call has left: the answer is lost, and the plugin may or may not have it.
	ProvisionSent point = "provision-sent"
	// In executor, when the call was answered: a host that the store knows nothing of.
	ProvisionAnswered point = "provision-answered"
	// In loop, before the host of a request is stored: as above.
	HostUncommitted point = "host-uncommitted"
	// In loop, after that: a host whose agent has no instruction yet.
	HostCommitted point = "host-committed"
	// In loop, before the outcome of a call of a manager that died is stored as unknown.
	UnknownUncommitted point = "unknown-uncommitted"
	// In loop, after that: nothing has looked for it yet.
	UnknownCommitted point = "unknown-committed"
	// In loop, before a request that an inspection proved absent is stored as free to go out again.
	AbsenceUncommitted point = "absence-uncommitted"
	// In loop, after that: pending, and sent once before.
	AbsenceCommitted point = "absence-committed"

	// In agentserver, before a token is spent: an agent with a key and no identity.
	EnrollmentUncommitted point = "enrollment-uncommitted"
	// In agentserver, after it was spent: the agent doesn't know that it is enrolled.
	EnrollmentCommitted point = "enrollment-committed"
	// In agentserver, after the answer went to the agent: the loop doesn't know.
	EnrollmentAnswered point = "enrollment-answered"
	// In agentserver, before a renewed certificate is noted: the agent has the old one.
	RenewalUnrecorded point = "renewal-unrecorded"
	// In agentserver, after it was noted in memory: neither store nor agent have it.
	RenewalRecorded point = "renewal-recorded"
	// In agentserver, after the answer went to the agent: the store may have the old serial.
	RenewalAnswered point = "renewal-answered"

	// In control, before a host of an inventory is claimed: it is free.
	ClaimUncommitted point = "claim-uncommitted"
	// In control, after that: claimed, and the line that joins it wasn't shown yet.
	ClaimCommitted point = "claim-committed"

	// In loop, before an agent's first contact is stored.
	ContactUncommitted point = "contact-uncommitted"
	// In loop, after that: enrolled and not yet admitted or refused.
	ContactCommitted point = "contact-committed"
	// In loop, before an admission is stored: the agent still waits.
	AdmissionUncommitted point = "admission-uncommitted"
	// In loop, after that: the agent hasn't been told to work.
	AdmissionCommitted point = "admission-committed"

	// In loop, before a drain is stored: the cordon that never was.
	DrainUncommitted point = "drain-uncommitted"
	// In loop, after that: cordoned, and the agent works on.
	DrainCommitted point = "drain-committed"
	// In agentserver, after the answer told an agent to stop: it finishes its job while no manager runs.
	StopTold point = "stop-told"
	// In loop, when a host was proven idle and nothing of it is stored.
	IdleUncommitted point = "idle-uncommitted"
	// In loop, before the intent to terminate is stored, whatever the cause.
	TerminationUncommitted point = "termination-uncommitted"
	// In loop, after that: nothing was sent.
	TerminationCommitted point = "termination-committed"
	// In executor, right before the terminate call: in progress, and nothing was sent.
	TerminateUnsent point = "terminate-unsent"
	// In pluginhost, when the terminate call has left: the answer is lost.
	TerminateSent point = "terminate-sent"
	// In executor, when the call was answered: a host that is gone and stored as being there.
	TerminateAnswered point = "terminate-answered"
	// In loop, when only an inspection proves a host gone, before that is stored.
	GoneByInspectionUncommitted point = "gone-by-inspection-uncommitted"
	// In loop, before the end of an instance is stored.
	EndUncommitted point = "end-uncommitted"
	// In loop, after that: nothing is left to do for it.
	EndCommitted point = "end-committed"
	// In loop, before a removed fleet without instances is forgotten.
	RetirementUncommitted point = "retirement-uncommitted"
	// In loop, after that.
	RetirementCommitted point = "retirement-committed"

	// In control, when an ordered stop has ended the planning: answers are still to come.
	PlanningStopped point = "planning-stopped"
	// In control, when the last answers are stored: plugins still run.
	AnswersStored point = "answers-stored"
	// In control, when the plugins were stopped: agents are still answered.
	PluginsStopped point = "plugins-stopped"
	// In control, when the agents' endpoint was closed: the store is open.
	EndpointClosed point = "endpoint-closed"
	// In control, when the store was closed: the lock is held.
	StoreClosed point = "store-closed"

	// In pluginstore, before a binary gets its name in the store.
	BinaryUnnamed point = "binary-unnamed"
	// In pluginstore, after that: a binary that says nothing of itself.
	BinaryNamed point = "binary-named"
	// In pluginstore, before a file takes the place of another: the old one stays.
	ReplacementUnnamed point = "replacement-unnamed"
	// In pluginstore, after that.
	ReplacementNamed point = "replacement-named"
)
