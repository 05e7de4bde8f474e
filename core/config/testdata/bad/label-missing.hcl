fleet {
}
