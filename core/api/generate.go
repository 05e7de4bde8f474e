package api

// After a change of the routes, write their document anew:
//
//go:generate go test . -run TestTheDocumentInDocsIsThatOfTheRoutes -update
