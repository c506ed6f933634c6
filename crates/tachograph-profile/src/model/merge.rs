//! Several processes, one profile.
