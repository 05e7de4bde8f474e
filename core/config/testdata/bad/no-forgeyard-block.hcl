forgeyrd {
}
# forgeyard is spelt wrong
