package store

import (
	"testing"
)

// TestSQLite and TestPostgres hold both databases to the same behaviour.
func TestSQLite(t *testing.T) { runSuite(t, sqlitePath) }

func TestPostgres(t *testing.T) { runSuite(t, postgres.Database) }

// runSuite runs every test with an empty store of its own at a new location.
func runSuite(t *testing.T, location func(testing.TB) string) {
	for _, test := range []struct {
		name string
		run  func(t *testing.T, location string)
	}{
		{"a store that was opened again has its tables and rows", opensAgain},
		{"many processes may open an empty store at once", opensAtOnce},
		{"rows of a program before version 13 are kept", keepsEarlierRows},
		{"a store of a newer program is refused", refusesNewer},
		{"a store is read beside its writer and after it ended", readsBesideWriter},
		{"a store that was opened for reading can't write", readOnlyCannotWrite},
		{"a store of another version isn't read", readOnlyRefusesOtherVersions},
		{"a store that never claimed the writer's place can't write", refusesReaderWrites},
		{"the older of two writers is fenced at its next write of any kind", fencesOlderWriter},
		{"a fenced writer still reads", fencedWriterReads},
		{"settings are kept", keepsSettings},
		{"a definition is applied and read back", appliesDefinition},
		{"an apply of an outdated plan is refused", refusesStaleApply},
		{"the same definition again writes nothing", sameDefinitionWritesNothing},
		{"of applies at once from one plan, one wins", oneApplyWins},
		{"a saved plan is applied once", usesPlanOnce},
		{"an apply and its audit record are stored both or neither", keepsAuditWithApply},
		{"a saved plan that changes nothing is used up, too", usesPlanThatChangesNothing},
		{"a saved plan whose apply is refused stays good", keepsPlanOfRefusedApply},
		{"of applies of one saved plan at once, one wins", usesPlanOnceOfManyAtOnce},
		{"an older definition is read back by its serial", readsOlderDefinition},
		{"a change is committed whole", commitsWhole},
		{"a change that fails leaves nothing behind", commitsNothingOnFailure},
		{"an empty change needs no transaction", emptyChangeIsFree},
		{"of a row that is twice in a change, the last one counts", lastRowCounts},
		{"every field of every record comes back", everyFieldComesBack},
		{"plugin bodies and requests keep their bytes", bytesAreKept},
		{"text of outsiders may hold any bytes", anyBytesFromOutsiders},
		{"terminated instances aren't loaded", terminatedAreNotLoaded},
		{"commitments of ended instances are loaded, in any order of loads", commitmentsAreLoaded},
		{"an instance isn't forgotten while it is paid for", prunesNothingThatIsPaidFor},
		{"a load sees one moment while changes are committed", loadSeesOneMoment},
		{"a loaded state is the caller's own", loadedStateIsOwn},
		{"a load after any changes equals a first load", loadAfterChangesEqualsFirstLoad},
		{"a removed fleet is retired, and its address is free again", retiresFleet},
		{"a fleet that was declared again meanwhile isn't retired", redeclaredFleetStays},
		{"a token is good for one of many enrollments at once", tokenIsSpentOnce},
		{"a burst of enrollments is one transaction, and one that fails fails by itself", burstSharesOneTransaction},
		{"a verified resource enrolls under one instance, until that is over", identityIsTakenOnce},
		{"an enrollment's subject is found by operation and by runner", findsSubject},
		{"what a batch's token stands for is found by the batch, in its order", findsBatch},
		{"heartbeats are recorded, and those of unknown runners passed over", recordsRunners},
		{"a revocation is read everywhere and no heartbeat undoes it", revocationOutlivesHeartbeats},
		{"instances are recalled by what made them, ended or not", recalls},
		{"an asset is claimed once, by whichever of two is first", claimsAssetOnce},
		{"a claim is released with its instance, and its runner revoked", releasesAsset},
		{"a claim is kept until the loop writes its instance", keepsClaimUntilItIsTakenUp},
		{"a fleet that is full, removed or changed takes no claim", refusesClaim},
		{"a renewed join token voids the one before, until an agent enrolled", renewsJoinToken},
		{"people's lists are filtered, ordered and limited", lists},
		{"a token is found by the digest of its secret until it is pruned", findsToken},
		{"of live tokens, no two have one name", oneTokenOfAName},
		{"a token is revoked once", revokesToken},
		{"audit records are listed, the newest first", listsAudit},
		{"overrides outlive the process and every apply", keepsOverrides},
		{"an override is taken back once, and an expired one forgotten", clearsOverrides},
		{"an override about what is forgotten is forgotten, too", forgetsOverridesAboutNothing},
		{"an apply of another image ends a rollback, and no other word", endsRollbacks},
		{"what ended long ago is forgotten, and nothing else", prunes},
		{"what fleets needed outlives the process, each run in the place of the one with its beginning", keepsNeeded},
		{"what fleets needed is forgotten after its time, and what lies ahead", prunesNeeded},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, location(t)) })
	}
}
