forgeyard {
}
