"""What the timers and trackers know of devices: events, allocators, streams, memory."""
