flet "burst" {
}
