int shared_item(void) { return 1; }
