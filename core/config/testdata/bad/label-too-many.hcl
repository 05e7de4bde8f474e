image "a" "b" {
}
