int from_second_file() { return twice(21); }

static int twice(int x) { return 2 * x; }
