int never_called(void) { return 1; }
