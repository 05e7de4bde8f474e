package api

// After a change of the routes, write their document again:
//
//go:generate go test . -run TestTheDocumentInDocsIsThatOfTheRoutes -update
