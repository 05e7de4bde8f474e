package queue

// After a change of the routes or the wire types, write their document again:
//
//go:generate go test . -run TestTheDocumentInDocsIsThatOfTheRoutes -update
