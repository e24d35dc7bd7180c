"""What servers print: a dialect each, all yielding the events of `events`."""
