scheduler "forgeyard" "main" {}
