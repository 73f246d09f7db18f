int own_item() { return 21; }
