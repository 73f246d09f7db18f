int library_item() { return 20; }
