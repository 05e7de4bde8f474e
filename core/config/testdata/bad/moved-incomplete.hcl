moved {}
